// SPDX-License-Identifier: BSD-3-Clause
//
// Blocking data access: reading or writing, with an explicit offset or the individual file pointer, alone or all ranks
// together, counts of any size, are arguments of two functions. They behave as MPI-5.0, chapter "I/O", says and return
// MPI error codes; `function` is the name of the function called.
#pragma once

#include <cstdint>

#include "api/mpiio/abi.hpp"
#include "base/direction.hpp"
#include "file/file.hpp"

namespace plenum::mpiio {

inline constexpr Direction kRead = Direction::read;
inline constexpr Direction kWrite = Direction::write;

inline constexpr Position kIndividual{Position::Kind::individual, 0};
inline constexpr Position at(MPI_Offset offset_etypes) { return {Position::Kind::in_view, offset_etypes}; }

struct UserBuffer {
  const void* address;  // that of a read is written to
  std::int64_t count;
  MPI_Datatype type;
};

int independent(const char* function, MPI_File handle, Direction direction, Position position, const UserBuffer& buffer,
                MPI_Status* status);

// A rank whose arguments are wrong takes part with nothing to move, and all ranks get its error.
int collective(const char* function, MPI_File handle, Direction direction, Position position, const UserBuffer& buffer,
               MPI_Status* status);

}  // namespace plenum::mpiio
