// SPDX-License-Identifier: BSD-3-Clause
//
// Error handlers of files, and the one door through which every call comes in. File error handlers belong to us: the
// MPI library would call its own ones with a handle it does not know.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "api/mpiio/abi.hpp"
#include "api/mpiio/handles.hpp"
#include "base/result.hpp"

namespace plenum::mpiio {

// Who called, on what.
struct Call {
  const char* function;        // such as "MPI_File_read_at_c"
  MPI_File handle;             // MPI_FILE_NULL if there is none
  const char* name = nullptr;  // the file's name where no handle tells it
};

// What a call fails with, as text that is kept for MPI_Error_string. Local.
int code_of(const Call& call, const Error& error) noexcept;

// Hands `code` to the handler of the call's file, or to that of MPI_FILE_NULL if it has none, and returns it. Local. A
// C++ exception or a longjmp out of the program's handler passes through.
int raise(const Call& call, int code);

// Runs `body`, and makes a Result even of what it throws.
template <class Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Error{Code::NoMemory, {}};
  } catch (const std::exception& unexpected) {
    return Error{Code::Internal, unexpected.what()};
  } catch (...) {
    return Error{Code::Internal, {}};
  }
}

// The only way from C into the core: runs `body`, and turns whatever comes out of it (success, Error or exception) into
// an MPI return code, by way of the error handler.
template <class Body>
int entry(const Call& call, Body&& body) {
  const Status status = guarded(std::forward<Body>(body));
  if (status.ok()) [[likely]]
    return MPI_SUCCESS;
  return raise(call, code_of(call, status.error()));
}

// The door for calls on an open file: body(OpenFile&) -> Status.
template <class Body>
int on_file(const char* function, MPI_File handle, Body&& body) {
  return entry({function, handle}, [&]() -> Status { return body(*PLENUM_TRY(lookup(handle))); });
}

// The functions of the standard. Local; `function` is the one called.

int create_errhandler(const char* function, MPI_File_errhandler_function* handler, MPI_Errhandler* errhandler);

// On MPI_FILE_NULL: the handler of files opened from now on, and of calls without a file.
int set_errhandler(const char* function, MPI_File handle, MPI_Errhandler errhandler);

// The caller owns what it gets, and may free it.
int get_errhandler(const char* function, MPI_File handle, MPI_Errhandler* errhandler);

int call_errhandler(const char* function, MPI_File handle, int code);

// What a file that is being opened begins with.
ErrorHandler default_handler();

// Gives up what only MPI_Finalize may take with it.
void release_errhandlers() noexcept;

}  // namespace plenum::mpiio
