// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/device.hpp"

namespace plenum::test {

// The bytes of a file in memory. Several ranks that are threads open it at once, each with a MemoryFile of its own.
class MemoryStore {
 public:
  explicit MemoryStore(std::vector<std::byte> content = {}) : bytes_(std::move(content)) {}

  // What it holds now.
  std::vector<std::byte> bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

  std::int64_t read(Transfers transfers) const {
    const std::lock_guard lock(mutex_);
    std::int64_t total = 0;
    for (const Transfer& one : transfers) {
      const std::int64_t got = std::clamp<std::int64_t>(size() - one.offset, 0, one.size);
      if (got > 0) std::copy_n(bytes_.begin() + one.offset, got, one.memory);
      total += got;
    }
    return total;
  }

  void write(Transfers transfers) {
    const std::lock_guard lock(mutex_);
    for (const Transfer& one : transfers) {
      if (one.offset + one.size > size()) bytes_.resize(static_cast<std::size_t>(one.offset + one.size));
      std::copy_n(one.memory, one.size, bytes_.begin() + one.offset);
    }
  }

  void resize(std::int64_t size) {
    const std::lock_guard lock(mutex_);
    bytes_.resize(static_cast<std::size_t>(size));
  }

  std::int64_t locked_size() const {
    const std::lock_guard lock(mutex_);
    return size();
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

  mutable std::mutex mutex_;
  std::vector<std::byte> bytes_;
};

// A device file of any traits on a MemoryStore, which must outlive it.
class MemoryFile final : public DeviceFile {
 public:
  MemoryFile(MemoryStore& store, Traits traits) : store_(store), traits_(std::move(traits)) {}

  const Traits& traits() const override { return traits_; }
  Result<std::int64_t> read(Transfers transfers) override { return store_.read(transfers); }
  Status write(Transfers transfers) override {
    store_.write(transfers);
    return {};
  }
  Result<std::int64_t> size() override { return store_.locked_size(); }
  Status resize(std::int64_t size) override {
    store_.resize(size);
    return {};
  }
  Status reserve(std::int64_t size) override {
    if (store_.locked_size() < size) store_.resize(size);
    return {};
  }
  Status sync() override { return {}; }

 private:
  MemoryStore& store_;
  Traits traits_;
};

}  // namespace plenum::test
