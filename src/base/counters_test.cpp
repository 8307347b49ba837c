// SPDX-License-Identifier: BSD-3-Clause
#include "base/counters.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace plenum {
namespace {

constexpr const char* kDirect = "direct";
constexpr const char* kFew = "few large runs";

TEST(Counters, a_new_object_has_counted_nothing) {
  const Counters counters;
  EXPECT_TRUE(counters.rows().empty());
}

TEST(Counters, each_kind_of_access_is_a_row) {
  Counters counters;
  counters.add(Direction::write, false, kDirect, kFew, 10);
  counters.add(Direction::write, false, kDirect, kFew, 5);
  counters.add(Direction::read, false, kDirect, kFew, 7);
  counters.add(Direction::write, true, kDirect, kFew, 0);
  counters.add(Direction::write, false, kDirect, "hint", 1);
  const auto rows = counters.rows();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].direction, Direction::write);
  EXPECT_FALSE(rows[0].collective);
  EXPECT_EQ(rows[0].strategy, "direct");
  EXPECT_EQ(rows[0].reason, "few large runs");
  EXPECT_EQ(rows[0].calls, 2);
  EXPECT_EQ(rows[0].bytes, 15);
  EXPECT_EQ(rows[1].direction, Direction::read);
  EXPECT_EQ(rows[1].bytes, 7);
  EXPECT_TRUE(rows[2].collective);
  EXPECT_EQ(rows[2].calls, 1);
  EXPECT_EQ(rows[2].bytes, 0);
  EXPECT_EQ(rows[3].reason, "hint");
}

TEST(Counters, equal_texts_at_two_addresses_are_one_row) {
  Counters counters;
  const std::string copy = kFew;
  counters.add(Direction::read, false, kDirect, kFew, 1);
  counters.add(Direction::read, false, kDirect, copy.c_str(), 2);
  const auto rows = counters.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].calls, 2);
  EXPECT_EQ(rows[0].bytes, 3);
}

TEST(Counters, too_many_kinds_are_counted_together_and_none_is_lost) {
  Counters counters;
  std::vector<std::string> reasons;
  for (int i = 0; i < 200; ++i) reasons.push_back("reason " + std::to_string(i));
  for (const auto& reason : reasons) {
    for (const auto direction : {Direction::read, Direction::write}) {
      for (const bool collective : {false, true}) counters.add(direction, collective, kDirect, reason.c_str(), 1);
    }
  }
  std::int64_t calls = 0;
  std::int64_t others = 0;
  for (const auto& row : counters.rows()) {
    calls += row.calls;
    if (row.reason == "other") ++others;
  }
  EXPECT_EQ(calls, 800);
  EXPECT_EQ(others, 4);
}

TEST(Counters, threads_lose_no_counts) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 2000;
  static const char* const kReasons[] = {"a", "b", "c", "d", "e"};
  Counters counters;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&counters, t] {
      for (int i = 0; i < kRounds; ++i) {
        counters.add(Direction::write, true, kDirect, kReasons[(i + t) % 5], 3);
        if (i % 100 == 0) (void)counters.rows();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto rows = counters.rows();
  ASSERT_EQ(rows.size(), 5u);
  for (const auto& row : rows) {
    EXPECT_EQ(row.calls, kThreads * kRounds / 5) << row.reason;
    EXPECT_EQ(row.bytes, 3 * row.calls) << row.reason;
  }
}

}  // namespace
}  // namespace plenum
