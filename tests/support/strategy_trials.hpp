// SPDX-License-Identifier: BSD-3-Clause
//
// Random accesses carried out by every registered strategy, with ranks as threads, each held against the oracle of
// random_access.hpp.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.hpp"
#include "strategy/strategy.hpp"
#include "support/memory_file.hpp"
#include "support/random_access.hpp"

namespace plenum::test {

// A random access with everything that decides how it is carried out. All of it follows from `seed`.
struct Case {
  std::uint64_t seed = 0;
  int ranks = 1;
  int ranks_per_node = 1;
  Hints hints;
  Traits traits;
  GroupAccess group;
  std::vector<std::byte> content;  // of the file beforehand

  std::string name() const {
    return "PLENUM_SEED=" + std::to_string(seed) + " PLENUM_CASES=1 (" + std::to_string(ranks) + " ranks, " +
           std::to_string(ranks_per_node) + " per node, " +
           (group.ranks[0].direction == Direction::read ? "read)" : "write)");
  }
};

inline Hints random_hints(Random& random, int ranks) {
  Hints hints;
  hints.cb_buffer_size = random.pick<std::int64_t>({1, 7, 64, 64, 500, 4096, 16 << 20});
  hints.ind_rd_buffer_size = random.pick<std::int64_t>({1, 7, 64, 4096, 4 << 20});
  hints.ind_wr_buffer_size = random.pick<std::int64_t>({1, 7, 64, 4096, 512 << 10});
  hints.cb_nodes = random.between(0, ranks + 1);
  hints.cb_config_list = random.pick<const char*>({"*:*", "*:*", "*:1", "*:2"});
  const auto toggle = [&] {
    return random.pick({Toggle::automatic, Toggle::automatic, Toggle::automatic, Toggle::enable, Toggle::disable});
  };
  hints.cb_read = toggle();
  hints.cb_write = toggle();
  hints.ds_read = toggle();
  hints.ds_write = toggle();
  return hints;
}

// `options.ranks` and `options.direction` are chosen here.
inline Case random_case(std::uint64_t seed, GroupOptions options = {}) {
  Random random(seed);
  Case one;
  one.seed = seed;
  options.ranks = one.ranks = random.pick({1, 2, 3, 4, 7, 8});
  one.ranks_per_node = random.pick({one.ranks, one.ranks, 1, 2});
  options.direction = random.one_in(2) ? Direction::read : Direction::write;
  one.hints = random_hints(random, one.ranks);
  one.traits.preferred_unit = random.pick<std::int64_t>({1, 1, 8, 64, 4096});
  one.traits.stripe_unit = random.pick<std::int64_t>({0, 0, 0, 16, 100});
  // A round a byte: a few of those will do.
  const bool many_rounds = one.hints.cb_buffer_size < 64;
  options.max_bytes =
      std::min<std::int64_t>(options.max_bytes, many_rounds ? 60 : random.pick({100, 300, 600, 600, 6000}));
  one.group = random_group_access(random, options);
  one.content = random_content(random, one.group);
  return one;
}

// Runs of `size` bytes, `stride` apart (descending if negative).
struct Regular {
  std::int64_t runs = 1;
  std::int64_t size = 1;
  std::int64_t stride = 1;
};

// A case in which the ranks' regular accesses interleave, and the file has content up to the end of all of them.
inline Case regular_case(int ranks, Direction direction, const Regular& regular) {
  Case one;
  one.ranks = one.ranks_per_node = ranks;
  one.traits.preferred_unit = 1;
  Random random(static_cast<std::uint64_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    RankAccess& mine = one.group.ranks.emplace_back();
    mine.direction = direction;
    mine.displacement = rank * regular.size + std::max<std::int64_t>(0, -regular.stride * (regular.runs - 1));
    mine.size = regular.runs * regular.size;
    mine.tile.layout = Layout::repeat(regular.runs, regular.stride, Layout::bytes(regular.size));
    mine.memory.layout = Layout::bytes(mine.size);
    mine.storage.resize(static_cast<std::size_t>(mine.size));
    random.fill(mine.storage);
    for (std::int64_t i = 0; i < mine.size; ++i) {
      mine.file_at.push_back(mine.displacement + i / regular.size * regular.stride + i % regular.size);
      mine.memory_at.push_back(i);
    }
  }
  one.group.ordered = regular.stride >= 0;
  one.content.resize(static_cast<std::size_t>(one.group.end()));
  random.fill(one.content);
  return one;
}

// How a case is carried out: by what, and whether together or each rank on its own.
struct Way {
  const Strategy* strategy = nullptr;  // null: what the chooser takes
  bool collective = true;

  std::string name() const {
    return std::string(collective ? "collective " : "independent ") + (strategy == nullptr ? "chosen" : strategy->name);
  }
};

// Every registered strategy, forced in all the ways it can be, and the chooser.
inline std::vector<Way> all_ways() {
  std::vector<Way> ways = {{nullptr, true}, {nullptr, false}};
  for (const Strategy* strategy : strategies()) {
    ways.push_back({strategy, true});
    if (strategy->run != nullptr) ways.push_back({strategy, false});
  }
  return ways;
}

// A file on which a trial takes place.
class Ground {
 public:
  virtual ~Ground() = default;
  virtual std::unique_ptr<DeviceFile> open(int rank) = 0;
  virtual std::vector<std::byte> bytes() = 0;
};

class MemoryGround final : public Ground {
 public:
  MemoryGround(std::vector<std::byte> content, Traits traits)
      : store_(std::move(content)), traits_(std::move(traits)) {}
  std::unique_ptr<DeviceFile> open(int) override { return std::make_unique<MemoryFile>(store_, traits_); }
  std::vector<std::byte> bytes() override { return store_.bytes(); }

 private:
  MemoryStore store_;
  Traits traits_;
};

// One case carried out in one way, and what came of it.
struct Trial {
  struct RankEnd {
    std::vector<std::byte> storage;
    std::optional<Result<std::int64_t>> moved;
    std::string strategy;  // that was recorded
  };

  const Case* one;
  Way way;
  std::unique_ptr<Ground> ground;
  std::vector<RankEnd> ends;

  Trial(const Case& c, Way w, std::unique_ptr<Ground> g)
      : one(&c), way(w), ground(std::move(g)), ends(static_cast<std::size_t>(c.ranks)) {}

  std::string name() const { return one->name() + ", " + way.name(); }

  // This rank's part; all ranks call it. `wrap` may put something over the file.
  void run(Comm& comm, Scratch& scratch,
           const std::function<std::unique_ptr<DeviceFile>(std::unique_ptr<DeviceFile>)>& wrap) {
    const std::unique_ptr<DeviceFile> file = wrap(ground->open(comm.rank()));
    RankAccess mine = one->group.ranks[static_cast<std::size_t>(comm.rank())];
    Hints hints = one->hints;
    if (way.strategy != nullptr) hints.strategy = way.strategy->name;
    Counters counters;
    const Environment environment{comm, *file, one->traits, hints};
    RankEnd& end = ends[static_cast<std::size_t>(comm.rank())];
    end.moved = way.collective ? carry_out_all(environment, mine.access(), scratch, counters).wait()
                               : carry_out(environment, mine.access(), scratch, counters);
    end.storage = std::move(mine.storage);
    for (const Counters::Row& row : counters.rows()) end.strategy = row.strategy;
  }

  // Everything went well: counts, memory and file are exactly what they must be.
  void expect_exact() const {
    SCOPED_TRACE(name());
    for (std::size_t r = 0; r < ends.size(); ++r) {
      const RankAccess& rank = one->group.ranks[r];
      ASSERT_TRUE(ends[r].moved->ok()) << "rank " << r << ": " << ends[r].moved->error().detail;
      const bool read = rank.direction == Direction::read;
      const auto expected = read ? rank.expected_read(one->content) : RankAccess::Outcome{rank.storage, rank.size};
      ASSERT_EQ(ends[r].moved->value(), expected.count) << "rank " << r << ": count";
      ASSERT_TRUE(ends[r].storage == expected.storage) << "rank " << r << ": wrong memory";
    }
    expect_file(true);
  }

  // The file holds what the writes make of it; unless `complete`, any part of that.
  void expect_file(bool complete) const {
    const std::vector<std::byte> after = ground->bytes();
    const GroupAccess& group = one->group;
    if (group.ranks[0].direction == Direction::read) {
      ASSERT_TRUE(after == one->content) << "a read has changed the file";
    } else if (complete && !group.overlapping) {
      ASSERT_TRUE(after == group.write_to(one->content)) << "wrong file";
    } else {
      ASSERT_TRUE(group.may_become(one->content, after, complete)) << "wrong file";
    }
  }
};

}  // namespace plenum::test
