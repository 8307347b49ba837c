// SPDX-License-Identifier: BSD-3-Clause
//
// Shares memory within the node, fills it, says so, and waits to be killed: the victim of segment_kill.sh.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "comm/mpi_comm.hpp"

namespace {

constexpr std::int64_t kBytes = std::int64_t{192} << 20;
constexpr unsigned kSecondsToLive = 120;  // should nobody kill it

int share_and_wait() {
  auto comm = plenum::make_mpi_comm(MPI_COMM_WORLD);
  if (!comm.ok()) return 1;
  auto segment = comm.value()->share(kBytes);
  if (!segment.ok()) {
    std::fprintf(stderr, "%s\n", segment.error().detail.c_str());
    return 1;
  }
  const plenum::Bytes bytes = segment.value()->bytes();
  if (comm.value()->rank() == 0) std::fill(bytes.begin(), bytes.end(), std::byte{1});
  if (!comm.value()->barrier().wait().ok()) return 1;
  std::printf("ready %d %d\n", static_cast<int>(getpid()), bytes.back() == std::byte{1} ? 1 : 0);
  std::fflush(stdout);
  sleep(kSecondsToLive);
  return 1;  // it was to be killed
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int result = share_and_wait();
  MPI_Finalize();
  return result;
}
