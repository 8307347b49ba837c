// SPDX-License-Identifier: BSD-3-Clause
//
// A device is a storage system; a device file is one file opened on it by one process. Devices know nothing of ranks,
// groups or datatypes. To add one: src/device/NAME.cpp with `std::unique_ptr<Device> make_NAME_device()`, and one line
// `plenum_add_device(NAME)` in src/device/CMakeLists.txt; the conformance suite then covers it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_range.hpp"
#include "base/hints.hpp"
#include "base/result.hpp"

namespace plenum {

// One contiguous transfer: `size` bytes at file offset `offset` belong at `memory`. A write only reads from `memory`.
struct Transfer {
  // Not initialised: batches are arrays on the stack, and clearing one costs more than a small transfer.
  std::int64_t offset;  // [bytes], >= 0
  std::byte* memory;
  std::int64_t size;  // [bytes], > 0
};
using Transfers = std::span<const Transfer>;

// What a device file promises. A promise that is absent is never used, so a new one cannot break an old device.
struct Traits {
  std::string file_system;             // what the storage calls itself: "ext4", "nfs", "lustre", "null"
  bool byte_range_locks = false;       // lock() excludes every other opening of the file, other processes' included
  bool shared_between_nodes = false;   // a write is seen by processes of other nodes without sync()
  bool seekable = true;                // false: a pipe or terminal; bytes must arrive in order, from one process
  bool keeps_data = true;              // false: what is written is forgotten; reads find zeros without end (null)
  std::int64_t preferred_unit = 4096;  // [bytes, >= 1] alignment that avoids conflicts between writers
  std::int64_t stripe_unit = 0;        // [bytes] 0: not striped
  std::int64_t stripe_count = 0;       // 0: not striped
};

// Holds a byte range until destroyed, on every way out of a scope.
class [[nodiscard]] RangeLock {
 public:
  explicit RangeLock(std::function<void()> unlock) : unlock_(std::move(unlock)) {}
  RangeLock(RangeLock&& other) noexcept : unlock_(std::exchange(other.unlock_, nullptr)) {}
  RangeLock& operator=(RangeLock&& other) noexcept {
    std::swap(unlock_, other.unlock_);
    return *this;
  }
  ~RangeLock() {
    if (unlock_) unlock_();
  }

 private:
  std::function<void()> unlock_;
};

enum class Sharing { shared, exclusive };

// How a file is opened. `create` without `exclusive` opens an existing file as it is; nothing here truncates.
struct OpenMode {
  bool read = true;
  bool write = false;
  bool create = false;
  bool exclusive = false;       // with create: fail with Exists if there is one
  unsigned permissions = 0666;  // of a file that is created, before the umask
};

// One file opened by one process.
//
// Thread safety: calls from several threads are allowed at once. Overlapping writes leave either one's bytes.
// Ownership: closing is the destructor; call sync() or close() first if the outcome matters.
class DeviceFile {
 public:
  virtual ~DeviceFile() = default;

  virtual const Traits& traits() const = 0;

  // Fills each transfer, in any order. Returns the bytes read, in all: each transfer is short only where the file ends,
  // and memory beyond that point keeps its value. Interrupted and short system calls are continued here.
  virtual Result<std::int64_t> read(Transfers transfers) = 0;

  // Stores every transfer, growing the file if needed; a gap reads as zeros. Bytes outside the transfers keep their
  // value. On error some of the transfers may have been stored. Where transfers overlap, the later one wins.
  virtual Status write(Transfers transfers) = 0;

  virtual Result<std::int64_t> size() = 0;        // [bytes]
  virtual Status resize(std::int64_t size) = 0;   // grown bytes read as zeros
  virtual Status reserve(std::int64_t size) = 0;  // space for the first `size` bytes; grows a shorter file to it
  virtual Status sync() = 0;                      // what has been written is durable

  // Reports what only closing reveals (NFS, quotas). The file must not be used after.
  virtual Status close() { return {}; }

  // Waits until nobody else holds a conflicting lock in `range`: no other opening, and no other call on this file, for
  // which even shared locks conflict. So hold one lock of a file at a time per thread, and none longer than the file.
  // Only where traits().byte_range_locks; an exclusive one needs a file opened for writing.
  virtual Result<RangeLock> lock(ByteRange range, Sharing sharing);
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;

  // Opens `path` (without prefix). Errors name the call and the path.
  virtual Result<std::unique_ptr<DeviceFile>> open(const std::string& path, const OpenMode& mode,
                                                   const Hints& hints) = 0;

  virtual Status remove(const std::string& path) = 0;

  // A device that changes another one's behaviour (faulty) returns its own wrapping of `below`; others return null.
  virtual std::unique_ptr<Device> over(std::unique_ptr<Device> below) const;
};

// A file name taken apart: the device to open it on, and what that device calls it.
struct Target {
  std::unique_ptr<Device> device;
  std::string path;
};

// The device for `name`: by its prefix ("posix:/a", "faulty:posix:/a"), else by the hint plenum_device, else posix.
// ROMIO's prefixes of mounted file systems (ufs: nfs: xfs: lustre: ...) mean posix. A prefix is two or more of
// [a-z0-9_] before a colon, at the very beginning, and is matched exactly; an unknown one is BadName (write "./ab:c"
// for a file that is called "ab:c"). The hint is written as the prefix of a file name is, with or without the last
// colon, and is not looked at where the name has a prefix; one that names no device is InfoValue.
Result<Target> resolve(const std::string& name, const Hints& hints);

// The registered devices' names, in order of preference.
std::vector<std::string_view> device_names();

}  // namespace plenum
