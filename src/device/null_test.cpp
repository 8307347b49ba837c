// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "device/device.hpp"

namespace plenum {
namespace {

std::unique_ptr<DeviceFile> open_null() {
  auto target = resolve("null:/no/such/directory/file", Hints{});
  if (!target.ok()) return nullptr;
  auto file = target.value().device->open(target.value().path, OpenMode{.read = true, .write = true}, Hints{});
  return file.ok() ? std::move(file).value() : nullptr;
}

TEST(Null, reads_are_full_of_zeros_wherever_they_lie) {
  const auto file = open_null();
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(file->traits().keeps_data);
  std::vector<std::byte> memory(100, std::byte{7});
  const Transfer batch[] = {{0, memory.data(), 10}, {std::int64_t{1} << 60, memory.data() + 20, 50}};
  const auto read = file->read(batch);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value(), 60);
  EXPECT_EQ(std::count(memory.begin(), memory.end(), std::byte{7}), 40);
  EXPECT_EQ(memory[10], std::byte{7});
  EXPECT_EQ(memory[69], std::byte{0});
}

TEST(Null, remembers_the_size_that_was_written_or_set) {
  const auto file = open_null();
  ASSERT_NE(file, nullptr);
  std::byte byte{};
  const Transfer batch[] = {{1000, &byte, 1}, {5, &byte, 1}};
  ASSERT_TRUE(file->write(batch).ok());
  EXPECT_EQ(file->size().value(), 1001);
  ASSERT_TRUE(file->resize(10).ok());
  ASSERT_TRUE(file->reserve(5).ok());
  EXPECT_EQ(file->size().value(), 10);
  ASSERT_TRUE(file->reserve(20).ok());
  EXPECT_EQ(file->size().value(), 20);
  EXPECT_EQ(open_null()->size().value(), 0);
}

TEST(Null, concurrent_writers_leave_the_largest_end) {
  const auto file = open_null();
  ASSERT_NE(file, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&file, t] {
      std::byte byte{};
      for (std::int64_t i = 0; i < 1000; ++i) {
        const Transfer one = {i * 4 + t, &byte, 1};
        EXPECT_TRUE(file->write({&one, 1}).ok());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(file->size().value(), 4000);
}

}  // namespace
}  // namespace plenum
