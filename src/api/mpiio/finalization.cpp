// SPDX-License-Identifier: BSD-3-Clause
#include "api/mpiio/finalization.hpp"

#include <mutex>

#include "api/mpiio/error_handlers.hpp"
#include "api/mpiio/handles.hpp"

namespace plenum::mpiio {
namespace {

void close_files() {
  for (const MPI_File handle : open_files()) {
    // The other ranks may not be closing this file now, so nothing here may wait for them. Nobody is left to tell an
    // error.
    const std::unique_ptr<OpenFile> open = take(handle);
    if (open != nullptr) (void)open->file->close_alone();
  }
}

// MPI_Finalize begins with freeing MPI_COMM_SELF, whose attributes go first.
int at_finalize(MPI_Comm, int, void*, void*) {
  (void)guarded([]() -> Status {
    close_files();
    return {};
  });
  release_errhandlers();
  return MPI_SUCCESS;
}

}  // namespace

Status watch_finalize() {
  static std::mutex mutex;
  static bool watching = false;
  const std::lock_guard lock(mutex);
  if (watching) return {};
  int key = MPI_KEYVAL_INVALID;
  PLENUM_TRY(
      check_mpi("MPI_Comm_create_keyval", PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr)));
  PLENUM_TRY(check_mpi("MPI_Comm_set_attr", PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr)));
  watching = true;
  return check_mpi("MPI_Comm_free_keyval", PMPI_Comm_free_keyval(&key));  // lives as long as the attribute
}

}  // namespace plenum::mpiio
