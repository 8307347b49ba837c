// SPDX-License-Identifier: BSD-3-Clause
#include "api/mpiio/error_handlers.hpp"

#include <map>
#include <mutex>

#include "api/mpiio/error_codes.hpp"
#include "api/mpiio/finalization.hpp"
#include "comm/mpi_values.hpp"

namespace plenum::mpiio {
namespace {

using Kind = ErrorHandler::Kind;

struct Registry {
  std::mutex mutex;
  ErrorHandler default_handler;
  // What MPI_File_create_errhandler was called with. Handles that the program has freed stay until they are given out
  // again.
  std::map<MPI_Errhandler, MPI_File_errhandler_function*> functions;
  // Host handlers are counted by reference: setting one on this communicator and getting it back makes a new reference.
  MPI_Comm counter = MPI_COMM_NULL;
};
Registry& registry() {
  static Registry& only = *new Registry;  // never destroyed: a destructor of the program may still call us
  return only;
}

// The function of the handler object that the host library holds for one of ours. It is never set on a communicator
// that anybody calls.
void never_called(MPI_Comm*, int*, ...) {}

// A reference of its own to `handler`, to be freed. The registry must be locked.
Result<MPI_Errhandler> new_reference(Registry& state, MPI_Errhandler handler) {
  if (state.counter == MPI_COMM_NULL) {
    PLENUM_TRY(watch_finalize());
    PLENUM_TRY(check_mpi("MPI_Comm_split", PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &state.counter)));
  }
  MPI_Errhandler reference = MPI_ERRHANDLER_NULL;
  PLENUM_TRY(check_mpi("MPI_Comm_set_errhandler", PMPI_Comm_set_errhandler(state.counter, handler)));
  PLENUM_TRY(check_mpi("MPI_Comm_get_errhandler", PMPI_Comm_get_errhandler(state.counter, &reference)));
  PLENUM_TRY(check_mpi("MPI_Comm_set_errhandler", PMPI_Comm_set_errhandler(state.counter, MPI_ERRORS_RETURN)));
  return reference;
}

// What the program's handle means for a file.
Result<ErrorHandler> handler_of(MPI_Errhandler errhandler) {
  if (errhandler == MPI_ERRORS_RETURN) return ErrorHandler{};
  if (errhandler == MPI_ERRORS_ARE_FATAL) return ErrorHandler{Kind::fatal, nullptr, nullptr};
#ifdef MPI_ERRORS_ABORT
  if (errhandler == MPI_ERRORS_ABORT) return ErrorHandler{Kind::aborts, nullptr, nullptr};
#endif
  Registry& state = registry();
  const std::lock_guard lock(state.mutex);
  const auto found = state.functions.find(errhandler);
  if (errhandler == MPI_ERRHANDLER_NULL || found == state.functions.end()) {
    return Error{Code::Argument,
                 "the error handler is not one of files: neither predefined nor made by MPI_File_create_errhandler"};
  }
  const MPI_Errhandler reference = PLENUM_TRY(new_reference(state, errhandler));
  return ErrorHandler{Kind::user, found->second, std::make_shared<const MpiErrhandlerHandle>(reference)};
}

MPI_Errhandler handle_of(const ErrorHandler& handler) {
  switch (handler.kind) {
    case Kind::user:
      return handler.host_handler->get();
    case Kind::fatal:
      return MPI_ERRORS_ARE_FATAL;
    case Kind::aborts:
#ifdef MPI_ERRORS_ABORT
      return MPI_ERRORS_ABORT;
#endif
    case Kind::returns:
      break;
  }
  return MPI_ERRORS_RETURN;
}

// The handler in force for `handle`: that of MPI_FILE_NULL, if it is no open file.
ErrorHandler current_handler(MPI_File handle) {
  if (OpenFile* file = find(handle)) {
    const std::lock_guard lock(file->handler_mutex);
    return file->handler;
  }
  return default_handler();
}

// Ends the program, which is the MPI library's business: it tells the user why, and reaches the other ranks. Of
// MPI_ERRORS_ABORT MPICH 4.0 has the name only, so this is for both.
void end_program(int code) {
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  PMPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
}

std::string name_of(const Call& call) {
  if (const OpenFile* file = find(call.handle)) return file->file->name();
  return call.name == nullptr ? std::string() : std::string(call.name);
}

// Functions that serve MPI_FILE_NULL as well as files.
Status check_handle_or_null(MPI_File handle) {
  if (handle != MPI_FILE_NULL) PLENUM_TRY(lookup(handle));
  return {};
}

}  // namespace

int code_of(const Call& call, const Error& error) noexcept {
  const int error_class = error_class_of(error.code);
  const Result<int> code = guarded([&]() -> Result<int> {
    const std::string detail = error.detail.empty() ? std::string(text_of(error.code)) : error.detail;
    return make_error_code(call.function, error_class, detail, name_of(call));
  });
  return code.ok() ? code.value() : error_class;
}

int raise(const Call& call, int code) {
  const ErrorHandler handler = current_handler(call.handle);
  switch (handler.kind) {
    case Kind::returns:
      break;
    case Kind::user: {
      MPI_File handle = find(call.handle) == nullptr ? MPI_FILE_NULL : call.handle;
      int code_for_handler = code;
      handler.function(&handle, &code_for_handler);
      break;
    }
    case Kind::fatal:
    case Kind::aborts:
      end_program(code);
      break;
  }
  return code;
}

int create_errhandler(const char* function, MPI_File_errhandler_function* handler, MPI_Errhandler* errhandler) {
  return entry({function, MPI_FILE_NULL}, [&]() -> Status {
    if (handler == nullptr || errhandler == nullptr) return Error{Code::Argument, "a null pointer"};
    PLENUM_TRY(check_mpi("MPI_Comm_create_errhandler", PMPI_Comm_create_errhandler(never_called, errhandler)));
    Registry& state = registry();
    const std::lock_guard lock(state.mutex);
    state.functions.insert_or_assign(*errhandler, handler);
    return {};
  });
}

int set_errhandler(const char* function, MPI_File handle, MPI_Errhandler errhandler) {
  return entry({function, handle}, [&]() -> Status {
    PLENUM_TRY(check_handle_or_null(handle));
    ErrorHandler handler = PLENUM_TRY(handler_of(errhandler));
    if (OpenFile* file = find(handle)) {
      const std::lock_guard lock(file->handler_mutex);
      std::swap(file->handler, handler);
    } else {
      const std::lock_guard lock(registry().mutex);
      std::swap(registry().default_handler, handler);
    }
    return {};
  });
}

int get_errhandler(const char* function, MPI_File handle, MPI_Errhandler* errhandler) {
  return entry({function, handle}, [&]() -> Status {
    PLENUM_TRY(check_handle_or_null(handle));
    const ErrorHandler handler = current_handler(handle);
    *errhandler = handle_of(handler);
    if (handler.kind == Kind::aborts) return {};  // not to be shown to MPICH 4.0
    const std::lock_guard lock(registry().mutex);
    *errhandler = PLENUM_TRY(new_reference(registry(), *errhandler));
    return {};
  });
}

int call_errhandler(const char* function, MPI_File handle, int code) {
  const Status valid = guarded([&] { return check_handle_or_null(handle); });
  if (!valid.ok()) return raise({function, handle}, code_of({function, handle}, valid.error()));
  raise({function, handle}, code);
  return MPI_SUCCESS;
}

ErrorHandler default_handler() {
  Registry& state = registry();
  const std::lock_guard lock(state.mutex);
  return state.default_handler;
}

void release_errhandlers() noexcept {
  Registry& state = registry();
  const std::lock_guard lock(state.mutex);
  state.default_handler = {};
  if (state.counter != MPI_COMM_NULL) PMPI_Comm_free(&state.counter);
}

}  // namespace plenum::mpiio
