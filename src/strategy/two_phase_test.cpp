// SPDX-License-Identifier: BSD-3-Clause
#include "strategy/two_phase.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "comm/thread_comm.hpp"
#include "support/random_access.hpp"

namespace plenum {
namespace {

using two_phase::aggregators;
using two_phase::file_domains;

// ---- file domains

TEST(FileDomains, AlignedInside) {
  EXPECT_EQ(file_domains({100, 1000}, 3, 256), std::vector<ByteRange>({{100, 512}, {512, 768}, {768, 1000}}));
}

TEST(FileDomains, NoRangeNoDomains) {
  EXPECT_EQ(file_domains({70, 70}, 2, 64), std::vector<ByteRange>({{70, 70}, {70, 70}}));
}

TEST(FileDomains, LessThanOneUnitGoesToOneAggregator) {
  EXPECT_EQ(file_domains({4100, 4200}, 3, 4096), std::vector<ByteRange>({{4100, 4200}, {4200, 4200}, {4200, 4200}}));
}

TEST(FileDomains, LongestFile) {
  const std::int64_t end = std::int64_t{1} << 62;
  const auto domains = file_domains({0, end}, 7, 1 << 20);
  EXPECT_EQ(domains.front().begin, 0);
  EXPECT_EQ(domains.back().end, end);
  for (std::size_t i = 1; i < domains.size(); ++i) EXPECT_EQ(domains[i].begin, domains[i - 1].end);
}

TEST(FileDomains, CoverTheRangeInOrderAndCutItAtMultiplesOfTheUnit) {
  test::Random random(test::seed_for_test());
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t scale = random.pick<std::int64_t>({10, 1000, 100000, std::int64_t{1} << 45});
    const std::int64_t begin = random.between(0, scale);
    const ByteRange range{begin, begin + random.between(0, scale)};
    const std::int64_t count = random.between(1, 20);
    const std::int64_t unit = random.one_in(3) ? 1 : random.between(1, 5000);
    const auto domains = file_domains(range, count, unit);
    SCOPED_TRACE(testing::Message() << "PLENUM_SEED=" << test::seed_for_test() << ": [" << range.begin << ", "
                                    << range.end << ") over " << count << " in units of " << unit);
    ASSERT_EQ(static_cast<std::int64_t>(domains.size()), count);
    ASSERT_EQ(domains.front().begin, range.begin);
    ASSERT_EQ(domains.back().end, range.end);
    const std::int64_t fair = ceil_div(range.size(), count);
    for (std::size_t d = 0; d < domains.size(); ++d) {
      ASSERT_LE(domains[d].begin, domains[d].end);
      ASSERT_LT(domains[d].size(), fair + unit) << "nobody has more than a share and the rest of a unit";
      if (d == 0) continue;
      ASSERT_EQ(domains[d].begin, domains[d - 1].end);
      const std::int64_t border = domains[d].begin;
      ASSERT_TRUE(border == range.begin || border == range.end || border % unit == 0) << border;
    }
  }
}

// ---- windows and rounds

TEST(Windows, CutADomainAtMultiplesOfTheirSize) {
  test::Random random(test::seed_for_test());
  for (int i = 0; i < 5000; ++i) {
    const std::int64_t begin = random.between(0, 5000);
    const ByteRange domain{begin, begin + random.between(1, 5000)};
    const std::int64_t size = random.one_in(4) ? random.between(1, 20000) : random.between(1, 300);
    SCOPED_TRACE(testing::Message() << "[" << domain.begin << ", " << domain.end << ") in windows of " << size);
    std::int64_t at = domain.begin;
    std::int64_t round = 0;
    for (; at < domain.end; ++round) {
      const ByteRange window = two_phase::window(domain, round, size);
      ASSERT_EQ(window.begin, at);
      ASSERT_FALSE(window.empty());
      ASSERT_LE(window.size(), size);
      ASSERT_TRUE(window.end == domain.end || window.end % size == 0);
      ASSERT_EQ(two_phase::round_of(domain, window.begin, size), round);
      ASSERT_EQ(two_phase::round_of(domain, window.end - 1, size), round);
      at = window.end;
    }
    ASSERT_EQ(at, domain.end);
    ASSERT_TRUE(two_phase::window(domain, round, size).empty()) << "after the last round there is nothing";
  }
}

TEST(Windows, LargestSizesDoNotOverflow) {
  const std::int64_t end = std::int64_t{1} << 62;
  EXPECT_EQ(two_phase::window({end - 10, end}, 0, Layout::kReach), (ByteRange{end - 10, end}));
}

// ---- aggregators

std::vector<int> aggregators_on(const std::vector<int>& node_labels, std::int64_t wanted, std::int64_t per_node) {
  ThreadGroup group{std::span<const int>(node_labels)};
  return aggregators(*group.join(0), wanted, per_node);
}

TEST(Aggregators, AFewPerNodeByDefault) {
  EXPECT_EQ(aggregators_on({0}, 0, 0), std::vector<int>({0}));
  EXPECT_EQ(aggregators_on({0, 0, 0}, 0, 0), std::vector<int>({0, 1, 2}));
  EXPECT_EQ(aggregators_on({0, 0, 0, 0, 0, 0}, 0, 0), std::vector<int>({0, 1, 2, 3}));
}

TEST(Aggregators, NodesInTurn) {
  EXPECT_EQ(aggregators_on({0, 0, 0, 1, 1, 2}, 0, 0), std::vector<int>({0, 3, 5, 1, 4, 2}));
  EXPECT_EQ(aggregators_on({0, 0, 0, 1, 1, 2}, 2, 0), std::vector<int>({0, 3}));
  EXPECT_EQ(aggregators_on({0, 0, 0, 1, 1, 2}, 4, 0), std::vector<int>({0, 3, 5, 1}));
  EXPECT_EQ(aggregators_on({0, 1, 0, 1, 0, 1}, 3, 0), std::vector<int>({0, 1, 2}));
}

TEST(Aggregators, LimitPerNode) {
  EXPECT_EQ(aggregators_on({0, 0, 0, 1, 1, 2}, 0, 1), std::vector<int>({0, 3, 5}));
  EXPECT_EQ(aggregators_on({0, 0, 0, 1, 1, 2}, 6, 2), std::vector<int>({0, 3, 5, 1, 4}));
}

TEST(Aggregators, ManyWantedIsEverybody) {
  EXPECT_EQ(aggregators_on({0, 0, 0, 0, 0, 0}, 100, 0), std::vector<int>({0, 1, 2, 3, 4, 5}));
}

TEST(Aggregators, AreDistinctAndBalanced) {
  test::Random random(test::seed_for_test());
  for (int i = 0; i < 500; ++i) {
    std::vector<int> labels;
    for (std::int64_t rank = random.between(1, 20); rank > 0; --rank)
      labels.push_back(static_cast<int>(random.between(0, 4)));
    const std::int64_t wanted = random.between(0, 8);
    const std::int64_t per_node = random.between(0, 3);
    const auto chosen = aggregators_on(labels, wanted, per_node);
    ASSERT_FALSE(chosen.empty());
    ASSERT_EQ(std::set<int>(chosen.begin(), chosen.end()).size(), chosen.size());
    if (wanted > 0) {
      ASSERT_LE(static_cast<std::int64_t>(chosen.size()), wanted);
    }
    std::map<int, std::int64_t> on_node;
    for (const int rank : chosen) ++on_node[labels[static_cast<std::size_t>(rank)]];
    for (const auto& [node, count] : on_node) ASSERT_TRUE(per_node == 0 || count <= per_node) << "node " << node;
  }
}

TEST(Aggregators, LimitFromTheHint) {
  EXPECT_EQ(two_phase::per_node_limit("*:*"), 0);
  EXPECT_EQ(two_phase::per_node_limit("*:1"), 1);
  EXPECT_EQ(two_phase::per_node_limit("*:12"), 12);
  EXPECT_EQ(two_phase::per_node_limit(""), 0);
  EXPECT_EQ(two_phase::per_node_limit("host1:2"), 0);
}

}  // namespace
}  // namespace plenum
