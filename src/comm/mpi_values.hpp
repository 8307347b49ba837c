// SPDX-License-Identifier: BSD-3-Clause
//
// MPI's values as the core's, and back, for interfaces whose arguments and results are MPI's.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include "base/export.hpp"
#include "base/result.hpp"

namespace plenum {

// The error class that the table gives an error, or a closer one that this MPI library has. Local.
PLENUM_API int error_class_of(Code code);

// The keys and values of `info`; none if it is MPI_INFO_NULL. Local. Errors: Communication, from MPI.
PLENUM_API Result<std::vector<std::pair<std::string, std::string>>> pairs_of(MPI_Info info);

}  // namespace plenum
