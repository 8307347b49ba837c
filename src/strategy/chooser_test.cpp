// SPDX-License-Identifier: BSD-3-Clause
//
// Which strategy an access gets, and what is recorded about it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/self_comm.hpp"
#include "strategy/strategy.hpp"
#include "support/memory_file.hpp"
#include "support/on_ranks.hpp"

namespace plenum {
namespace {

using test::MemoryFile;
using test::MemoryStore;
using test::on_ranks;

// An open file of one process, with traits and hints to play with.
class ChooserTest : public testing::Test {
 protected:
  Choice chosen(const Shape& shape, bool collective) {
    MemoryFile file(store_, traits_);
    return choose(shape, Environment{comm_, file, traits_, hints_}, collective);
  }
  std::string name(const Shape& shape, bool collective) { return chosen(shape, collective).strategy->name; }

  // `runs` runs of `size` bytes, `stride` apart, on each of `ranks` ranks.
  static Shape strided(Direction direction, std::int64_t runs, std::int64_t size, std::int64_t stride,
                       std::int64_t ranks = 1) {
    Shape shape;
    shape.direction = direction;
    shape.ranks = shape.active = ranks;
    shape.range = {0, (runs - 1) * stride + size * ranks};
    shape.bytes = ranks * runs * size;
    shape.runs = ranks * runs;
    shape.span = ranks * ((runs - 1) * stride + size);
    shape.file_size = shape.range.end;
    return shape;
  }

  MemoryStore store_;
  SelfComm comm_;
  Traits traits_;
  Hints hints_;
};

TEST_F(ChooserTest, LargeContiguousIsDirect) {
  for (const Direction direction : {Direction::read, Direction::write}) {
    const Shape alone = strided(direction, 1, 64 << 20, 64 << 20);
    EXPECT_EQ(name(alone, false), "direct");
    EXPECT_EQ(name(alone, true), "direct");
    EXPECT_EQ(name(strided(direction, 1, 64 << 20, 64 << 20, 4), true), "direct");
    EXPECT_EQ(name(strided(direction, 100, 1 << 20, 4 << 20, 4), true), "direct");
  }
}

TEST_F(ChooserTest, OneSmallRunIsDirect) {
  EXPECT_EQ(name(strided(Direction::read, 1, 8, 8), false), "direct");
  EXPECT_EQ(name(strided(Direction::write, 1, 8, 8, 4), true), "direct");
}

TEST_F(ChooserTest, InterleavedSmallRunsGoThroughAggregators) {
  EXPECT_EQ(name(strided(Direction::write, 10000, 8, 32, 4), true), "two_phase");
  // Each rank reading everything, of which it needs a part, costs more the more ranks there are.
  EXPECT_EQ(name(strided(Direction::read, 10000, 64, 32 * 64, 32), true), "two_phase");
}

TEST_F(ChooserTest, DenseSmallReadsAreSieved) {
  EXPECT_EQ(name(strided(Direction::read, 10000, 8, 32), false), "sieve");
  EXPECT_EQ(name(strided(Direction::write, 10000, 8, 32), false), "direct") << "holes are never rewritten";
}

TEST_F(ChooserTest, SparseReadsAreNotSieved) {
  EXPECT_EQ(name(strided(Direction::read, 1000, 8, 1 << 20), false), "direct");
}

TEST_F(ChooserTest, TargetsThatCannotSeekAreFunnelled) {
  traits_.seekable = false;
  EXPECT_EQ(name(strided(Direction::write, 1, 1 << 20, 1 << 20, 4), true), "funnel");
  EXPECT_EQ(name(strided(Direction::write, 1000, 8, 32, 4), true), "funnel");
  EXPECT_EQ(name(strided(Direction::write, 1, 1 << 20, 1 << 20), false), "direct");
  EXPECT_EQ(name(strided(Direction::read, 1000, 8, 32), false), "direct");
  EXPECT_EQ(name(strided(Direction::read, 1000, 8, 32, 4), true), "direct");
}

TEST_F(ChooserTest, UnorderedFilesAreDirect) {
  Shape shape = strided(Direction::read, 10000, 8, 32, 4);
  shape.ordered = false;
  EXPECT_EQ(name(shape, true), "direct");
  EXPECT_EQ(name(shape, false), "direct");
  hints_.cb_read = Toggle::enable;
  EXPECT_EQ(name(shape, true), "direct");
  hints_.strategy = "two_phase";
  EXPECT_EQ(name(shape, true), "direct") << "a strategy that cannot do it is not forced to";
}

TEST_F(ChooserTest, CollectiveBufferingHints) {
  const Shape large = strided(Direction::write, 1, 64 << 20, 64 << 20, 4);
  const Shape small = strided(Direction::write, 10000, 8, 32, 4);
  hints_.cb_write = Toggle::enable;
  EXPECT_EQ(name(large, true), "two_phase");
  EXPECT_EQ(name(large, false), "direct");
  hints_.cb_write = Toggle::disable;
  EXPECT_EQ(name(small, true), "direct");

  Shape read = small;
  read.direction = Direction::read;
  hints_.ds_read = Toggle::disable;
  EXPECT_EQ(name(read, true), "two_phase") << "romio_cb_write says nothing about reads";
  hints_.cb_read = Toggle::disable;
  EXPECT_NE(name(read, true), "two_phase");
  EXPECT_NE(name(read, true), "funnel");
}

TEST_F(ChooserTest, DataSievingHints) {
  const Shape dense = strided(Direction::read, 10000, 8, 32);
  const Shape sparse = strided(Direction::read, 1000, 8, 1 << 20);
  hints_.ds_read = Toggle::disable;
  EXPECT_EQ(name(dense, false), "direct");
  hints_.ds_read = Toggle::enable;
  EXPECT_EQ(name(sparse, false), "sieve");
  EXPECT_STREQ(chosen(sparse, false).reason, "hint romio_ds_read=enable");
}

TEST_F(ChooserTest, TheHintForcesAStrategyWhereItCan) {
  const Shape shape = strided(Direction::read, 1, 1 << 20, 1 << 20, 4);
  for (const Strategy* strategy : strategies()) {
    hints_.strategy = strategy->name;
    const Choice collective = chosen(shape, true);
    EXPECT_STREQ(collective.strategy->name, strategy->name);
    EXPECT_STREQ(collective.reason, "hint plenum_strategy");
    if (strategy->run != nullptr) {
      EXPECT_EQ(name(shape, false), strategy->name);
    } else {
      EXPECT_NE(chosen(shape, false).strategy->run, nullptr) << "an independent access is not collective by force";
    }
  }
  hints_.strategy = "no such strategy";
  EXPECT_EQ(name(shape, true), "direct");
}

TEST_F(ChooserTest, EveryChoiceHasAReasonAndCanBeCarriedOut) {
  for (const Toggle cb : {Toggle::automatic, Toggle::enable, Toggle::disable}) {
    for (const Toggle ds : {Toggle::automatic, Toggle::enable, Toggle::disable}) {
      for (const bool seekable : {true, false}) {
        for (const bool ordered : {true, false}) {
          for (const Direction direction : {Direction::read, Direction::write}) {
            hints_.cb_read = hints_.cb_write = cb;
            hints_.ds_read = hints_.ds_write = ds;
            traits_.seekable = seekable;
            Shape shape = strided(direction, 100, 8, 32, 4);
            shape.ordered = ordered;
            EXPECT_NE(chosen(shape, false).strategy->run, nullptr);
            const Choice collective = chosen(shape, true);
            EXPECT_TRUE(collective.strategy->run != nullptr || collective.strategy->run_all != nullptr);
            EXPECT_STRNE(collective.reason, "");
          }
        }
      }
    }
  }
}

// ---- what is recorded

// What rank 0 recorded of a collective write in which `ranks` ranks interleave `runs` runs of 8 bytes.
std::vector<Counters::Row> rows_of_collective_write(int ranks, std::int64_t runs, const Hints& hints) {
  MemoryStore store;
  std::vector<Counters::Row> rows;
  on_ranks(ranks, [&](Comm& comm) {
    MemoryFile file(store, Traits());
    Scratch scratch;
    Counters counters;
    std::vector<std::byte> buffer(static_cast<std::size_t>(8 * runs), std::byte{1});
    const Layout strided = Layout::repeat(runs, 8 * ranks, Layout::bytes(8));
    const Access access{Direction::write,
                        buffer.data(),
                        {Layout::bytes(8 * runs), 0, 0, 8 * runs},
                        {strided, 8 * comm.rank(), 0, 8 * runs}};
    const auto moved = carry_out_all({comm, file, file.traits(), hints}, access, scratch, counters).wait();
    ASSERT_TRUE(moved.ok()) << moved.error().detail;
    EXPECT_EQ(moved.value(), 8 * runs);
    if (comm.rank() == 0) rows = counters.rows();
  });
  EXPECT_EQ(store.bytes(), std::vector<std::byte>(static_cast<std::size_t>(8 * ranks * runs), std::byte{1}));
  return rows;
}

TEST(ChoiceRecords, CollectiveAccess) {
  const auto rows = rows_of_collective_write(4, 10000, Hints());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].direction, Direction::write);
  EXPECT_TRUE(rows[0].collective);
  EXPECT_EQ(rows[0].strategy, "two_phase");
  EXPECT_EQ(rows[0].reason, "interleaved small runs: through aggregators");
  EXPECT_EQ(rows[0].calls, 1);
  EXPECT_EQ(rows[0].bytes, 80000);
}

TEST(ChoiceRecords, ForcedAccess) {
  for (const Strategy* strategy : strategies()) {
    Hints hints;
    hints.strategy = strategy->name;
    const auto rows = rows_of_collective_write(3, 5, hints);
    ASSERT_EQ(rows.size(), 1u);
    if (std::string(strategy->name) == "sieve") {
      EXPECT_EQ(rows[0].strategy, "direct") << "there is no sieving for writes";
    } else {
      EXPECT_EQ(rows[0].strategy, strategy->name);
      EXPECT_EQ(rows[0].reason, "hint plenum_strategy");
    }
  }
}

TEST(ChoiceRecords, IndependentAccess) {
  MemoryStore store(std::vector<std::byte>(1000, std::byte{7}));
  MemoryFile file(store, Traits());
  SelfComm comm;
  const Hints hints;
  Scratch scratch;
  Counters counters;
  std::vector<std::byte> buffer(500);
  const Access access{
      Direction::read, buffer.data(), {Layout::bytes(500), 0, 0, 500}, {Layout::bytes(500), 800, 0, 500}};
  const auto moved = carry_out({comm, file, file.traits(), hints}, access, scratch, counters);
  ASSERT_TRUE(moved.ok());
  EXPECT_EQ(moved.value(), 200);
  const auto rows = counters.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_FALSE(rows[0].collective);
  EXPECT_EQ(rows[0].strategy, "direct");
  EXPECT_EQ(rows[0].bytes, 200) << "what was transferred, not what was asked for";
}

}  // namespace
}  // namespace plenum
