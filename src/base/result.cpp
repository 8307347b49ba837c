// SPDX-License-Identifier: BSD-3-Clause
#include "base/result.hpp"

#include <cerrno>
#include <cstring>

namespace plenum {

std::string_view text_of(Code code) {
  switch (code) {
#define X(name, mpi_class, errno_value, text) \
  case Code::name:                            \
    return text;
    PLENUM_ERRORS(X)
#undef X
  }
  return "unknown error";
}

int errno_of(Code code) {
  switch (code) {
#define X(name, mpi_class, errno_value, text) \
  case Code::name:                            \
    return errno_value;
    PLENUM_ERRORS(X)
#undef X
  }
  return EIO;
}

Code code_of_errno(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
      return Code::NotFound;
    case EEXIST:
      return Code::Exists;
    case ENAMETOOLONG:
    case ELOOP:
      return Code::BadName;
    case EISDIR:
      return Code::IsDirectory;
    case EACCES:
    case EPERM:
      return Code::Access;
    case EROFS:
      return Code::ReadOnly;
    case ENOSPC:
      return Code::NoSpace;
    case EDQUOT:
      return Code::Quota;
    case EBUSY:
    case ETXTBSY:
      return Code::InUse;
    case EBADF:
      return Code::BadHandle;
    case EFBIG:
    case EOVERFLOW:
      return Code::TooLarge;
    case ENOMEM:
      return Code::NoMemory;
    case EOPNOTSUPP:
    case ENOSYS:
      return Code::Unsupported;
    default:
      return Code::Io;
  }
}

Error system_error(std::string_view what, int errno_value) {
  // strerrordesc_np, unlike strerror, is safe when several threads fail at once.
  const char* text = strerrordesc_np(errno_value);
  return {code_of_errno(errno_value), std::string(what) + ": " + (text != nullptr ? text : "unknown error")};
}

}  // namespace plenum
