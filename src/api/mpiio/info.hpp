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

// The system's and the user's hints, for a file that is opened or deleted. A malformed one there is `rejected`. Local.
GivenHints hints_of_environment();

// Adds those of `info`, which may be MPI_INFO_NULL. Unknown keys are ignored, as the standard asks. Local.
// Errors: Communication, from MPI.
Status add_hints(MPI_Info info, GivenHints& given);

// The same for an open file. Collective: every rank calls it, with or without an info object.
Status take_over_hints(MPI_Info info, OpenFile& open);

}  // namespace plenum::mpiio
