// SPDX-License-Identifier: BSD-3-Clause
#include "api/mpiio/data_access.hpp"

#include <variant>

#include "api/mpiio/error_handlers.hpp"
#include "api/mpiio/handles.hpp"
#include "comm/mpi_datatype.hpp"

namespace plenum::mpiio {
namespace {

Result<Layout> element_of(const UserBuffer& buffer) {
  if (buffer.type == MPI_DATATYPE_NULL) return Error{Code::Type, "the datatype is MPI_DATATYPE_NULL"};
  return decode(buffer.type);
}

Result<Memory> memory_of(const UserBuffer& buffer) noexcept {
  return guarded([&]() -> Result<Memory> {
    return Memory::of(const_cast<void*>(buffer.address), buffer.count, PLENUM_TRY(element_of(buffer)));
  });
}

// What the buffer is in memory, described; or, where it has no gaps, as most have not, just its bytes.
Result<std::variant<Memory, Bytes>> described(const UserBuffer& buffer) noexcept {
  return guarded([&]() -> Result<std::variant<Memory, Bytes>> {
    Layout element = PLENUM_TRY(element_of(buffer));
    std::int64_t size = 0;
    if (element.is_dense() && buffer.count > 0 && !__builtin_mul_overflow(buffer.count, element.size(), &size)) {
      auto* const address = static_cast<std::byte*>(const_cast<void*>(buffer.address));
      return Bytes(address, static_cast<std::size_t>(size));
    }
    return PLENUM_TRY(Memory::of(const_cast<void*>(buffer.address), buffer.count, element));
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
    const Result<std::variant<Memory, Bytes>> memory = described(buffer);
    if (!memory.ok()) return explained(open, memory.error());
    if (const auto* bytes = std::get_if<Bytes>(&memory.value()))
      return set_status(status, PLENUM_TRY(open.file->transfer_bytes(direction, position, *bytes)));
    return set_status(status, PLENUM_TRY(open.file->transfer(direction, position, std::get<Memory>(memory.value()))));
  });
}

int collective(const char* function, MPI_File handle, Direction direction, Position position, const UserBuffer& buffer,
               MPI_Status* status) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    return set_status(status, PLENUM_TRY(open.file->transfer_all(direction, position, memory_of(buffer))));
  });
}

}  // namespace plenum::mpiio
