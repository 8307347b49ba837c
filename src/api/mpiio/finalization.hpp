// SPDX-License-Identifier: BSD-3-Clause
//
// What happens to files that are still open at MPI_Finalize.
#pragma once

#include "base/result.hpp"

namespace plenum::mpiio {

// From now on MPI_Finalize begins with closing, on this rank, every file that is still open. Local; any number of
// times.
Status watch_finalize();

}  // namespace plenum::mpiio
