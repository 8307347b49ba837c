// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "comm/nodes.hpp"
#include "comm/self_comm.hpp"
#include "comm/shared_memory.hpp"
#include "comm/thread_comm.hpp"
#include "support/comm_checks.hpp"
#include "support/on_ranks.hpp"

namespace plenum {
namespace {

using test::CommCheck;
using test::kCommChecks;
using test::on_ranks;

class SelfCommChecks : public testing::TestWithParam<CommCheck> {};

std::string self_name(const testing::TestParamInfo<CommCheck>& test) { return test.param.name; }

TEST_P(SelfCommChecks, holds) {
  SelfComm comm;
  GetParam().run(comm);
}

INSTANTIATE_TEST_SUITE_P(, SelfCommChecks, testing::ValuesIn(kCommChecks), self_name);

struct Placement {
  int ranks;
  int ranks_per_node;
};

void PrintTo(const Placement& placement, std::ostream* out) {
  *out << placement.ranks << " ranks, " << placement.ranks_per_node << " per node";
}

class ThreadCommChecks : public testing::TestWithParam<std::tuple<Placement, CommCheck>> {};

std::string thread_name(const testing::TestParamInfo<ThreadCommChecks::ParamType>& test) {
  const auto& [placement, check] = test.param;
  return std::to_string(placement.ranks) + "ranks_" + std::to_string(placement.ranks_per_node) + "per_node_" +
         check.name;
}

TEST_P(ThreadCommChecks, holds) {
  const auto& [placement, check] = GetParam();
  on_ranks(placement.ranks, placement.ranks_per_node, check.run);
}

INSTANTIATE_TEST_SUITE_P(, ThreadCommChecks,
                         testing::Combine(testing::Values(Placement{1, 1}, Placement{2, 2}, Placement{2, 1},
                                                          Placement{3, 3}, Placement{4, 2}, Placement{7, 3},
                                                          Placement{8, 8}),
                                          testing::ValuesIn(kCommChecks)),
                         thread_name);

TEST(ThreadComm, suspended_operations_interleave) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    ThreadGroup second_group(ranks);
    on_ranks(ranks, [&](Comm& first) {
      const std::unique_ptr<Comm> second = second_group.join(first.rank());
      test::suspended_operations_interleave(first, *second);
    });
  }
}

TEST(SelfComm, suspended_operations_interleave) {
  SelfComm first;
  SelfComm second;
  test::suspended_operations_interleave(first, second);
}

TEST(ThreadComm, a_barrier_holds_between_pretended_nodes_too) {
  std::atomic<int> come = 0;
  on_ranks(4, 1, [&](Comm& comm) {
    for (int round = 1; round <= 50; ++round) {
      ++come;
      ASSERT_TRUE(comm.barrier().wait().ok());
      EXPECT_GE(come.load(), 4 * round);
    }
  });
}

TEST(ThreadComm, ranks_that_call_different_operations_are_told_so) {
  on_ranks(3, [](Comm& comm) {
    std::int64_t value = 0;
    const Status status = comm.rank() == 1 ? comm.barrier().wait() : comm.allreduce({&value, 1}, Reduction::min).wait();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::Internal);
  });
}

TEST(ThreadComm, nobody_waits_for_a_rank_that_has_left) {
  on_ranks(3, [](Comm& comm) {
    if (comm.rank() == 1) return;
    const Status collective = comm.barrier().wait();
    ASSERT_FALSE(collective.ok());
    EXPECT_EQ(collective.error().code, Code::Communication);
    std::byte byte{};
    const Incoming from_gone{1, {&byte, 1}};
    const Status message = comm.exchange({}, {&from_gone, 1}).wait();
    ASSERT_FALSE(message.ok());
    EXPECT_EQ(message.error().code, Code::Communication);
  });
}

TEST(ThreadComm, what_a_rank_sent_before_it_left_still_arrives) {
  on_ranks(2, [](Comm& comm) {
    std::int64_t value = comm.rank() == 1 ? 5 : 0;
    const Bytes bytes = std::as_writable_bytes(std::span(&value, 1));
    const Outgoing outgoing{0, bytes};
    const Incoming incoming{1, bytes};
    Operation operation = comm.rank() == 1 ? comm.exchange({&outgoing, 1}, {}) : comm.exchange({}, {&incoming, 1});
    EXPECT_TRUE(operation.wait().ok());
    EXPECT_EQ(value, 5);
  });
}

TEST(ThreadComm, any_placement_on_nodes_is_possible) {
  const std::vector<int> labels{9, 4, 9, 4, 1};
  on_ranks(ThreadGroup(labels), 5, [](Comm& comm) {
    EXPECT_EQ(comm.nodes(), 3);
    const std::vector<int> expected{0, 1, 0, 1, 2};
    for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(comm.node_of(rank), expected[static_cast<std::size_t>(rank)]);
    test::a_node_and_nobody_else_shares_a_segment(comm);
  });
}

TEST(OnRanks, failures_and_exceptions_of_a_rank_become_the_tests_own) {
  EXPECT_NONFATAL_FAILURE(on_ranks(3, [](Comm& comm) { EXPECT_NE(comm.rank(), 1); }), "rank 1: ");
  EXPECT_NONFATAL_FAILURE(on_ranks(2,
                                   [](Comm& comm) {
                                     if (comm.rank() == 1) throw std::runtime_error("thrown on purpose");
                                   }),
                          "rank 1: Failed\nexception: thrown on purpose");
}

TEST(SharedFile, is_the_same_memory_wherever_it_is_opened) {
  auto file = SharedFile::create(5000);
  ASSERT_TRUE(file.ok()) << file.error().detail;
  auto other = SharedFile::open(file.value().address(), 5000);
  ASSERT_TRUE(other.ok()) << other.error().detail;
  const auto here = file.value().map();
  const auto there = other.value().map();
  ASSERT_TRUE(here.ok() && there.ok());
  ASSERT_EQ(there.value()->bytes().size(), 5000u);
  EXPECT_NE(here.value()->bytes().data(), there.value()->bytes().data());
  here.value()->bytes()[4999] = std::byte{3};
  EXPECT_EQ(there.value()->bytes()[4999], std::byte{3});
  EXPECT_EQ(there.value()->bytes()[0], std::byte{0});
}

TEST(SharedFile, an_address_that_means_something_else_here_is_refused) {
  const auto file = SharedFile::create(5000);
  const auto namesake = SharedFile::create(5000);
  ASSERT_TRUE(file.ok() && namesake.ok());
  const auto code_of = [](const SharedFileAddress& address, std::int64_t size) {
    const auto opened = SharedFile::open(address, size);
    return opened.ok() ? Code::Internal : opened.error().code;
  };
  SharedFileAddress address = file.value().address();
  EXPECT_EQ(code_of(address, 4999), Code::NotSame);
  address.fd = namesake.value().address().fd;  // shared memory of ours, but another one
  EXPECT_EQ(code_of(address, 5000), Code::Unsupported);
  address.fd = 0;  // no shared memory at all
  EXPECT_EQ(code_of(address, 5000), Code::Unsupported);
  address.pid = 0;
  EXPECT_EQ(code_of(address, 5000), Code::Unsupported);
}

}  // namespace
}  // namespace plenum
