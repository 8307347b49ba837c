// SPDX-License-Identifier: BSD-3-Clause
//
// Every registered strategy leaves the same bytes and returns the same counts as going through the access byte by byte.
// A case is a random access, carried out in one random way: by this strategy or that, collectively or independently.
//
// PLENUM_SEED=N PLENUM_CASES=M tries seeds N to N + M - 1; a failure names its seed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/on_ranks.hpp"
#include "support/strategy_trials.hpp"
#include "support/watchdog.hpp"

namespace plenum {
namespace {

using test::all_ways;
using test::Case;
using test::Ground;
using test::Trial;
using test::Way;

using MakeGround = std::unique_ptr<Ground> (*)(const Case&);

std::unique_ptr<Ground> memory_ground(const Case& one) {
  return std::make_unique<test::MemoryGround>(one.content, one.traits);
}

// A real file of the device `posix`, opened by each rank.
class PosixGround final : public Ground {
 public:
  explicit PosixGround(const Case& one) {
    static std::atomic<int> number = 0;
    path_ = testing::TempDir() + "strategy_differential." + std::to_string(getpid()) + "." + std::to_string(number++);
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(one.content.data()), static_cast<std::streamsize>(one.content.size()));
  }
  ~PosixGround() override { unlink(path_.c_str()); }

  std::unique_ptr<DeviceFile> open(int) override {
    Target target = resolve("posix:" + path_, Hints()).value();
    OpenMode mode;
    mode.write = true;
    return target.device->open(target.path, mode, Hints()).value();
  }

  std::vector<std::byte> bytes() override {
    std::ifstream file(path_, std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

 private:
  std::string path_;
};

std::unique_ptr<Ground> posix_ground(const Case& one) { return std::make_unique<PosixGround>(one); }

Way random_way(std::uint64_t seed) {
  const std::vector<Way> ways = all_ways();
  return ways[test::Random(~seed).bits() % ways.size()];
}

// Tries the cases of seeds [first, first + count). Returns which strategies were used, and whether collectively.
std::set<std::pair<std::string, bool>> try_cases(std::uint64_t first, std::int64_t count, MakeGround make_ground) {
  std::vector<Case> cases;
  for (std::int64_t i = 0; i < count; ++i) cases.push_back(test::random_case(first + static_cast<std::uint64_t>(i)));
  std::map<std::pair<int, int>, std::vector<std::unique_ptr<Trial>>> trials;  // by ranks and ranks per node
  for (const Case& one : cases) {
    auto& of_group = trials[{one.ranks, one.ranks_per_node}];
    of_group.push_back(std::make_unique<Trial>(one, random_way(one.seed), make_ground(one)));
  }
  std::set<std::pair<std::string, bool>> used;
  for (auto& [group, of_group] : trials) {
    std::atomic<const Trial*> current = nullptr;
    test::Watchdog watchdog(std::chrono::seconds(20), [&] { return current.load()->name(); });
    test::on_ranks(group.first, group.second, [&](Comm& comm) {
      Scratch scratch;
      for (const auto& trial : of_group) {
        if (comm.rank() == 0) {
          current = trial.get();
          watchdog.pat();
        }
        trial->run(comm, scratch, [](std::unique_ptr<DeviceFile> file) { return file; });
      }
    });
    for (const auto& trial : of_group) {
      trial->expect_exact();
      if (testing::Test::HasFatalFailure()) return used;
      used.emplace(trial->ends[0].strategy, trial->way.collective);
    }
  }
  return used;
}

void try_in_batches(std::int64_t count, MakeGround make_ground) {
  constexpr std::int64_t kBatch = 2000;
  std::set<std::pair<std::string, bool>> used;
  for (std::int64_t done = 0; done < count; done += kBatch) {
    const auto first = test::seed_for_test() + static_cast<std::uint64_t>(done);
    used.merge(try_cases(first, std::min(kBatch, count - done), make_ground));
    if (testing::Test::HasFatalFailure()) return;
  }
  if (count < 100) return;
  for (const Strategy* strategy : strategies()) {
    EXPECT_TRUE(used.contains({strategy->name, true})) << strategy->name << " was never used collectively";
    EXPECT_TRUE(strategy->run == nullptr || used.contains({strategy->name, false}))
        << strategy->name << " was never used independently";
  }
}

TEST(StrategyDifferential, EveryStrategyLeavesTheSameBytes) {
  try_in_batches(test::cases_for_test(20000), memory_ground);
}

TEST(StrategyDifferential, OnRealFiles) {
  try_in_batches(std::min<std::int64_t>(test::cases_for_test(1000), 1000), posix_ground);
}

// ---- large and regular

// More runs than any strategy hands over at once, runs so far apart that nobody reads what is between, runs that go
// backwards; at all file sizes that make a difference.
TEST(StrategyDifferential, ManyRegularRuns) {
  for (const test::Regular& regular : {test::Regular{1500, 1, 9}, {24, 3, 70001}, {1500, 1, -9}}) {
    for (const Direction direction : {Direction::read, Direction::write}) {
      for (const int ranks : {1, 3}) {
        Case one = test::regular_case(ranks, direction, regular);
        for (const std::size_t size : {one.content.size(), one.content.size() / 2, std::size_t{0}}) {
          one.content.resize(size);
          for (const Way& way : all_ways()) {
            SCOPED_TRACE("runs " + std::to_string(regular.stride) + " apart, file of " + std::to_string(size));
            Trial trial(one, way, memory_ground(one));
            test::on_ranks(ranks, [&](Comm& comm) {
              Scratch scratch;
              trial.run(comm, scratch, [](std::unique_ptr<DeviceFile> file) { return file; });
            });
            trial.expect_exact();
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

// ---- suspended tasks

// A queue of two tasks, the first a write and the second a read of what it wrote, is advanced in each rank's own
// rhythm: one rank has begun to read when another has not finished to write.
TEST(StrategyDifferential, TasksInOrderButEachAtItsOwnPace) {
  for (std::int64_t i = 0; i < std::min<std::int64_t>(test::cases_for_test(600), 600); ++i) {
    const std::uint64_t seed = test::seed_for_test() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    const int ranks = random.pick({2, 3, 4, 7});
    const auto writes = random_group_access(random, {.ranks = ranks, .direction = Direction::write, .max_bytes = 300});
    if (writes.overlapping) continue;
    const auto reads = random_group_access(random, {.ranks = ranks, .direction = Direction::read, .max_bytes = 300});
    const std::vector<std::byte> content = random_content(random, reads);
    const std::vector<std::byte> written = writes.write_to(content);
    Hints hints = test::random_hints(random, ranks);
    hints.cb_buffer_size = random.pick<std::int64_t>({64, 4096});
    hints.strategy = strategies()[static_cast<std::size_t>(i) % strategies().size()]->name;
    Traits traits;
    traits.preferred_unit = 16;
    test::MemoryStore store(content);
    SCOPED_TRACE("PLENUM_SEED=" + std::to_string(seed) + ", " + hints.strategy);
    test::on_ranks(ranks, [&](Comm& comm) {
      test::MemoryFile file(store, traits);
      test::RankAccess write = writes.ranks[static_cast<std::size_t>(comm.rank())];
      test::RankAccess read = reads.ranks[static_cast<std::size_t>(comm.rank())];
      const test::RankAccess::Outcome expected = read.expected_read(written);
      const Environment environment{comm, file, traits, hints};
      Scratch scratch;
      Counters counters;
      std::vector<Task<Result<std::int64_t>>> queue;
      queue.push_back(carry_out_all(environment, write.access(), scratch, counters));
      queue.push_back(carry_out_all(environment, read.access(), scratch, counters));
      test::Random pace(seed + 1000 * static_cast<std::uint64_t>(comm.rank()));
      std::vector<std::int64_t> moved;
      while (moved.size() < queue.size()) {
        for (std::int64_t pause = pace.between(0, 30); pause > 0; --pause) std::this_thread::yield();
        if (!queue[moved.size()].advance()) continue;
        const Result<std::int64_t> result = queue[moved.size()].take();
        ASSERT_TRUE(result.ok()) << result.error().detail;
        moved.push_back(result.value());
      }
      EXPECT_EQ(moved, (std::vector<std::int64_t>{write.size, expected.count}));
      EXPECT_TRUE(read.storage == expected.storage);
    });
    if (HasFailure()) return;
  }
}

// ---- devices without data

// Every read of such a device is full, wherever it lies: collective ones as well.
TEST(StrategyDifferential, DevicesThatForgetFillEveryRead) {
  for (const Strategy* strategy : strategies()) {
    test::on_ranks(3, [&](Comm& comm) {
      Hints hints;
      hints.strategy = strategy->name;
      const Target target = resolve("null:x", hints).value();
      const auto file = target.device->open(target.path, OpenMode(), hints).value();
      std::vector<std::byte> buffer(100, std::byte{1});
      const Access access{Direction::read,
                          buffer.data(),
                          {Layout::bytes(100), 0, 0, 100},
                          {Layout::repeat(100, 3, Layout::bytes(1)), comm.rank(), 0, 100}};
      Scratch scratch;
      Counters counters;
      const auto moved = carry_out_all({comm, *file, file->traits(), hints}, access, scratch, counters).wait();
      ASSERT_TRUE(moved.ok()) << moved.error().detail;
      EXPECT_EQ(moved.value(), 100);
      EXPECT_EQ(buffer, std::vector<std::byte>(100, std::byte{0}));
    });
  }
}

// ---- targets that cannot seek

// Takes bytes in order only, as a pipe does.
class Pipe final : public DeviceFile {
 public:
  explicit Pipe(std::vector<std::byte>& taken) : taken_(taken) { traits_.seekable = false; }
  const Traits& traits() const override { return traits_; }
  Result<std::int64_t> read(Transfers) override { return Error{Code::Unsupported, "read"}; }
  Status write(Transfers transfers) override {
    for (const Transfer& one : transfers) {
      if (one.offset != static_cast<std::int64_t>(taken_.size())) return Error{Code::Unsupported, "out of order"};
      taken_.insert(taken_.end(), one.memory, one.memory + one.size);
    }
    return {};
  }
  Result<std::int64_t> size() override { return Error{Code::Unsupported, "size"}; }
  Status resize(std::int64_t) override { return Error{Code::Unsupported, "resize"}; }
  Status reserve(std::int64_t) override { return Error{Code::Unsupported, "reserve"}; }
  Status sync() override { return {}; }

 private:
  std::vector<std::byte>& taken_;
  Traits traits_;
};

// Only rank 0 may write to the pipe, and what all ranks wrote arrives in order of rank.
TEST(StrategyDifferential, OneProcessWritesToAPipe) {
  constexpr std::int64_t kSize = 1000;
  std::vector<std::byte> taken;
  test::on_ranks(4, [&](Comm& comm) {
    std::vector<std::byte> elsewhere;
    Pipe pipe(comm.rank() == 0 ? taken : elsewhere);
    Hints hints;
    hints.cb_buffer_size = 64;
    std::vector<std::byte> buffer(kSize, static_cast<std::byte>(comm.rank() + 1));
    const Access access{Direction::write,
                        buffer.data(),
                        {Layout::bytes(kSize), 0, 0, kSize},
                        {Layout::bytes(kSize), comm.rank() * kSize, 0, kSize}};
    Scratch scratch;
    Counters counters;
    const auto moved = carry_out_all({comm, pipe, pipe.traits(), hints}, access, scratch, counters).wait();
    ASSERT_TRUE(moved.ok()) << moved.error().detail;
    EXPECT_EQ(moved.value(), kSize);
    EXPECT_TRUE(elsewhere.empty());
  });
  ASSERT_EQ(taken.size(), static_cast<std::size_t>(4 * kSize));
  for (std::size_t i = 0; i < taken.size(); ++i) ASSERT_EQ(taken[i], static_cast<std::byte>(i / kSize + 1)) << i;
}

}  // namespace
}  // namespace plenum
