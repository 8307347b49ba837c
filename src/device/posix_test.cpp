// SPDX-License-Identifier: BSD-3-Clause
//
// What is peculiar to the posix device; the rest is in the conformance suite.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "device/device.hpp"

namespace plenum {
namespace {

using OpenResult = Result<std::unique_ptr<DeviceFile>>;

OpenResult open_posix(const std::string& path, const OpenMode& mode) {
  auto target = resolve("posix:" + path, Hints{});
  if (!target.ok()) return std::move(target.error());
  return target.value().device->open(target.value().path, mode, Hints{});
}

constexpr OpenMode kNew = {.read = true, .write = true, .create = true};
constexpr OpenMode kReadWrite = {.read = true, .write = true};

class Posix : public testing::Test {
 protected:
  Posix() {
    std::string name = std::filesystem::temp_directory_path() / "plenum_posix_XXXXXX";
    directory_ = mkdtemp(name.data()) != nullptr ? name : std::string();
  }
  ~Posix() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }

 private:
  std::string directory_;
};

Status write_one(DeviceFile& file, std::int64_t offset, std::string text) {
  const Transfer one = {offset, reinterpret_cast<std::byte*>(text.data()), static_cast<std::int64_t>(text.size())};
  return file.write({&one, 1});
}

Result<std::string> read_one(DeviceFile& file, std::int64_t offset, std::size_t size) {
  std::string text(size, '?');
  const Transfer one = {offset, reinterpret_cast<std::byte*>(text.data()), static_cast<std::int64_t>(size)};
  const auto count = file.read({&one, 1});
  if (!count.ok()) return count.error();
  return text.substr(0, static_cast<std::size_t>(count.value()));
}

TEST_F(Posix, the_file_is_an_ordinary_one) {
  auto file = open_posix(path("f"), kNew);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(write_one(*file.value(), 3, "abc").ok());
  ASSERT_TRUE(file.value()->close().ok());
  std::ifstream in(path("f"), std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(all, std::string("\0\0\0abc", 6));
}

TEST_F(Posix, opening_names_the_call_and_the_path) {
  const auto missing = open_posix(path("no/such"), OpenMode{});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::NotFound);
  EXPECT_NE(missing.error().detail.find("open " + path("no/such")), std::string::npos) << missing.error().detail;

  const auto neither = open_posix(path("f"), OpenMode{.read = false, .write = false});
  ASSERT_FALSE(neither.ok());
  EXPECT_EQ(neither.error().code, Code::BadMode);
  EXPECT_FALSE(std::filesystem::exists(path("f")));
}

TEST_F(Posix, nothing_is_truncated_by_opening) {
  std::ofstream(path("f")) << "0123456789";
  auto file = open_posix(path("f"), kNew);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file.value()->size().value(), 10);
}

TEST_F(Posix, permissions_are_those_asked_for_less_the_umask) {
  const mode_t before = umask(027);
  auto mode = kNew;
  mode.permissions = 0666;
  EXPECT_TRUE(open_posix(path("f"), mode).ok());
  umask(before);
  struct stat status = {};
  ASSERT_EQ(stat(path("f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
}

TEST_F(Posix, transfers_name_the_call_the_place_and_the_size) {
  std::ofstream(path("f")) << "0123456789";
  auto file = open_posix(path("f"), OpenMode{});
  ASSERT_TRUE(file.ok());
  const auto status = write_one(*file.value(), 4096, "abc");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::BadHandle);
  EXPECT_NE(status.error().detail.find("pwrite of 3 bytes at byte 4096"), std::string::npos) << status.error().detail;
  for (const Status& refused : {file.value()->resize(3), file.value()->reserve(30)}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::BadHandle) << refused.error().detail;
  }
  EXPECT_EQ(file.value()->size().value(), 10);
}

TEST_F(Posix, a_full_device_is_an_error_of_that_name) {
  auto file = open_posix("/dev/full", kReadWrite);
  ASSERT_TRUE(file.ok()) << file.error().detail;
  const auto status = write_one(*file.value(), 0, "abc");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::NoSpace);
}

// The system moves at most 2^31 - 4096 bytes in one call.
TEST_F(Posix, transfers_beyond_two_gigabytes_are_continued) {
  constexpr std::size_t kWindow = std::size_t{16} << 20;
  constexpr std::size_t kSize = (std::size_t{1} << 31) + 3 * kWindow;
  // The same memory over and over again, but for the last window: nothing to be afraid of on a small machine.
  const int shared = memfd_create("window", MFD_CLOEXEC);
  ASSERT_GE(shared, 0);
  ASSERT_EQ(ftruncate(shared, kWindow), 0);
  void* const address =
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(address, MAP_FAILED);
  auto* const memory = static_cast<std::byte*>(address);
  for (std::size_t at = 0; at + kWindow < kSize; at += kWindow) {
    ASSERT_NE(mmap(memory + at, kWindow, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, shared, 0), MAP_FAILED);
  }
  std::fill_n(memory + kSize - kWindow, kWindow, std::byte{7});

  auto zeros = open_posix("/dev/zero", kReadWrite);
  ASSERT_TRUE(zeros.ok());
  const Transfer one = {0, memory, static_cast<std::int64_t>(kSize)};
  const auto count = zeros.value()->read({&one, 1});
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count.value(), one.size);
  EXPECT_EQ(std::count(memory + kSize - kWindow, memory + kSize, std::byte{0}), std::ptrdiff_t{kWindow});
  EXPECT_TRUE(zeros.value()->write({&one, 1}).ok());
  munmap(address, kSize);
  close(shared);
}

TEST_F(Posix, neighbours_in_memory_and_file_need_not_be_in_order) {
  auto file = open_posix(path("f"), kNew);
  ASSERT_TRUE(file.ok());
  std::string text = "abcdefghij";
  auto* const memory = reinterpret_cast<std::byte*>(text.data());
  // Joined in both, joined in the file only, joined in memory only.
  const Transfer batch[] = {
      {10, memory, 2}, {12, memory + 2, 2}, {14, memory + 8, 2}, {0, memory + 4, 2}, {5, memory + 6, 2}};
  ASSERT_TRUE(file.value()->write(batch).ok());
  EXPECT_EQ(read_one(*file.value(), 0, 99).value(), std::string("ef\0\0\0gh\0\0\0abcdij", 16));
}

TEST_F(Posix, reserving_never_shrinks_and_takes_space) {
  auto file = open_posix(path("f"), kNew);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(write_one(*file.value(), 0, "0123456789").ok());
  ASSERT_TRUE(file.value()->reserve(5).ok());
  EXPECT_EQ(file.value()->size().value(), 10);
  ASSERT_TRUE(file.value()->reserve(1 << 20).ok());
  EXPECT_EQ(file.value()->size().value(), 1 << 20);
  struct stat status = {};
  ASSERT_EQ(stat(path("f").c_str(), &status), 0);
  EXPECT_GE(std::int64_t{status.st_blocks} * 512, 1 << 20);
  EXPECT_EQ(read_one(*file.value(), 0, 12).value(), std::string("0123456789\0\0", 12));
  const auto negative = file.value()->reserve(-1);
  ASSERT_FALSE(negative.ok());
  EXPECT_EQ(negative.error().code, Code::Argument);
}

TEST_F(Posix, a_pipe_takes_bytes_in_order_only) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  auto pipe = open_posix(path("pipe"), kReadWrite);
  ASSERT_TRUE(pipe.ok()) << pipe.error().detail;
  EXPECT_FALSE(pipe.value()->traits().seekable);
  EXPECT_FALSE(pipe.value()->traits().byte_range_locks);
  EXPECT_TRUE(write_one(*pipe.value(), 0, "abc").ok());
  EXPECT_TRUE(write_one(*pipe.value(), 3, "de").ok());
  const auto jump = write_one(*pipe.value(), 9, "x");
  ASSERT_FALSE(jump.ok());
  EXPECT_EQ(jump.error().code, Code::Unsupported);
  EXPECT_EQ(read_one(*pipe.value(), 0, 5).value(), "abcde");
  EXPECT_TRUE(pipe.value()->sync().ok());
  EXPECT_FALSE(pipe.value()->resize(0).ok());
}

// A read that waits when the signal comes: the system call is interrupted before it has moved anything.
TEST_F(Posix, interrupted_calls_are_continued) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  static std::atomic<int> signals;
  signals = 0;
  struct sigaction action = {};
  action.sa_handler = [](int) { ++signals; };  // without SA_RESTART
  struct sigaction before = {};
  sigaction(SIGUSR1, &action, &before);
  auto pipe = open_posix(path("pipe"), kReadWrite);
  ASSERT_TRUE(pipe.ok());
  const pthread_t reader = pthread_self();
  std::thread helper([&] {
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      pthread_kill(reader, SIGUSR1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(write_one(*pipe.value(), 0, "ab").ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(write_one(*pipe.value(), 2, "c").ok());
  });
  const auto text = read_one(*pipe.value(), 0, 3);
  helper.join();
  sigaction(SIGUSR1, &before, nullptr);
  ASSERT_TRUE(text.ok()) << text.error().detail;
  EXPECT_EQ(text.value(), "abc");
  EXPECT_EQ(signals, 3);
}

TEST_F(Posix, a_local_file_says_what_it_is_on) {
  auto file = open_posix(path("f"), kNew);
  ASSERT_TRUE(file.ok());
  const Traits& traits = file.value()->traits();
  EXPECT_TRUE(traits.seekable);
  EXPECT_TRUE(traits.keeps_data);
  EXPECT_GE(traits.preferred_unit, 512);
  EXPECT_FALSE(traits.file_system.empty());
}

TEST_F(Posix, tmpfs_is_local_and_has_locks) {
  const std::string name = "/dev/shm/plenum_posix_test_" + std::to_string(getpid());
  auto file = open_posix(name, kNew);
  if (!file.ok()) GTEST_SKIP() << file.error().detail;
  std::filesystem::remove(name);
  EXPECT_EQ(file.value()->traits().file_system, "tmpfs");
  EXPECT_FALSE(file.value()->traits().shared_between_nodes);
  EXPECT_TRUE(file.value()->traits().byte_range_locks);
}

TEST_F(Posix, locks_exclude_other_processes) {
  auto file = open_posix(path("f"), kNew);
  ASSERT_TRUE(file.ok());
  if (!file.value()->traits().byte_range_locks) GTEST_SKIP() << "no locks on " << file.value()->traits().file_system;
  const auto probe = [&](off_t begin, off_t size) {
    const pid_t child = fork();
    if (child == 0) {
      const int fd = ::open(path("f").c_str(), O_RDWR);
      struct flock lock = {};
      lock.l_type = F_WRLCK;
      lock.l_start = begin;
      lock.l_len = size;
      _exit(fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  {
    const auto lock = file.value()->lock({100, 200}, Sharing::exclusive);
    ASSERT_TRUE(lock.ok()) << lock.error().detail;
    EXPECT_FALSE(probe(0, 101));
    EXPECT_FALSE(probe(199, 1));
    EXPECT_TRUE(probe(0, 100));
    EXPECT_TRUE(probe(200, 0));
  }
  EXPECT_TRUE(probe(0, 0));
}

TEST_F(Posix, an_empty_range_locks_nothing) {
  auto one = open_posix(path("f"), kNew);
  auto other = open_posix(path("f"), kReadWrite);
  ASSERT_TRUE(one.ok() && other.ok());
  if (!one.value()->traits().byte_range_locks) GTEST_SKIP();
  const auto empty = one.value()->lock({50, 50}, Sharing::exclusive);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(other.value()->lock({0, 100}, Sharing::exclusive).ok());
}

// To the system all threads of an opening are one owner: it would let both in, and unlock for both.
TEST_F(Posix, locks_exclude_other_threads_that_use_the_same_file) {
  auto file = open_posix(path("f"), kNew);
  ASSERT_TRUE(file.ok());
  if (!file.value()->traits().byte_range_locks) GTEST_SKIP();
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto lock = file.value()->lock({t * 10, 100}, t % 2 == 0 ? Sharing::shared : Sharing::exclusive);
        ASSERT_TRUE(lock.ok());
        const int now = ++inside;
        if (now > most) most = now;
        std::this_thread::yield();
        --inside;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST_F(Posix, an_exclusive_lock_needs_a_file_opened_for_writing) {
  std::ofstream(path("f")) << "x";
  auto file = open_posix(path("f"), OpenMode{});
  ASSERT_TRUE(file.ok());
  if (!file.value()->traits().byte_range_locks) GTEST_SKIP();
  EXPECT_TRUE(file.value()->lock({0, 1}, Sharing::shared).ok());
  EXPECT_FALSE(file.value()->lock({0, 1}, Sharing::exclusive).ok());
  EXPECT_TRUE(file.value()->lock({0, 1}, Sharing::shared).ok()) << "the failed one is not held";
}

TEST_F(Posix, descriptors_are_closed_and_not_inherited) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = descriptors();
  for (int i = 0; i < 10; ++i) {
    auto file = open_posix(path("f"), kNew);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(descriptors(), before + 1);
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (std::filesystem::read_symlink(entry.path(), gone) != path("f")) continue;
      EXPECT_NE(fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC, 0);
    }
    if (i % 2 == 0) {
      EXPECT_TRUE(file.value()->close().ok());
    }
    EXPECT_FALSE(open_posix(path("."), OpenMode{}).ok());
  }
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace plenum
