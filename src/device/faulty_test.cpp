// SPDX-License-Identifier: BSD-3-Clause
#include "device/faulty.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

namespace plenum {
namespace {

// Notes what reaches it; its file ends at `end`.
class Recorder final : public DeviceFile {
 public:
  explicit Recorder(std::int64_t end = 1 << 30) : end_(end) { traits_.byte_range_locks = true; }

  const Traits& traits() const override { return traits_; }
  Result<std::int64_t> read(Transfers transfers) override {
    std::int64_t total = 0;
    for (const Transfer& one : transfers) {
      log += "r" + std::to_string(one.offset) + "+" + std::to_string(one.size) + " ";
      total += std::clamp<std::int64_t>(end_ - one.offset, 0, one.size);
    }
    return total;
  }
  Status write(Transfers transfers) override {
    for (const Transfer& one : transfers)
      log += "w" + std::to_string(one.offset) + "+" + std::to_string(one.size) + " ";
    return {};
  }
  Result<std::int64_t> size() override { return note("size", end_); }
  Status resize(std::int64_t) override { return note("resize"); }
  Status reserve(std::int64_t) override { return note("reserve"); }
  Status sync() override { return note("sync"); }
  Status close() override { return note("close"); }
  Result<RangeLock> lock(ByteRange, Sharing) override {
    log += "lock ";
    return RangeLock(nullptr);
  }

  std::string log;

 private:
  Status note(const char* what) {
    log += std::string(what) + " ";
    return {};
  }
  std::int64_t note(const char* what, std::int64_t value) {
    log += std::string(what) + " ";
    return value;
  }

  Traits traits_;
  std::int64_t end_;
};

struct Victim {
  explicit Victim(std::string_view text) {
    auto fault = parse_fault(text);
    EXPECT_TRUE(fault.ok()) << text;
    auto recorder = std::make_unique<Recorder>();
    below = recorder.get();
    file = make_faulty_file(std::move(recorder), fault.ok() ? fault.value() : Fault{});
  }
  bool write() { return file->write({&one, 1}).ok(); }
  bool read() { return file->read({&one, 1}).ok(); }

  std::byte memory[16] = {};
  Transfer one = {0, memory, 8};
  Recorder* below = nullptr;
  std::unique_ptr<DeviceFile> file;
};

TEST(Fault, the_hint_is_understood) {
  const auto fault = parse_fault("op=write,nth=3,error=ENOSPC");
  ASSERT_TRUE(fault.ok());
  EXPECT_EQ(fault.value().operation, Fault::Operation::write);
  EXPECT_EQ(fault.value().first, 3);
  EXPECT_EQ(fault.value().every, 0);
  EXPECT_EQ(fault.value().errno_value, ENOSPC);
  EXPECT_EQ(fault.value().kind, Fault::Kind::error);

  const auto partial = parse_fault("short,op=read,every=2");
  ASSERT_TRUE(partial.ok());
  EXPECT_EQ(partial.value().kind, Fault::Kind::short_moves);
  EXPECT_EQ(partial.value().first, 2);
  EXPECT_EQ(partial.value().every, 2);
  EXPECT_EQ(partial.value().errno_value, EIO);

  const auto delay = parse_fault("delay=250");
  ASSERT_TRUE(delay.ok());
  EXPECT_EQ(delay.value().kind, Fault::Kind::delay);
  EXPECT_EQ(delay.value().delay_us, 250);
}

TEST(Fault, mistakes_in_the_hint_are_quoted) {
  for (const char* text : {"", ",", "op", "op=", "op=fly", "nth=0", "nth=x", "nth=-1", "every=", "error=EWHAT",
                           "error=", "short=1", "delay", "delay=-1", "op=read,", "nth=1x", "what=1"}) {
    const auto fault = parse_fault(text);
    ASSERT_FALSE(fault.ok()) << text;
    EXPECT_EQ(fault.error().code, Code::InfoValue) << text;
  }
  EXPECT_NE(parse_fault("op=read,nth=x").error().detail.find("\"nth=x\""), std::string::npos);
}

TEST(Fault, only_the_nth_operation_fails_and_never_reaches_the_device) {
  for (int nth = 1; nth <= 5; ++nth) {
    Victim victim("op=write,error=ENOSPC,nth=" + std::to_string(nth));
    for (int i = 1; i <= 6; ++i) {
      EXPECT_TRUE(victim.read());
      EXPECT_EQ(victim.write(), i != nth) << nth << " " << i;
    }
    EXPECT_EQ(std::count(victim.below->log.begin(), victim.below->log.end(), 'w'), 5);
  }
}

TEST(Fault, every_nth_operation_fails) {
  Victim victim("op=read,every=3");
  for (int i = 1; i <= 9; ++i) EXPECT_EQ(victim.read(), i % 3 != 0) << i;
  Victim all("op=read");
  for (int i = 1; i <= 3; ++i) EXPECT_FALSE(all.read());
  EXPECT_TRUE(all.write());
}

TEST(Fault, the_error_says_that_it_was_injected_and_what_it_stands_for) {
  Victim victim("op=write,error=EDQUOT");
  const auto status = victim.file->write({&victim.one, 1});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::Quota);
  EXPECT_NE(status.error().detail.find("injected into write"), std::string::npos) << status.error().detail;
}

TEST(Fault, each_operation_can_be_made_to_fail) {
  const auto fails = [](const char* operation) {
    Victim victim(std::string("error=EIO,op=") + operation);
    std::string failed;
    if (!victim.read()) failed += "read ";
    if (!victim.write()) failed += "write ";
    if (!victim.file->size().ok()) failed += "size ";
    if (!victim.file->resize(1).ok()) failed += "resize ";
    if (!victim.file->reserve(1).ok()) failed += "reserve ";
    if (!victim.file->sync().ok()) failed += "sync ";
    if (!victim.file->lock({0, 1}, Sharing::shared).ok()) failed += "lock ";
    if (!victim.file->close().ok()) failed += "close ";
    EXPECT_NE(victim.below->log.find("close"), std::string::npos) << "a file is closed in any case";
    return failed;
  };
  for (const std::string operation : {"read", "write", "size", "resize", "reserve", "sync", "lock", "close"}) {
    EXPECT_EQ(fails(operation.c_str()), operation + " ");
  }
  EXPECT_EQ(fails("any"), "read write size resize reserve sync lock close ");
  EXPECT_EQ(fails("open"), "");
}

TEST(Fault, a_short_write_stores_half_and_fails) {
  Victim victim("op=write,short,error=ENOSPC");
  const Transfer batch[] = {{100, victim.memory, 6}, {50, victim.memory, 4}, {0, victim.memory, 6}};
  const auto status = victim.file->write(batch);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::NoSpace);
  EXPECT_EQ(victim.below->log, "w100+6 w50+2 ");
}

TEST(Fault, a_short_read_is_that_of_a_file_which_ends_earlier) {
  Victim victim("op=read,short,nth=1");
  const Transfer batch[] = {{100, victim.memory, 6}, {50, victim.memory, 4}, {0, victim.memory, 6}};
  const auto count = victim.file->read(batch);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count.value(), 8);
  EXPECT_EQ(victim.below->log, "r0+6 r50+2 ");
  EXPECT_EQ(victim.file->read(batch).value(), 16);
}

TEST(Fault, a_short_read_ends_at_one_place_for_all_transfers_that_overlap) {
  Victim victim("op=read,short");
  const Transfer batch[] = {{0, victim.memory, 8}, {2, victim.memory, 8}};
  // Half of the 16 bytes ends with the first transfer, at byte 8 of the file.
  EXPECT_EQ(victim.file->read(batch).value(), 8 + 6);
  EXPECT_EQ(victim.below->log, "r0+8 r2+6 ");
}

TEST(Fault, a_delay_is_waited_for_and_the_operation_is_done) {
  Victim victim("op=sync,delay=20000");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(victim.write());
  EXPECT_TRUE(victim.file->sync().ok());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  EXPECT_EQ(victim.below->log, "w0+8 sync ");
}

TEST(Fault, threads_see_exactly_one_failure) {
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  auto below = resolve("null:x", Hints{}).value().device->open("x", OpenMode{}, Hints{});
  const auto file = make_faulty_file(std::move(below).value(), parse_fault("op=read,nth=500").value());
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::byte memory[4];
      const Transfer one = {0, memory, 4};
      for (int i = 0; i < 250; ++i) failures += file->read({&one, 1}).ok() ? 0 : 1;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 1);
}

TEST(FaultyDevice, fails_the_opening_and_counts_it_as_an_operation) {
  const auto open = [](const char* text) {
    Hints hints;
    hints.fault = text;
    auto target = resolve("faulty:null:x", hints).value();
    return target.device->open(target.path, OpenMode{}, hints);
  };
  const auto failed = open("op=open,error=EACCES");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::Access);
  EXPECT_NE(failed.error().detail.find("open x"), std::string::npos) << failed.error().detail;

  const auto second = open("nth=2");
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second.value()->sync().ok());
  EXPECT_TRUE(second.value()->sync().ok());

  const auto mistake = open("op=fly");
  ASSERT_FALSE(mistake.ok());
  EXPECT_EQ(mistake.error().code, Code::InfoValue);
  EXPECT_TRUE(open("").ok());
}

}  // namespace
}  // namespace plenum
