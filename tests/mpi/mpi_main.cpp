// SPDX-License-Identifier: BSD-3-Clause
//
// main() of the gtest programs that run under MPI. Every rank runs the same tests. Rank 0 prints gtest's usual listing;
// a failed assertion is printed at once by the rank it happened on, so that it is seen even if the others then wait for
// that rank until they are killed; and a test that failed on any rank fails on rank 0 and in the exit code of all.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "comm/mpi_handle.hpp"

namespace {

// Not a blocking collective, because those may spin for the core that the last rank needs.
std::vector<int> gather(MPI_Comm comm, int mine) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::vector<int> all(static_cast<std::size_t>(size));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm, &request);
  int ended = 0;
  for (plenum::Backoff backoff; MPI_Test(&request, &ended, MPI_STATUS_IGNORE), ended == 0;) backoff.pause();
  return all;
}

class RankListener final : public testing::EmptyTestEventListener {
 public:
  RankListener(MPI_Comm comm, int rank) : comm_(comm), rank_(rank) {}

  void OnTestStart(const testing::TestInfo& test) override {
    name_ = std::string(test.test_suite_name()) + "." + test.name();
  }

  // gtest holds its lock here, so it cannot be asked for the test's name.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed() || rank_ == 0) return;  // rank 0 has gtest's own printer
    std::fprintf(stderr, "%s:%d: Failure on rank %d in %s\n%s\n",
                 result.file_name() != nullptr ? result.file_name() : "?", result.line_number(), rank_, name_.c_str(),
                 result.message());
  }

  // Before the printer's, which is called after the listeners that were added later.
  void OnTestEnd(const testing::TestInfo& test) override {
    const std::vector<int> failed = gather(comm_, test.result()->Failed() ? 1 : 0);
    if (rank_ != 0) return;
    std::string ranks;
    for (std::size_t rank = 1; rank < failed.size(); ++rank)
      if (failed[rank] != 0) ranks += " " + std::to_string(rank);
    if (!ranks.empty()) ADD_FAILURE() << "failed on rank" << ranks;
  }

 private:
  MPI_Comm comm_;
  int rank_;
  std::string name_;  // of the test that runs
};

int run_tests() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  plenum::MpiCommHandle comm;
  MPI_Comm_dup(MPI_COMM_WORLD, comm.out());
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());  // the ranks would overwrite each other's
  }
  listeners.Append(new RankListener(comm.get(), rank));
  const int mine = RUN_ALL_TESTS();
  int worst = 0;
  for (const int result : gather(comm.get(), mine)) worst = result != 0 ? result : worst;
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  testing::InitGoogleTest(&argc, argv);
  const int result = run_tests();
  MPI_Finalize();
  return result;
}
