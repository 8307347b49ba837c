// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Info as hints, and back.
#pragma once

#include <string>

#include "api/mpiio/abi.hpp"
#include "api/mpiio/handles.hpp"
#include "base/hints.hpp"
#include "base/result.hpp"

namespace plenum::mpiio {

struct GivenHints {
  Hints hints;
  std::string rejected;  // malformed values, "key=value;key=value", which have changed nothing
};

// Adds those of `info`, which may be MPI_INFO_NULL. Unknown keys are ignored, as the standard asks; malformed values
// too, but they are `rejected`: a program that runs elsewhere must run here. Local. Errors: Communication, from MPI.
Status add_hints(MPI_Info info, GivenHints& given);

// The same for an open file. Collective: every rank calls it, with or without an info object.
Status take_over_hints(MPI_Info info, OpenFile& open);

}  // namespace plenum::mpiio
