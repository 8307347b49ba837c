// SPDX-License-Identifier: BSD-3-Clause
//
// What an MPI_File stands for. MPI_File is a pointer in every MPI library; ours points to a slot of a table that is
// never freed, so that a closed handle, or one that is no handle at all, is recognised without touching what it points
// to.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/mpiio/abi.hpp"
#include "base/result.hpp"
#include "comm/mpi_handle.hpp"
#include "file/file.hpp"

namespace plenum::mpiio {

struct MpiErrhandlerKind {
  using Raw = MPI_Errhandler;
  static Raw null() { return MPI_ERRHANDLER_NULL; }
  static void free(Raw* raw) { PMPI_Errhandler_free(raw); }
};
using MpiErrhandlerHandle = MpiHandle<MpiErrhandlerKind>;

// What happens to an error before it is returned.
struct ErrorHandler {
  enum class Kind { returns, fatal, aborts, user };

  Kind kind = Kind::returns;
  MPI_File_errhandler_function* function = nullptr;         // Kind::user
  std::shared_ptr<const MpiErrhandlerHandle> host_handler;  // Kind::user: keeps the program's handle valid
};

// A datatype that a view keeps. The predefined ones are kept as they are, others as a duplicate of our own, for the
// program may free its handle.
class KeptType {
 public:
  // MPI_BYTE.
  KeptType() = default;

  // Local. `type` is not null. Errors: Communication, from MPI.
  static Result<KeptType> of(MPI_Datatype type);

  // For the program: a predefined type is itself, any other a new handle that the program frees.
  Result<MPI_Datatype> handle() const;

 private:
  MPI_Datatype predefined_ = MPI_BYTE;
  MpiTypeHandle duplicate_;  // null for predefined types
};

// An open file as MPI-IO sees it: the ADIO file, and what only MPI-IO knows of it.
struct OpenFile {
  std::shared_ptr<File> file;
  int amode = 0;
  MpiGroupHandle group;
  KeptType etype;
  KeptType filetype;
  std::string datarep = "native";
  std::string rejected_hints;  // malformed ones, "key=value;key=value"
  std::uint64_t sequence = 0;  // files in the order of opening
  std::mutex handler_mutex;
  ErrorHandler handler;
};

// Every function of MPI-IO may be called by several threads at once, also those below.

// A free slot; given back unless filled. Errors: NoMemory when all are in use.
class Reservation {
 public:
  static Result<Reservation> make();
  Reservation(Reservation&& other) noexcept : slot_(std::exchange(other.slot_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~Reservation();

  // The handle of `file` from now on. Once.
  MPI_File fill(std::unique_ptr<OpenFile> file);

 private:
  explicit Reservation(std::uint32_t slot) : slot_(slot) {}
  std::uint32_t slot_ = 0;  // 0: none
};

// Null if `handle` is not the handle of an open file. No lock: a few nanoseconds. The program must not close a file
// that another of its threads is using.
OpenFile* find(MPI_File handle);

// The same, with an Error BadHandle that says what is wrong.
Result<OpenFile*> lookup(MPI_File handle);

// `error`, which arose on this rank before the core was called, with the file's name and the rank in its text; without
// a file with the rank in MPI_COMM_WORLD.
Error explained(const OpenFile& open, Error error);
Error explained(Error error);

// Ends the life of a handle. Null if it is none.
std::unique_ptr<OpenFile> take(MPI_File handle);

// The handles of the open files, in the order of their opening.
std::vector<MPI_File> open_files();

// Handles as integers, for Fortran and MPI_File_toint. What is not the handle of an open file becomes that of
// MPI_FILE_NULL, and the other way round.
MPI_Fint to_integer(const char* function, MPI_File handle);
MPI_File from_integer(const char* function, MPI_Fint integer);

}  // namespace plenum::mpiio
