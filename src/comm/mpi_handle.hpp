// SPDX-License-Identifier: BSD-3-Clause
//
// Owners of MPI handles, and MPI's return codes as errors. Requests have an owner of their own: see mpi_requests.hpp.
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace plenum {

// False from the end of MPI_Finalize on, when handles must not be touched any more. Local.
inline bool mpi_is_alive() {
  int finalized = 0;
  return PMPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0;
}

// What an MPI function's return code means; `function` is its name.
inline Status check_mpi(std::string_view function, int return_code) {
  if (return_code == MPI_SUCCESS) return {};
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (PMPI_Error_string(return_code, text, &length) != MPI_SUCCESS) length = 0;
  return Error{Code::Communication, std::string(function) + ": " + std::string(text, static_cast<std::size_t>(length))};
}

// Owns one MPI handle and frees it, unless MPI is finalized. `Kind` names the kind of handle, because the C types
// cannot: in MPICH, MPI_Comm and MPI_Datatype are both int, and in Open MPI the null handles are not constants. Never
// give it a predefined handle.
template <class Kind>
class MpiHandle {
 public:
  using Raw = typename Kind::Raw;

  MpiHandle() = default;
  explicit MpiHandle(Raw raw) : raw_(raw) {}
  MpiHandle(MpiHandle&& other) noexcept : raw_(std::exchange(other.raw_, Kind::null())) {}
  MpiHandle& operator=(MpiHandle other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~MpiHandle() {
    if (raw_ != Kind::null() && mpi_is_alive()) Kind::free(&raw_);
  }

  Raw get() const { return raw_; }
  Raw* out() { return &raw_; }  // for MPI_Comm_split(..., handle.out()), while it is null

 private:
  Raw raw_ = Kind::null();
};

struct MpiCommKind {
  using Raw = MPI_Comm;
  static Raw null() { return MPI_COMM_NULL; }
  static void free(Raw* raw) { PMPI_Comm_free(raw); }
};

struct MpiTypeKind {
  using Raw = MPI_Datatype;
  static Raw null() { return MPI_DATATYPE_NULL; }
  static void free(Raw* raw) { PMPI_Type_free(raw); }
};

struct MpiGroupKind {
  using Raw = MPI_Group;
  static Raw null() { return MPI_GROUP_NULL; }
  static void free(Raw* raw) { PMPI_Group_free(raw); }
};

struct MpiInfoKind {
  using Raw = MPI_Info;
  static Raw null() { return MPI_INFO_NULL; }
  static void free(Raw* raw) { PMPI_Info_free(raw); }
};

using MpiCommHandle = MpiHandle<MpiCommKind>;
using MpiTypeHandle = MpiHandle<MpiTypeKind>;
using MpiGroupHandle = MpiHandle<MpiGroupKind>;
using MpiInfoHandle = MpiHandle<MpiInfoKind>;

}  // namespace plenum
