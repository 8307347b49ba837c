// SPDX-License-Identifier: BSD-3-Clause
#include "api/mpiio/info.hpp"

#include <utility>

#include "api/mpiio/error_handlers.hpp"
#include "comm/mpi_values.hpp"

namespace plenum::mpiio {
namespace {

// Once: a program may give the same hints at every call.
void reject(std::string& rejected, const std::string& what) {
  if (rejected.find(what) != std::string::npos) return;
  if (!rejected.empty()) rejected += ';';
  rejected += what;
}

}  // namespace

Status add_hints(MPI_Info info, GivenHints& given) {
  const auto pairs = PLENUM_TRY(pairs_of(info));
  for (const auto& [key, value] : pairs) {
    if (set_hint(given.hints, key, value) == HintOutcome::malformed) reject(given.rejected, key + "=" + value);
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
