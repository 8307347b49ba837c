// SPDX-License-Identifier: BSD-3-Clause
//
// Errors are values: a fallible function returns Result<T>, or Status when it has nothing else to say.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/export.hpp"

namespace plenum {

// Every way an operation can fail, once. Columns: name, MPI error class, errno, text. Interfaces expand the columns
// they need, so the core never includes <mpi.h>, and C, Fortran and Python cannot drift apart.
// clang-format off
#define PLENUM_ERRORS(X)                                                                                          \
  X(NotFound, MPI_ERR_NO_SUCH_FILE, ENOENT, "no such file or directory")                                          \
  X(Exists, MPI_ERR_FILE_EXISTS, EEXIST, "file exists")                                                           \
  X(BadName, MPI_ERR_BAD_FILE, EINVAL, "invalid file name")                                                       \
  X(IsDirectory, MPI_ERR_BAD_FILE, EISDIR, "is a directory")                                                      \
  X(Access, MPI_ERR_ACCESS, EACCES, "permission denied")                                                          \
  X(ReadOnly, MPI_ERR_READ_ONLY, EROFS, "read-only file or file system")                                          \
  X(NoSpace, MPI_ERR_NO_SPACE, ENOSPC, "no space left on device")                                                 \
  X(Quota, MPI_ERR_QUOTA, EDQUOT, "quota exceeded")                                                               \
  X(InUse, MPI_ERR_FILE_IN_USE, EBUSY, "file is in use")                                                          \
  X(BadHandle, MPI_ERR_FILE, EBADF, "invalid or closed file handle")                                              \
  X(BadMode, MPI_ERR_AMODE, EINVAL, "invalid access mode")                                                        \
  X(NotSame, MPI_ERR_NOT_SAME, EINVAL, "argument differs between ranks of a collective call")                     \
  X(Unsupported, MPI_ERR_UNSUPPORTED_OPERATION, ENOTSUP, "operation not supported")                               \
  X(UnsupportedDatarep, MPI_ERR_UNSUPPORTED_DATAREP, ENOTSUP, "data representation not supported")                \
  X(DuplicateDatarep, MPI_ERR_DUP_DATAREP, EEXIST, "data representation already registered")                      \
  X(Conversion, MPI_ERR_CONVERSION, EILSEQ, "data conversion failed")                                             \
  X(Argument, MPI_ERR_ARG, EINVAL, "invalid argument")                                                            \
  X(Buffer, MPI_ERR_BUFFER, EFAULT, "invalid buffer")                                                             \
  X(Count, MPI_ERR_COUNT, EINVAL, "invalid count")                                                                \
  X(Type, MPI_ERR_TYPE, EINVAL, "invalid datatype")                                                               \
  X(Communicator, MPI_ERR_COMM, EINVAL, "invalid communicator")                                                   \
  X(InfoValue, MPI_ERR_INFO_VALUE, EINVAL, "malformed hint value")                                                \
  X(TooLarge, MPI_ERR_OTHER, EOVERFLOW, "value too large")                                                        \
  X(NoMemory, MPI_ERR_NO_MEM, ENOMEM, "out of memory")                                                            \
  X(Io, MPI_ERR_IO, EIO, "input/output error")                                                                    \
  X(Communication, MPI_ERR_OTHER, ECOMM, "communication between ranks failed")                                    \
  X(Internal, MPI_ERR_INTERN, EPROTO, "internal error")
// clang-format on

enum class Code : int {
#define X(name, mpi_class, errno_value, text) name,
  PLENUM_ERRORS(X)
#undef X
};

// The text column of the table.
PLENUM_API std::string_view text_of(Code code);

// The errno column of the table.
int errno_of(Code code);

// The row that fits a system call's errno; Io where the table has none.
Code code_of_errno(int errno_value);

// Why an operation failed, and on what. `detail` reads from the outside in:
// "/scratch/a.dat: write_at_all at byte 4096, rank 3: pwrite: no space left on device".
struct Error {
  Code code = Code::Internal;
  std::string detail;
};

// The error of a system call that has just failed: "WHAT: strerror(errno_value)".
Error system_error(std::string_view what, int errno_value);

// A value or an Error. `return Error{...}` works from any fallible function.
template <class T>
class [[nodiscard]] Result {
 public:
  template <class U>
  requires std::convertible_to<U&&, T> Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  Error& error() { return *std::get_if<1>(&state_); }
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  void value() const {}
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

// Ok, or the error.
template <class T>
Status status_of(const Result<T>& result) {
  if (result.ok()) return {};
  return result.error();
}

// Unwraps a Result, or returns its Error from the enclosing function. Not for coroutines: see PLENUM_CO_TRY.
#define PLENUM_TRY(...)                                                 \
  __extension__({                                                       \
    auto plenum_result_ = (__VA_ARGS__);                                \
    if (!plenum_result_.ok()) return std::move(plenum_result_.error()); \
    std::move(plenum_result_).value();                                  \
  })

}  // namespace plenum
