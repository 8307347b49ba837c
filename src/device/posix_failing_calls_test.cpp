// SPDX-License-Identifier: BSD-3-Clause
//
// What the system is allowed to do and a sound disk never does. This program's own pwrite, which its libraries use too,
// stores nothing or fails half way when told to.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "device/device.hpp"

namespace {

enum class Disk { sound, stores_nothing, fills_up };
Disk disk = Disk::sound;

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* memory, size_t size,
                                                                 off_t offset) {
  constexpr off_t kRoom = 100;
  if (disk == Disk::stores_nothing) return 0;
  if (disk == Disk::fills_up) {
    if (offset >= kRoom) {
      errno = ENOSPC;
      return -1;
    }
    size = std::min(size, static_cast<size_t>(kRoom - offset));
  }
  return syscall(SYS_pwrite64, fd, memory, size, offset);
}

namespace plenum {
namespace {

class FailingCalls : public testing::Test {
 protected:
  FailingCalls() {
    std::string name = std::filesystem::temp_directory_path() / "plenum_calls_XXXXXX";
    directory_ = mkdtemp(name.data()) != nullptr ? name : std::string();
    auto opened = resolve("posix:" + directory_ + "/f", Hints{})
                      .value()
                      .device->open(directory_ + "/f", OpenMode{.read = true, .write = true, .create = true}, Hints{});
    if (opened.ok()) file_ = std::move(opened).value();
  }
  ~FailingCalls() override {
    disk = Disk::sound;
    std::filesystem::remove_all(directory_);
  }

  Status write(std::int64_t size) {
    std::vector<std::byte> memory(static_cast<std::size_t>(size), std::byte{7});
    const Transfer one = {0, memory.data(), size};
    return file_->write({&one, 1});
  }

  std::string directory_;
  std::unique_ptr<DeviceFile> file_;
};

TEST_F(FailingCalls, a_write_that_stores_nothing_is_an_error_and_not_tried_forever) {
  ASSERT_NE(file_, nullptr);
  ASSERT_TRUE(write(10).ok());
  disk = Disk::stores_nothing;
  const Status status = write(10);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::Io);
  EXPECT_NE(status.error().detail.find("pwrite of 10 bytes at byte 0"), std::string::npos) << status.error().detail;
}

TEST_F(FailingCalls, a_disk_that_fills_up_during_a_write_is_reported_with_the_place) {
  ASSERT_NE(file_, nullptr);
  disk = Disk::fills_up;
  ASSERT_TRUE(write(100).ok());
  const Status status = write(150);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::NoSpace);
  EXPECT_NE(status.error().detail.find("pwrite of 50 bytes at byte 100"), std::string::npos) << status.error().detail;
  EXPECT_EQ(file_->size().value(), 100);
}

}  // namespace
}  // namespace plenum
