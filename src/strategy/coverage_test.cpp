// SPDX-License-Identifier: BSD-3-Clause
#include "strategy/coverage.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/random_access.hpp"

namespace plenum {
namespace {

std::vector<ByteRange> runs_of(const Coverage& coverage, std::int64_t gap) {
  std::vector<ByteRange> runs;
  coverage.for_each_run(gap, [&](ByteRange run) { runs.push_back(run); });
  return runs;
}

// The same by the definition, from a flag per byte.
std::vector<ByteRange> runs_of(const std::vector<bool>& marked, std::int64_t gap) {
  std::vector<ByteRange> runs;
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(marked.size()); ++at) {
    if (!marked[static_cast<std::size_t>(at)]) continue;
    if (!runs.empty() && (runs.back().end == at || at - runs.back().end < gap)) {
      runs.back().end = at + 1;
    } else {
      runs.push_back({at, at + 1});
    }
  }
  return runs;
}

TEST(Coverage, EmptyHasNoRuns) {
  std::vector<std::uint64_t> words(1, ~std::uint64_t{0});
  EXPECT_TRUE(runs_of(Coverage(words.data(), 0), 1).empty());
  EXPECT_TRUE(runs_of(Coverage(words.data(), 50), 1).empty()) << "what the memory held before does not count";
}

TEST(Coverage, WordBorders) {
  for (const std::int64_t size : {1, 63, 64, 65, 127, 128, 129}) {
    for (std::int64_t begin = 0; begin < size; ++begin) {
      for (std::int64_t end = begin + 1; end <= size; ++end) {
        std::vector<std::uint64_t> words(static_cast<std::size_t>(Coverage::words_for(size)));
        Coverage coverage(words.data(), size);
        coverage.mark({begin, end});
        ASSERT_EQ(runs_of(coverage, 1), std::vector<ByteRange>({{begin, end}})) << "size " << size;
      }
    }
  }
}

TEST(Coverage, RunsCloserThanTheGapAreOne) {
  std::vector<std::uint64_t> words(2);
  Coverage coverage(words.data(), 100);
  coverage.mark({10, 20});
  coverage.mark({30, 40});
  EXPECT_EQ(runs_of(coverage, 10), std::vector<ByteRange>({{10, 20}, {30, 40}}));
  EXPECT_EQ(runs_of(coverage, 11), std::vector<ByteRange>({{10, 40}}));
}

TEST(Coverage, SameAsAFlagPerByte) {
  test::Random random(test::seed_for_test());
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t size = random.between(1, 400);
    std::vector<std::uint64_t> words(static_cast<std::size_t>(Coverage::words_for(size)));
    std::vector<bool> marked(static_cast<std::size_t>(size));
    Coverage coverage(words.data(), size);
    for (std::int64_t pieces = random.between(0, 12); pieces > 0; --pieces) {
      const std::int64_t begin = random.between(0, size);
      const std::int64_t end =
          std::min(size, begin + (random.one_in(4) ? random.between(0, 200) : random.between(0, 9)));
      coverage.mark({begin, end});
      for (std::int64_t at = begin; at < end; ++at) marked[static_cast<std::size_t>(at)] = true;
    }
    const std::int64_t gap = random.one_in(2) ? 1 : random.between(0, 60);
    ASSERT_EQ(runs_of(coverage, gap), runs_of(marked, gap))
        << "PLENUM_SEED=" << test::seed_for_test() << ", case " << i;
  }
}

TEST(Coverage, SlicesAreMarkedAsTheirRunsAre) {
  test::Random random(test::seed_for_test());
  for (int i = 0; i < 2000; ++i) {
    const test::Pattern pattern = random_pattern(random, test::Kind::ascending);
    const std::int64_t begin = random.between(0, pattern.size());
    const std::int64_t end = random.between(begin, pattern.size());
    const std::int64_t size = pattern.end();
    std::vector<std::uint64_t> words(static_cast<std::size_t>(Coverage::words_for(size)));
    Coverage coverage(words.data(), size);
    coverage.mark(Slice{pattern.layout, 0, begin, end});
    std::vector<bool> marked(static_cast<std::size_t>(size));
    for (std::int64_t byte = begin; byte < end; ++byte)
      marked[static_cast<std::size_t>(pattern.at[static_cast<std::size_t>(byte)])] = true;
    ASSERT_EQ(runs_of(coverage, 1), runs_of(marked, 1)) << "PLENUM_SEED=" << test::seed_for_test() << ", case " << i;
  }
}

}  // namespace
}  // namespace plenum
