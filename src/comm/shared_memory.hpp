// SPDX-License-Identifier: BSD-3-Clause
//
// Memory without a name that several processes of one node map. Local; the Comm implementations make it collective.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "comm/comm.hpp"

namespace plenum {

// Owns a mapping; unmaps it when destroyed.
class MappedSegment final : public SharedSegment {
 public:
  explicit MappedSegment(Bytes bytes) : bytes_(bytes) {}
  MappedSegment(const MappedSegment&) = delete;
  MappedSegment& operator=(const MappedSegment&) = delete;
  ~MappedSegment() override;

  Bytes bytes() override { return bytes_; }

 private:
  Bytes bytes_;
};

// Zeroed memory of this process alone, page aligned. `size` [bytes] may be 0. Errors: Argument, NoMemory.
Result<std::unique_ptr<MappedSegment>> map_anonymous(std::int64_t size);

// Where the processes of a node find a SharedFile. A plain value, to be sent as bytes.
struct SharedFileAddress {
  std::int64_t pid = 0;
  std::int64_t fd = -1;
  std::array<std::uint64_t, 2> token{};  // also written in the file, so that nobody maps another one by mistake
};

// A file in memory without a name. It lives as long as any process has it open or mapped.
class SharedFile {
 public:
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;
  ~SharedFile();

  // A new one with room for `size` bytes. Errors: Argument, and what memfd_create and ftruncate report.
  static Result<SharedFile> create(std::int64_t size);

  // The one that another process of this node created and still holds. Errors: Unsupported if it cannot be reached
  // (another process name space or user, no /proc); NotSame if its size is not `size`.
  static Result<SharedFile> open(const SharedFileAddress& address, std::int64_t size);

  const SharedFileAddress& address() const { return address_; }

  // The bytes behind the token; zero at first. The mapping stays valid when the file is closed.
  Result<std::unique_ptr<MappedSegment>> map() const;

 private:
  SharedFile(int fd, std::int64_t size) : fd_(fd), size_(size) {}

  int fd_ = -1;
  std::int64_t size_ = 0;
  SharedFileAddress address_;
};

}  // namespace plenum
