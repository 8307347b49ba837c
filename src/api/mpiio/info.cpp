// SPDX-License-Identifier: BSD-3-Clause
#include "api/mpiio/info.hpp"

#include <utility>
#include <vector>

#include "api/mpiio/error_handlers.hpp"
#include "comm/mpi_handle.hpp"

namespace plenum::mpiio {
namespace {

// The value of `key`, which is there.
Result<std::string> value_of(MPI_Info info, const char* key) {
  int length = 0;
  int found = 0;
  PLENUM_TRY(check_mpi("MPI_Info_get_valuelen", PMPI_Info_get_valuelen(info, key, &length, &found)));
  if (found == 0) return std::string();
  std::vector<char> value(static_cast<std::size_t>(length) + 1, '\0');
  PLENUM_TRY(check_mpi("MPI_Info_get", PMPI_Info_get(info, key, length, value.data(), &found)));
  return std::string(value.data());
}

// Once: a program may give the same hints at every call.
void reject(std::string& rejected, const std::string& what) {
  if (rejected.find(what) != std::string::npos) return;
  if (!rejected.empty()) rejected += ';';
  rejected += what;
}

}  // namespace

Status add_hints(MPI_Info info, GivenHints& given) {
  if (info == MPI_INFO_NULL) return {};
  int keys = 0;
  PLENUM_TRY(check_mpi("MPI_Info_get_nkeys", PMPI_Info_get_nkeys(info, &keys)));
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    PLENUM_TRY(check_mpi("MPI_Info_get_nthkey", PMPI_Info_get_nthkey(info, i, key)));
    const std::string value = PLENUM_TRY(value_of(info, key));
    if (set_hint(given.hints, key, value) == HintOutcome::malformed) {
      reject(given.rejected, std::string(key) + "=" + value);
    }
  }
  return {};
}

Status take_over_hints(MPI_Info info, OpenFile& open) {
  GivenHints given{open.file->hints(), open.rejected_hints};
  const Status read = guarded([&] { return add_hints(info, given); });
  // A rank that could not read its hints takes part with those it has.
  PLENUM_TRY(open.file->set_hints(read.ok() ? given.hints : open.file->hints()));
  if (!read.ok()) return explained(open, read.error());
  open.rejected_hints = std::move(given.rejected);
  return {};
}

}  // namespace plenum::mpiio
