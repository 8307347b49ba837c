// SPDX-License-Identifier: BSD-3-Clause
//
// The null device: writes vanish, reads find zeros. What a program then still costs is its own work and Plenum's.
//
// There are no files: any name can be opened in any mode, and nothing outlives an opening or is known to another
// process. A read is therefore never short, wherever it lies: a program that reads what it, or another rank, wrote gets
// its full counts, as on a real device, and zeros. The size is the end of what was written or set through this opening,
// so without communication each rank sees the size its own writes would have made.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "device/device.hpp"

namespace plenum {
namespace {

Traits null_traits() {
  Traits traits;
  traits.file_system = "null";
  traits.shared_between_nodes = true;  // all see the same zeros, at all times
  traits.keeps_data = false;
  return traits;
}

class NullFile final : public DeviceFile {
 public:
  const Traits& traits() const override { return traits_; }

  Result<std::int64_t> read(Transfers transfers) override {
    std::int64_t total = 0;
    for (const Transfer& one : transfers) {
      std::memset(one.memory, 0, static_cast<std::size_t>(one.size));
      total += one.size;
    }
    return total;
  }

  Status write(Transfers transfers) override {
    std::int64_t end = 0;
    for (const Transfer& one : transfers) end = std::max(end, one.offset + one.size);
    grow(end);
    return {};
  }

  Result<std::int64_t> size() override { return size_.load(); }

  Status resize(std::int64_t size) override {
    if (size < 0) return Error{Code::Argument, "a file cannot have " + std::to_string(size) + " bytes"};
    size_ = size;
    return {};
  }

  Status reserve(std::int64_t size) override {
    if (size < 0) return Error{Code::Argument, "a file cannot have " + std::to_string(size) + " bytes"};
    grow(size);
    return {};
  }

  Status sync() override { return {}; }

 private:
  void grow(std::int64_t end) {
    std::int64_t now = size_.load(std::memory_order_relaxed);
    while (now < end && !size_.compare_exchange_weak(now, end)) {
    }
  }

  const Traits traits_ = null_traits();
  std::atomic<std::int64_t> size_ = 0;
};

class NullDevice final : public Device {
 public:
  std::string_view name() const override { return "null"; }

  Result<std::unique_ptr<DeviceFile>> open(const std::string&, const OpenMode&, const Hints&) override {
    return std::make_unique<NullFile>();
  }

  Status remove(const std::string&) override { return {}; }
};

}  // namespace

std::unique_ptr<Device> make_null_device();
std::unique_ptr<Device> make_null_device() { return std::make_unique<NullDevice>(); }

}  // namespace plenum
