// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "base/export.hpp"
#include "comm/comm.hpp"

namespace plenum {

struct MpiCommOptions {
  // Larger messages travel in parts of this size [bytes]: MPI-3.1 counts in int. Tests make it small.
  std::int64_t part_size = std::int64_t{1} << 30;
};

// A Comm over a communicator of its own with the ranks of `user`, in the same order. It does not take over attributes,
// hints or the error handler of `user`. Which ranks share a node is found out once per communicator and remembered as
// an attribute of `user`, so that opening many files on one communicator is cheap.
//
// All its operations are nonblocking MPI calls, polled in between giving up the core. Dropping an operation that has
// not ended completes it first (see MpiRequests). It must not be used after MPI_Finalize, but may be destroyed then.
//
// MPI's errors come back as Code::Communication; but what fails while a message is under way MPICH reports to the error
// handler of MPI_COMM_WORLD first, which ends the program unless it has set another.
//
// Collective over `user`. Errors: Communicator if `user` is null or an intercommunicator; Communication.
PLENUM_API Result<std::unique_ptr<Comm>> make_mpi_comm(MPI_Comm user, MpiCommOptions options = {});

// The communicator inside; MPI_COMM_NULL if `comm` was not made by make_mpi_comm. Messages sent on it must not use the
// tags 0 to 2.
MPI_Comm native(const Comm& comm);

}  // namespace plenum
