// SPDX-License-Identifier: BSD-3-Clause
//
// Strategies on devices that fail: all ranks of a collective access get the same error, nobody waits for ever, bytes
// outside the access keep their value, and an access that says it succeeded has.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/faulty.hpp"
#include "support/on_ranks.hpp"
#include "support/strategy_trials.hpp"
#include "support/watchdog.hpp"

namespace plenum {
namespace {

using test::Case;
using test::Trial;
using test::Way;

// A trial in which the device of one rank, or of every rank, has a fault.
struct FaultTrial {
  Fault fault;
  int faulty_rank = -1;  // -1: all of them
  std::unique_ptr<Trial> trial;

  bool faulty(int rank) const { return faulty_rank == -1 || faulty_rank == rank; }

  std::string name() const {
    constexpr const char* kKinds[] = {"error", "short", "delay"};
    return trial->name() + ", " + kKinds[static_cast<int>(fault.kind)] + " at operation " +
           std::to_string(fault.first) + " on rank " + std::to_string(faulty_rank);
  }

  void run(Comm& comm, Scratch& scratch) {
    trial->run(comm, scratch, [&](std::unique_ptr<DeviceFile> file) {
      return faulty(comm.rank()) ? make_faulty_file(std::move(file), fault) : std::move(file);
    });
  }
};

// Whether `detail` says on which rank it happened, and that is a rank whose device has a fault.
bool names_a_faulty_rank(const FaultTrial& one, const std::string& detail) {
  for (int rank = 0; rank < one.trial->one->ranks; ++rank)
    if (one.faulty(rank) && detail.find("rank " + std::to_string(rank) + ": ") != std::string::npos) return true;
  return false;
}

// A read that met an end of file has got the bytes before it, and left the memory of the others alone.
void expect_read(const FaultTrial& one, std::size_t rank) {
  const test::RankAccess& access = one.trial->one->group.ranks[rank];
  const Trial::RankEnd& end = one.trial->ends[rank];
  test::RankAccess first = access;
  const std::int64_t moved = end.moved->value();
  const std::int64_t all = access.expected_read(one.trial->one->content).count;
  ASSERT_LE(moved, all);
  const bool may_be_short = one.fault.kind == Fault::Kind::short_moves && one.faulty(static_cast<int>(rank));
  ASSERT_TRUE(moved == all || may_be_short) << moved << " of " << all << " bytes";
  first.file_at.resize(static_cast<std::size_t>(moved));
  ASSERT_TRUE(end.storage == first.expected_read(one.trial->one->content).storage) << "wrong memory";
}

// Returns whether there was an error.
bool expect_honest(const FaultTrial& one) {
  const Trial& trial = *one.trial;
  const bool read = trial.one->group.ranks[0].direction == Direction::read;
  bool failed = false;
  const Error* first = nullptr;
  for (const Trial::RankEnd& end : trial.ends) {
    failed = failed || !end.moved->ok();
    if (!end.moved->ok() && first == nullptr) first = &end.moved->error();
  }
  for (std::size_t r = 0; r < trial.ends.size(); ++r) {
    SCOPED_TRACE("rank " + std::to_string(r));
    const auto& moved = *trial.ends[r].moved;
    if (trial.way.collective && failed) {
      EXPECT_FALSE(moved.ok()) << "only some ranks have failed: " << first->detail;
      if (moved.ok()) continue;
      EXPECT_EQ(moved.error().code, first->code);
      EXPECT_EQ(moved.error().detail, first->detail);
      EXPECT_TRUE(names_a_faulty_rank(one, moved.error().detail)) << moved.error().detail;
    } else if (!moved.ok()) {
      EXPECT_TRUE(one.faulty(static_cast<int>(r)));
    } else if (read) {
      expect_read(one, r);
    } else {
      EXPECT_EQ(moved.value(), trial.one->group.ranks[r].size);
    }
  }
  trial.expect_file(!failed);
  return failed;
}

std::vector<Fault> faults() {
  std::vector<Fault> all;
  for (const Fault::Kind kind : {Fault::Kind::error, Fault::Kind::short_moves, Fault::Kind::delay}) {
    for (std::int64_t n = 1; n <= (kind == Fault::Kind::delay ? 3 : 20); ++n) {
      Fault fault;
      fault.kind = kind;
      fault.first = n;
      fault.every = n % 3 == 0 ? n : 0;
      fault.errno_value = n % 2 == 0 ? 28 : 5;  // ENOSPC, EIO
      fault.delay_us = 300;
      all.push_back(fault);
    }
  }
  return all;
}

// Small buffers, so that an access has many operations for the fault to hit.
Case case_with_many_rounds(test::Random& random, int ranks, Direction direction) {
  Case one;
  one.seed = random.bits() % 1000000;
  one.ranks = ranks;
  one.ranks_per_node = random.one_in(2) ? ranks : 1;
  one.hints.cb_buffer_size = random.pick<std::int64_t>({16, 64});
  one.hints.ind_rd_buffer_size = one.hints.ind_wr_buffer_size = 16;
  one.traits.preferred_unit = 16;
  test::GroupOptions options{.ranks = ranks, .direction = direction, .max_bytes = 400, .all_ordered = true};
  one.group = random_group_access(random, options);
  one.content = random_content(random, one.group);
  return one;
}

struct Tally {
  std::int64_t trials = 0;
  std::int64_t failed = 0;
};

// Every fault on a group of `ranks`, in one direction, in one way.
Tally try_faults(int ranks, Direction direction, const Way& way) {
  test::Random random(test::seed_for_test() + static_cast<std::uint64_t>(ranks));
  std::vector<std::unique_ptr<Case>> cases;
  std::map<int, std::vector<FaultTrial>> trials;  // by ranks per node
  for (const Fault& fault : faults()) {
    for (const int faulty_rank : {-1, static_cast<int>(random.between(0, ranks - 1))}) {
      const Case& one = *cases.emplace_back(std::make_unique<Case>(case_with_many_rounds(random, ranks, direction)));
      auto ground = std::make_unique<test::MemoryGround>(one.content, one.traits);
      trials[one.ranks_per_node].push_back({fault, faulty_rank, std::make_unique<Trial>(one, way, std::move(ground))});
    }
  }
  Tally tally;
  for (auto& [ranks_per_node, of_group] : trials) {
    std::atomic<const FaultTrial*> current = nullptr;
    test::Watchdog watchdog(std::chrono::seconds(10), [&] { return current.load()->name(); });
    test::on_ranks(ranks, ranks_per_node, [&](Comm& comm) {
      Scratch scratch;
      for (FaultTrial& one : of_group) {
        if (comm.rank() == 0) {
          current = &one;
          watchdog.pat();
        }
        one.run(comm, scratch);
      }
    });
    for (const FaultTrial& one : of_group) {
      SCOPED_TRACE(one.name());
      ++tally.trials;
      tally.failed += expect_honest(one) ? 1 : 0;
      if (testing::Test::HasFailure()) return tally;
    }
  }
  return tally;
}

TEST(StrategyFaults, NthOperationFailsOnEveryStrategy) {
  for (const Way& way : test::all_ways()) {
    for (const Direction direction : {Direction::read, Direction::write}) {
      Tally tally;
      for (const int ranks : {1, 2, 3, 4, 8}) {
        const Tally more = try_faults(ranks, direction, way);
        tally = {tally.trials + more.trials, tally.failed + more.failed};
        if (HasFailure()) return;
      }
      EXPECT_GT(tally.failed, 0) << way.name() << ": no fault was met";
    }
  }
}

// ---- many operations

// Ranks interleave so many single bytes that every strategy needs more than 20 operations on some rank.
Case case_with_many_operations(int ranks, Direction direction) {
  constexpr std::int64_t kBatch = 512;  // of transfers that are given to a device at once
  Case one = test::regular_case(ranks, direction, {24 * kBatch, 1, ranks + 1});
  one.hints.cb_buffer_size = kBatch;
  one.hints.ind_rd_buffer_size = one.hints.ind_wr_buffer_size = static_cast<std::int64_t>(one.content.size()) / 24;
  return one;
}

TEST(StrategyFaults, EachOfTwentyOperationsFails) {
  for (const Direction direction : {Direction::read, Direction::write}) {
    for (const int ranks : {1, 3}) {
      const Case one = case_with_many_operations(ranks, direction);
      for (const Way& way : test::all_ways()) {
        for (std::int64_t n = 1; n <= 20; ++n) {
          Fault fault;
          fault.operation = direction == Direction::read ? Fault::Operation::read : Fault::Operation::write;
          fault.first = n;
          fault.every = 0;
          FaultTrial trial{
              fault, -1,
              std::make_unique<Trial>(one, way, std::make_unique<test::MemoryGround>(one.content, one.traits))};
          test::Watchdog watchdog(std::chrono::seconds(10), [&] { return trial.name(); });
          test::on_ranks(ranks, [&](Comm& comm) {
            Scratch scratch;
            trial.run(comm, scratch);
          });
          SCOPED_TRACE(trial.name());
          EXPECT_TRUE(expect_honest(trial)) << "the fault was not met";
          if (HasFailure()) return;
        }
      }
    }
  }
}

// ---- one rank's arguments are wrong

TEST(StrategyFaults, ArgumentErrorsOfOneRankReachAll) {
  for (const Direction direction : {Direction::read, Direction::write}) {
    for (const Way& way : test::all_ways()) {
      if (!way.collective) continue;
      for (const int ranks : {1, 2, 3, 4, 7}) {
        test::Random random(test::seed_for_test());
        const Case one = case_with_many_rounds(random, ranks, direction);
        for (int wrong = 0; wrong < ranks; ++wrong) {
          test::MemoryStore store(one.content);
          test::on_ranks(ranks, [&](Comm& comm) {
            test::MemoryFile file(store, one.traits);
            test::RankAccess mine = one.group.ranks[static_cast<std::size_t>(comm.rank())];
            Hints hints = one.hints;
            if (way.strategy != nullptr) hints.strategy = way.strategy->name;
            Result<Access> access = mine.access();
            if (comm.rank() == wrong) access = Error{Code::Count, "count -1 is negative"};
            Scratch scratch;
            Counters counters;
            const auto moved =
                carry_out_all({comm, file, one.traits, hints}, std::move(access), scratch, counters).wait();
            ASSERT_FALSE(moved.ok());
            EXPECT_EQ(moved.error().code, Code::Count);
            EXPECT_EQ(moved.error().detail, "rank " + std::to_string(wrong) + ": count -1 is negative");
            EXPECT_TRUE(mine.storage == one.group.ranks[static_cast<std::size_t>(comm.rank())].storage);
            EXPECT_TRUE(counters.rows().empty()) << "an access that has not happened is not counted";
          });
          ASSERT_TRUE(store.bytes() == one.content) << way.name();
        }
      }
    }
  }
}

// The size of the file, which reads ask for first, cannot be had on one rank.
TEST(StrategyFaults, FailureToFindTheSizeReachesAll) {
  test::MemoryStore store(std::vector<std::byte>(100));
  test::on_ranks(3, [&](Comm& comm) {
    std::unique_ptr<DeviceFile> file = std::make_unique<test::MemoryFile>(store, Traits());
    Fault fault;
    fault.operation = Fault::Operation::size;
    if (comm.rank() == 2) file = make_faulty_file(std::move(file), fault);
    std::vector<std::byte> buffer(10);
    const Access access{Direction::read, buffer.data(), {Layout::bytes(10), 0, 0, 10}, {Layout::bytes(10), 0, 0, 10}};
    Scratch scratch;
    Counters counters;
    const Hints hints;
    const auto moved = carry_out_all({comm, *file, file->traits(), hints}, access, scratch, counters).wait();
    ASSERT_FALSE(moved.ok());
    EXPECT_EQ(moved.error().code, Code::Io);
    EXPECT_EQ(moved.error().detail.rfind("rank 2: ", 0), 0u) << moved.error().detail;
  });
}

}  // namespace
}  // namespace plenum
