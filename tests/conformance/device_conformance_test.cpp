// SPDX-License-Identifier: BSD-3-Clause
//
// What every device must do. The suite runs over all registered devices, those that go over another one over posix, and
// asks their traits before it demands: a new device is tested by existing. Files are made in the directory for
// temporary files (TMPDIR), so another file system is tested by pointing there.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <optional>
#include <random>
#include <thread>

#include "device/device.hpp"

namespace plenum {
namespace {

using FileResult = Result<std::unique_ptr<DeviceFile>>;

constexpr OpenMode kNew = {.read = true, .write = true, .create = true};
constexpr OpenMode kReadWrite = {.read = true, .write = true};
constexpr OpenMode kReadOnly = {};
constexpr std::byte kUntouched{0xee};

// Bytes that differ from their neighbours, from zero and from kUntouched.
std::vector<std::byte> pattern(std::size_t size, unsigned seed = 0) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(1 + (i * 7 + seed * 31) % 199);
  return bytes;
}

std::vector<std::byte> untouched(std::size_t size) { return std::vector<std::byte>(size, kUntouched); }

Transfer transfer(std::int64_t offset, std::vector<std::byte>& memory) {
  return {offset, memory.data(), static_cast<std::int64_t>(memory.size())};
}

class DeviceConformance : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "plenum_device_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  std::string path(const std::string& name = "file") const { return directory_ + "/" + name; }

  FileResult open(const std::string& path, const OpenMode& mode) const {
    const Hints hints;
    auto target = resolve(std::string(GetParam()) + ":" + path, hints);
    if (!target.ok()) return std::move(target.error());
    return target.value().device->open(target.value().path, mode, hints);
  }

  Status remove(const std::string& path) const {
    auto target = resolve(std::string(GetParam()) + ":" + path, Hints{});
    if (!target.ok()) return std::move(target.error());
    return target.value().device->remove(target.value().path);
  }

  // A new file to read and write; null, and the test fails, if there is none.
  std::unique_ptr<DeviceFile> create(const std::string& name = "file") const {
    auto file = open(path(name), kNew);
    EXPECT_TRUE(file.ok()) << file.error().detail;
    return file.ok() ? std::move(file).value() : nullptr;
  }

  bool keeps_data() const {
    const auto file = create("probe");
    return file != nullptr && file->traits().keeps_data;
  }

 private:
  std::string directory_;
};

#define PLENUM_NEEDS_DATA() \
  if (!keeps_data()) GTEST_SKIP() << "keeps no data"

std::vector<std::byte> read_back(DeviceFile& file, std::int64_t offset, std::size_t size) {
  auto memory = untouched(size);
  const Transfer one = transfer(offset, memory);
  const auto count = file.read({&one, 1});
  EXPECT_TRUE(count.ok()) << count.error().detail;
  if (count.ok()) memory.resize(static_cast<std::size_t>(count.value()));
  return memory;
}

TEST_P(DeviceConformance, traits_make_sense) {
  const auto file = create();
  ASSERT_NE(file, nullptr);
  const Traits& traits = file->traits();
  EXPECT_FALSE(traits.file_system.empty());
  EXPECT_TRUE(traits.seekable);
  EXPECT_GE(traits.preferred_unit, 1);
  EXPECT_GE(traits.stripe_unit, 0);
  EXPECT_EQ(traits.stripe_unit == 0, traits.stripe_count == 0);
}

TEST_P(DeviceConformance, what_is_written_is_read) {
  PLENUM_NEEDS_DATA();
  const auto file = create();
  auto data = pattern(100000);
  const Transfer one = transfer(0, data);
  ASSERT_TRUE(file->write({&one, 1}).ok());
  EXPECT_EQ(file->size().value(), 100000);
  EXPECT_EQ(read_back(*file, 0, 100000), data);
  EXPECT_EQ(read_back(*file, 99999, 1)[0], data[99999]);
}

TEST_P(DeviceConformance, writing_keeps_the_bytes_around) {
  PLENUM_NEEDS_DATA();
  const auto file = create();
  auto data = pattern(1000);
  auto change = pattern(10, 5);
  const Transfer all = transfer(0, data);
  const Transfer some = transfer(333, change);
  ASSERT_TRUE(file->write({&all, 1}).ok());
  ASSERT_TRUE(file->write({&some, 1}).ok());
  std::copy(change.begin(), change.end(), data.begin() + 333);
  EXPECT_EQ(read_back(*file, 0, 2000), data);
}

TEST_P(DeviceConformance, a_gap_reads_as_zeros) {
  PLENUM_NEEDS_DATA();
  const auto file = create();
  auto data = pattern(3);
  const Transfer batch[] = {transfer(5000, data), transfer(10, data)};
  ASSERT_TRUE(file->write(batch).ok());
  std::vector<std::byte> expected(5003);
  std::copy(data.begin(), data.end(), expected.begin() + 10);
  std::copy(data.begin(), data.end(), expected.begin() + 5000);
  EXPECT_EQ(read_back(*file, 0, 9999), expected);
}

TEST_P(DeviceConformance, a_read_is_short_at_the_end_of_file_and_leaves_the_rest_of_memory_alone) {
  PLENUM_NEEDS_DATA();
  const auto file = create();
  auto data = pattern(100);
  const Transfer one = transfer(0, data);
  ASSERT_TRUE(file->write({&one, 1}).ok());

  auto across = untouched(50);
  auto beyond = untouched(50);
  auto inside = untouched(50);
  const Transfer batch[] = {transfer(80, across), transfer(130, beyond), transfer(10, inside)};
  const auto count = file->read(batch);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count.value(), 20 + 0 + 50);
  EXPECT_TRUE(std::equal(across.begin(), across.begin() + 20, data.begin() + 80));
  EXPECT_EQ(std::count(across.begin() + 20, across.end(), kUntouched), 30);
  EXPECT_EQ(std::count(beyond.begin(), beyond.end(), kUntouched), 50);
  EXPECT_TRUE(std::equal(inside.begin(), inside.end(), data.begin() + 10));
}

TEST_P(DeviceConformance, neighbouring_transfers_are_short_as_a_whole_at_the_end_of_file) {
  PLENUM_NEEDS_DATA();
  const auto file = create();
  auto data = pattern(25);
  const Transfer one = transfer(0, data);
  ASSERT_TRUE(file->write({&one, 1}).ok());
  auto memory = untouched(100);
  std::vector<Transfer> batch;
  // Ten neighbours in the file, apart in memory; the third is cut.
  for (std::int64_t i = 0; i < 5; ++i) batch.push_back({i * 10, memory.data() + i * 20, 10});
  const auto count = file->read(batch);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count.value(), 25);
  for (std::size_t i = 0; i < 100; ++i) {
    const std::size_t place = i / 20 * 10 + i % 20;
    const bool read = i % 20 < 10 && place < 25;
    ASSERT_EQ(memory[i], read ? data[place] : kUntouched) << i;
  }
}

TEST_P(DeviceConformance, an_empty_file_reads_as_nothing) {
  PLENUM_NEEDS_DATA();
  const auto file = create();
  EXPECT_EQ(file->size().value(), 0);
  EXPECT_TRUE(read_back(*file, 0, 10).empty());
  EXPECT_TRUE(read_back(*file, std::int64_t{1} << 40, 10).empty());
}

TEST_P(DeviceConformance, an_empty_batch_does_nothing) {
  const auto file = create();
  ASSERT_NE(file, nullptr);
  const auto count = file->read({});
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count.value(), 0);
  EXPECT_TRUE(file->write({}).ok());
  EXPECT_EQ(file->size().value(), 0);
}

TEST_P(DeviceConformance, the_later_of_overlapping_writes_in_a_batch_wins) {
  PLENUM_NEEDS_DATA();
  const auto file = create();
  auto a = pattern(30, 1);
  auto b = pattern(30, 2);
  auto c = pattern(5, 3);
  const Transfer batch[] = {transfer(20, a), transfer(10, b), transfer(15, c), transfer(50, c), transfer(20, c)};
  ASSERT_TRUE(file->write(batch).ok());
  std::vector<std::byte> expected(55);
  for (const Transfer& one : batch) std::copy_n(one.memory, one.size, expected.begin() + one.offset);
  EXPECT_EQ(read_back(*file, 0, 100), expected);
}

TEST_P(DeviceConformance, reading_the_same_bytes_twice_in_a_batch_is_fine) {
  PLENUM_NEEDS_DATA();
  const auto file = create();
  auto data = pattern(100);
  const Transfer one = transfer(0, data);
  ASSERT_TRUE(file->write({&one, 1}).ok());
  auto first = untouched(60);
  auto second = untouched(60);
  const Transfer batch[] = {transfer(0, first), transfer(30, second)};
  EXPECT_EQ(file->read(batch).value(), 120);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), data.begin()));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), data.begin() + 30));
}

// More than a system call takes (IOV_MAX is 1024), joined in the file and scattered over it.
TEST_P(DeviceConformance, thousands_of_transfers_in_a_batch) {
  PLENUM_NEEDS_DATA();
  constexpr std::int64_t kTransfers = 5000;
  for (const std::int64_t stride : {3, 8}) {
    const auto file = create("stride" + std::to_string(stride));
    auto memory = pattern(kTransfers * 5);
    std::vector<Transfer> batch;
    std::vector<std::byte> expected(static_cast<std::size_t>((kTransfers - 1) * stride + 3));
    for (std::int64_t i = 0; i < kTransfers; ++i) {
      batch.push_back({i * stride, memory.data() + (kTransfers - 1 - i) * 5, 3});
      std::copy_n(batch.back().memory, 3, expected.begin() + i * stride);
    }
    ASSERT_TRUE(file->write(batch).ok());
    EXPECT_EQ(read_back(*file, 0, 1 << 20), expected);

    const auto original = memory;
    std::fill(memory.begin(), memory.end(), kUntouched);
    ASSERT_EQ(file->read(batch).value(), kTransfers * 3);
    for (std::size_t i = 0; i < memory.size(); ++i) ASSERT_EQ(memory[i], i % 5 < 3 ? original[i] : kUntouched) << i;
  }
}

TEST_P(DeviceConformance, a_file_is_resized_up_with_zeros_and_down) {
  const auto file = create();
  ASSERT_NE(file, nullptr);
  ASSERT_TRUE(file->resize(1000).ok());
  EXPECT_EQ(file->size().value(), 1000);
  auto data = pattern(1000);
  const Transfer one = transfer(0, data);
  ASSERT_TRUE(file->write({&one, 1}).ok());
  ASSERT_TRUE(file->resize(10).ok());
  EXPECT_EQ(file->size().value(), 10);
  ASSERT_TRUE(file->resize(20).ok());
  EXPECT_EQ(file->size().value(), 20);
  EXPECT_FALSE(file->resize(-1).ok());
  EXPECT_EQ(file->size().value(), 20);
  if (!file->traits().keeps_data) return;
  std::fill(data.begin() + 10, data.end(), std::byte{0});
  data.resize(20);
  EXPECT_EQ(read_back(*file, 0, 2000), data);
}

TEST_P(DeviceConformance, reserving_grows_a_shorter_file_and_changes_no_byte) {
  const auto file = create();
  ASSERT_NE(file, nullptr);
  auto data = pattern(100);
  const Transfer one = transfer(0, data);
  ASSERT_TRUE(file->write({&one, 1}).ok());
  ASSERT_TRUE(file->reserve(0).ok());
  ASSERT_TRUE(file->reserve(50).ok());
  EXPECT_EQ(file->size().value(), 100);
  ASSERT_TRUE(file->reserve(70000).ok());
  EXPECT_EQ(file->size().value(), 70000);
  EXPECT_FALSE(file->reserve(-1).ok());
  if (!file->traits().keeps_data) return;
  data.resize(70000);
  EXPECT_EQ(read_back(*file, 0, 80000), data);
}

TEST_P(DeviceConformance, offsets_beyond_32_bits) {
  PLENUM_NEEDS_DATA();
  const auto file = create();
  constexpr std::int64_t kFar = (std::int64_t{5} << 30) + 1;
  auto data = pattern(10);
  const Transfer batch[] = {transfer(kFar, data), transfer((std::int64_t{1} << 31) - 5, data)};
  ASSERT_TRUE(file->write(batch).ok());
  EXPECT_EQ(file->size().value(), kFar + 10);
  EXPECT_EQ(read_back(*file, kFar, 20), data);
  EXPECT_EQ(read_back(*file, (std::int64_t{1} << 31) - 5, 10), data);
  EXPECT_EQ(read_back(*file, std::int64_t{3} << 30, 10), std::vector<std::byte>(10));
  EXPECT_EQ(read_back(*file, 1, 10), std::vector<std::byte>(10)) << "the low 32 bits of the offset";
  ASSERT_TRUE(file->resize((std::int64_t{1} << 31) + 1).ok());
  EXPECT_EQ(file->size().value(), (std::int64_t{1} << 31) + 1);
}

TEST_P(DeviceConformance, two_openings_are_one_file) {
  PLENUM_NEEDS_DATA();
  const auto one = create();
  auto other = open(path(), kReadWrite);
  ASSERT_TRUE(other.ok());
  auto data = pattern(100);
  const Transfer write = transfer(7, data);
  ASSERT_TRUE(one->write({&write, 1}).ok());
  ASSERT_TRUE(one->sync().ok());
  EXPECT_EQ(other.value()->size().value(), 107);
  EXPECT_EQ(read_back(*other.value(), 7, 100), data);
}

TEST_P(DeviceConformance, data_stays_after_closing) {
  PLENUM_NEEDS_DATA();
  auto data = pattern(1000);
  {
    auto file = create();
    const Transfer one = transfer(0, data);
    ASSERT_TRUE(file->write({&one, 1}).ok());
    ASSERT_TRUE(file->sync().ok());
    ASSERT_TRUE(file->close().ok());
  }
  auto file = open(path(), kReadOnly);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(read_back(*file.value(), 0, 1000), data);
}

TEST_P(DeviceConformance, opening_to_create_leaves_an_existing_file_as_it_is) {
  PLENUM_NEEDS_DATA();
  auto data = pattern(10);
  const Transfer one = transfer(0, data);
  ASSERT_TRUE(create()->write({&one, 1}).ok());
  EXPECT_EQ(read_back(*create(), 0, 100), data);
}

TEST_P(DeviceConformance, exclusive_creation_fails_where_a_file_is) {
  PLENUM_NEEDS_DATA();
  auto mode = kNew;
  mode.exclusive = true;
  ASSERT_TRUE(open(path(), mode).ok());
  const auto again = open(path(), mode);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::Exists);
}

TEST_P(DeviceConformance, a_missing_file_or_directory_is_not_found_and_not_made) {
  PLENUM_NEEDS_DATA();
  for (const auto& mode : {kReadOnly, kReadWrite}) {
    const auto file = open(path("missing"), mode);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code, Code::NotFound);
    EXPECT_NE(file.error().detail.find(path("missing")), std::string::npos) << file.error().detail;
  }
  const auto file = open(path("no/such/directory"), kNew);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::NotFound);
  EXPECT_FALSE(open(path("missing"), kReadOnly).ok());
}

TEST_P(DeviceConformance, a_directory_is_no_file) {
  PLENUM_NEEDS_DATA();
  std::filesystem::create_directory(path("directory"));
  for (const auto& mode : {kReadOnly, kReadWrite, kNew}) {
    const auto file = open(path("directory"), mode);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code, Code::IsDirectory) << file.error().detail;
  }
  EXPECT_FALSE(remove(path("directory")).ok());
}

TEST_P(DeviceConformance, a_file_without_permission_is_not_opened) {
  PLENUM_NEEDS_DATA();
  if (geteuid() == 0) GTEST_SKIP() << "everything is permitted to root";
  ASSERT_NE(create(), nullptr);
  chmod(path().c_str(), 0400);
  const auto file = open(path(), kReadWrite);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::Access);
}

TEST_P(DeviceConformance, a_file_opened_for_reading_cannot_be_changed) {
  PLENUM_NEEDS_DATA();
  auto data = pattern(10);
  const Transfer one = transfer(0, data);
  ASSERT_TRUE(create()->write({&one, 1}).ok());
  auto file = open(path(), kReadOnly);
  ASSERT_TRUE(file.ok());
  auto other = pattern(20, 9);
  const Transfer change = transfer(0, other);
  EXPECT_FALSE(file.value()->write({&change, 1}).ok());
  EXPECT_FALSE(file.value()->resize(5).ok());
  EXPECT_FALSE(file.value()->reserve(50).ok());
  EXPECT_EQ(read_back(*file.value(), 0, 100), data);
}

TEST_P(DeviceConformance, a_removed_file_is_gone) {
  PLENUM_NEEDS_DATA();
  ASSERT_NE(create(), nullptr);
  ASSERT_TRUE(remove(path()).ok());
  EXPECT_FALSE(open(path(), kReadOnly).ok());
  const auto again = remove(path());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::NotFound);
  EXPECT_NE(again.error().detail.find(path()), std::string::npos) << again.error().detail;
}

TEST_P(DeviceConformance, syncing_and_closing_succeed) {
  auto file = create();
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(file->sync().ok());
  EXPECT_TRUE(file->close().ok());
}

// ---- Locks

class DeviceLocks : public DeviceConformance {
 protected:
  void SetUp() override {
    DeviceConformance::SetUp();
    one_ = create();
    auto other = open(path(), kReadWrite);
    ASSERT_TRUE(other.ok());
    other_ = std::move(other).value();
    if (!one_->traits().byte_range_locks) GTEST_SKIP() << "has no locks";
  }

  // Tries to lock through the other opening; the future is ready once it has the lock.
  std::future<bool> lock_elsewhere(ByteRange range, Sharing sharing) {
    return std::async(std::launch::async, [this, range, sharing] { return other_->lock(range, sharing).ok(); });
  }
  static bool ready(const std::future<bool>& future, int milliseconds) {
    return future.wait_for(std::chrono::milliseconds(milliseconds)) == std::future_status::ready;
  }

  std::unique_ptr<DeviceFile> one_;
  std::unique_ptr<DeviceFile> other_;
};

TEST_P(DeviceLocks, an_exclusive_lock_keeps_another_opening_waiting_until_it_is_destroyed) {
  for (const auto sharing : {Sharing::exclusive, Sharing::shared}) {
    std::optional<Result<RangeLock>> lock = one_->lock({100, 200}, Sharing::exclusive);
    ASSERT_TRUE(lock->ok()) << lock->error().detail;
    auto waiting = lock_elsewhere({199, 300}, sharing);
    EXPECT_FALSE(ready(waiting, 50));
    lock.reset();
    ASSERT_TRUE(ready(waiting, 10000));
    EXPECT_TRUE(waiting.get());
  }
}

TEST_P(DeviceLocks, ranges_that_do_not_overlap_do_not_wait) {
  const auto lock = one_->lock({100, 200}, Sharing::exclusive);
  ASSERT_TRUE(lock.ok());
  auto before = lock_elsewhere({0, 100}, Sharing::exclusive);
  EXPECT_TRUE(ready(before, 10000));
  auto after = lock_elsewhere({200, 300}, Sharing::exclusive);
  EXPECT_TRUE(ready(after, 10000));
}

TEST_P(DeviceLocks, shared_locks_of_two_openings_do_not_exclude_each_other) {
  const auto lock = one_->lock({0, 100}, Sharing::shared);
  ASSERT_TRUE(lock.ok());
  auto reader = lock_elsewhere({0, 100}, Sharing::shared);
  EXPECT_TRUE(ready(reader, 10000));
}

TEST_P(DeviceLocks, a_moved_lock_is_held_until_the_last_owner_is_gone) {
  auto taken = one_->lock({0, 10}, Sharing::exclusive);
  ASSERT_TRUE(taken.ok());
  std::optional<RangeLock> owner(std::move(taken).value());
  auto waiting = lock_elsewhere({0, 10}, Sharing::exclusive);
  EXPECT_FALSE(ready(waiting, 50));
  owner.reset();
  EXPECT_TRUE(ready(waiting, 10000));
}

TEST_P(DeviceLocks, read_modify_write_under_locks_loses_no_update) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      DeviceFile& file = t % 2 == 0 ? *one_ : *other_;
      for (int i = 0; i < kRounds; ++i) {
        const auto lock = file.lock({0, 8}, Sharing::exclusive);
        ASSERT_TRUE(lock.ok());
        std::int64_t value = 0;
        const Transfer word = {0, reinterpret_cast<std::byte*>(&value), 8};
        ASSERT_TRUE(file.read({&word, 1}).ok());
        ++value;
        ASSERT_TRUE(file.write({&word, 1}).ok());
        if (!file.traits().shared_between_nodes) {
          ASSERT_TRUE(file.sync().ok());
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::int64_t value = 0;
  const Transfer word = {0, reinterpret_cast<std::byte*>(&value), 8};
  ASSERT_TRUE(one_->read({&word, 1}).ok());
  EXPECT_EQ(value, kThreads * kRounds);
}

// ---- Against an oracle

// A file as a vector of bytes.
class Oracle {
 public:
  void write(Transfers transfers) {
    for (const Transfer& one : transfers) {
      const auto end = static_cast<std::size_t>(one.offset + one.size);
      if (bytes_.size() < end) bytes_.resize(end);
      std::copy_n(one.memory, one.size, bytes_.begin() + one.offset);
    }
  }
  std::int64_t read(Transfers transfers) const {
    std::int64_t total = 0;
    for (const Transfer& one : transfers) {
      const std::int64_t count = std::clamp<std::int64_t>(size() - one.offset, 0, one.size);
      if (count > 0) std::copy_n(bytes_.begin() + one.offset, count, one.memory);
      total += count;
    }
    return total;
  }
  void resize(std::int64_t size) { bytes_.resize(static_cast<std::size_t>(size)); }
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class RandomBatches {
 public:
  explicit RandomBatches(unsigned seed) : random_(seed) {}

  std::int64_t number(std::int64_t from, std::int64_t to) { return std::uniform_int_distribution(from, to)(random_); }

  // Transfers at any places of a file, neighbouring or nearly so half of the time, that lie one behind the other in
  // memory, with gaps there half of the time.
  std::vector<Transfer> batch(std::vector<std::byte>& memory) {
    std::vector<Transfer> transfers;
    std::int64_t used = 0;
    std::int64_t end = 0;
    for (std::int64_t left = number(1, 30); left > 0; --left) {
      const std::int64_t size = number(0, 3) == 0 ? number(1, 2000) : number(1, 20);
      const bool near = number(0, 1) == 0;
      const std::int64_t offset =
          near ? std::max<std::int64_t>(end + number(-1, 1) * number(0, 1), 0) : number(0, 20000);
      used += number(0, 1) * number(0, 5);
      if (used + size > static_cast<std::int64_t>(memory.size())) break;
      transfers.push_back({offset, memory.data() + used, size});
      used += size;
      end = offset + size;
    }
    return transfers;
  }

 private:
  std::mt19937 random_;
};

TEST_P(DeviceConformance, random_batches_leave_what_the_oracle_says) {
  PLENUM_NEEDS_DATA();
  RandomBatches random(20240229);
  const auto file = create();
  Oracle oracle;
  auto memory = pattern(70000);
  for (unsigned round = 0; round < 600; ++round) {
    SCOPED_TRACE(round);
    if (random.number(0, 19) == 0) {
      const std::int64_t size = random.number(0, 22000);
      ASSERT_TRUE(file->resize(size).ok());
      oracle.resize(size);
    }
    if (random.number(0, 1) == 0) {
      memory = pattern(memory.size(), round);
      const auto batch = random.batch(memory);
      ASSERT_TRUE(file->write(batch).ok());
      oracle.write(batch);
    } else {
      std::fill(memory.begin(), memory.end(), kUntouched);
      const auto batch = random.batch(memory);
      const auto count = file->read(batch);
      ASSERT_TRUE(count.ok());
      const auto result = memory;
      std::fill(memory.begin(), memory.end(), kUntouched);
      ASSERT_EQ(count.value(), oracle.read(batch));
      ASSERT_EQ(result, memory);
    }
    ASSERT_EQ(file->size().value(), oracle.size());
  }
  EXPECT_EQ(read_back(*file, 0, 100000), oracle.bytes());
}

TEST_P(DeviceConformance, threads_may_use_one_file_at_once) {
  PLENUM_NEEDS_DATA();
  constexpr std::int64_t kThreads = 4;
  constexpr std::int64_t kBlocks = 200;
  constexpr std::int64_t kBlock = 37;
  const auto file = create();
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&file, t] {
      auto data = pattern(kBlocks * kBlock, static_cast<unsigned>(t));
      std::vector<Transfer> batch;
      for (std::int64_t i = 0; i < kBlocks; ++i) {
        batch.push_back({(i * kThreads + t) * kBlock, data.data() + i * kBlock, kBlock});
      }
      for (std::size_t i = 0; i < batch.size(); i += 10) EXPECT_TRUE(file->write(Transfers(batch).subspan(i, 10)).ok());
      const auto written = data;
      std::fill(data.begin(), data.end(), kUntouched);
      const auto count = file->read(batch);
      ASSERT_TRUE(count.ok());
      EXPECT_EQ(count.value(), kBlocks * kBlock);
      EXPECT_EQ(data, written);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(file->size().value(), kThreads * kBlocks * kBlock);
}

std::string test_name(const testing::TestParamInfo<std::string_view>& info) { return std::string(info.param); }

INSTANTIATE_TEST_SUITE_P(Devices, DeviceConformance, testing::ValuesIn(device_names()), test_name);
INSTANTIATE_TEST_SUITE_P(Devices, DeviceLocks, testing::ValuesIn(device_names()), test_name);

}  // namespace
}  // namespace plenum
