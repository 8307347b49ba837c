// SPDX-License-Identifier: BSD-3-Clause
#include "api/mpiio/data_access.hpp"

#include "api/mpiio/error_handlers.hpp"
#include "api/mpiio/handles.hpp"
#include "comm/mpi_datatype.hpp"

namespace plenum::mpiio {
namespace {

Result<Memory> memory_of(const UserBuffer& buffer) noexcept {
  return guarded([&]() -> Result<Memory> {
    if (buffer.type == MPI_DATATYPE_NULL) return Error{Code::Type, "the datatype is MPI_DATATYPE_NULL"};
    return Memory::of(const_cast<void*>(buffer.address), buffer.count, PLENUM_TRY(decode(buffer.type)));
  });
}

Status set_status(MPI_Status* status, std::int64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return {};
  PLENUM_TRY(check_mpi("MPI_Status_set_elements_x", PMPI_Status_set_elements_x(status, MPI_BYTE, MPI_Count{bytes})));
  return check_mpi("MPI_Status_set_cancelled", PMPI_Status_set_cancelled(status, 0));
}

}  // namespace

int independent(const char* function, MPI_File handle, Direction direction, Position position, const UserBuffer& buffer,
                MPI_Status* status) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    const Result<Memory> memory = memory_of(buffer);
    if (!memory.ok()) return explained(open, memory.error());
    return set_status(status, PLENUM_TRY(open.file->transfer(direction, position, memory.value())));
  });
}

int collective(const char* function, MPI_File handle, Direction direction, Position position, const UserBuffer& buffer,
               MPI_Status* status) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    return set_status(status, PLENUM_TRY(open.file->transfer_all(direction, position, memory_of(buffer))));
  });
}

}  // namespace plenum::mpiio
