// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/thread_comm.hpp"

namespace plenum::test {

// What one rank's assertions said.
class RankReport {
 public:
  template <class Body>
  void record(Body&& body) {
    testing::ScopedFakeTestPartResultReporter collector(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results_);
    try {
      body();
    } catch (const std::exception& thrown) {
      ADD_FAILURE() << "exception: " << thrown.what();
    } catch (...) {
      ADD_FAILURE() << "exception of unknown type";
    }
  }

  // Repeats the failures in this thread, where gtest counts them; true if one was fatal.
  bool repeat(int rank) const {
    bool is_fatal = false;
    for (int i = 0; i < results_.size(); ++i) {
      const testing::TestPartResult& result = results_.GetTestPartResult(i);
      if (!result.failed()) continue;
      is_fatal = is_fatal || result.fatally_failed();
      ADD_FAILURE_AT(result.file_name() != nullptr ? result.file_name() : "unknown", result.line_number())
          << "rank " << rank << ": " << result.message();
    }
    return is_fatal;
  }

 private:
  testing::TestPartResultArray results_;
};

// Runs f(Comm&) on each of the group's `ranks` ranks, each in a thread of its own, and waits for all. Failed assertions
// and exceptions become failures of the calling test, with the rank. A rank that ends early does not leave the others
// waiting: their operations fail.
template <class F>
void on_ranks(ThreadGroup group, int ranks, F f) {
  std::vector<std::unique_ptr<RankReport>> reports;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    RankReport& report = *reports.emplace_back(std::make_unique<RankReport>());
    threads.emplace_back([&report, &f, comm = group.join(rank)]() mutable {
      report.record([&] { f(*comm); });
      comm.reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  bool is_fatal = false;
  for (int rank = 0; rank < ranks; ++rank) is_fatal |= reports[static_cast<std::size_t>(rank)]->repeat(rank);
  if (is_fatal) FAIL() << "a rank could not go on";
}

// All ranks on one node.
template <class F>
void on_ranks(int ranks, F f) {
  on_ranks(ThreadGroup(ranks), ranks, std::move(f));
}

// `ranks_per_node` consecutive ranks on each pretended node.
template <class F>
void on_ranks(int ranks, int ranks_per_node, F f) {
  on_ranks(ThreadGroup(ranks, ranks_per_node), ranks, std::move(f));
}

}  // namespace plenum::test
