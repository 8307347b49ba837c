// SPDX-License-Identifier: BSD-3-Clause
//
// MPI datatypes as layouts. Independent; any thread that may call MPI.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/export.hpp"
#include "base/result.hpp"
#include "layout/layout.hpp"

namespace plenum {

// The layout of one element of `type`, in the order of its type map. Lower bound and extent are those that the MPI
// library reports. Cheap when repeated: a derived type keeps its layout as an attribute, from which it goes with the
// type, and which duplicates do not inherit.
//
// Errors: Type if `type` is null, not committed, or made in a way this does not know; TooLarge if its size or bounds
// exceed Layout::kReach, or it is nested deeper than Layout::kMaxDepth. A handle that never was a datatype cannot be
// told from one: that is up to the MPI library, as ever. Source: MPI-4.1, sections 5.1.12 (committed types), 5.1.13
// (decoding), 5.1.14 (F90 types and value-index pairs).
PLENUM_API Result<Layout> decode(MPI_Datatype type);

// [bytes] of data in one element; -1 if `type` is null or that many cannot be counted. It need not be committed.
std::int64_t type_size(MPI_Datatype type);

}  // namespace plenum
