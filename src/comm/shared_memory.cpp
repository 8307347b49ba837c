// SPDX-License-Identifier: BSD-3-Clause
#include "comm/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace plenum {
namespace {

constexpr std::string_view kName = "plenum";  // shows in /proc/PID/maps as /memfd:plenum

std::int64_t page_size() { return sysconf(_SC_PAGESIZE); }

Status check_size(std::int64_t size) {
  if (size < 0 || size > std::numeric_limits<std::int64_t>::max() - page_size())
    return Error{Code::Argument, "shared memory of " + std::to_string(size) + " bytes"};
  return {};
}

Result<std::unique_ptr<MappedSegment>> map(std::int64_t size, int flags, int fd, std::int64_t offset) {
  PLENUM_TRY(check_size(size));
  const auto length = static_cast<std::size_t>(size);
  if (length == 0) return std::make_unique<MappedSegment>(Bytes());
  void* const address = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, flags, fd, offset);
  if (address == MAP_FAILED) return system_error("mmap of " + std::to_string(size) + " bytes", errno);
  return std::make_unique<MappedSegment>(Bytes(static_cast<std::byte*>(address), length));
}

// What the link in /proc says, so that no foreign file is ever opened: opening some devices has effects.
bool is_ours(const std::string& path) {
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) return false;
  return std::string_view(target.data(), static_cast<std::size_t>(length)).starts_with("/memfd:" + std::string(kName));
}

}  // namespace

MappedSegment::~MappedSegment() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

Result<std::unique_ptr<MappedSegment>> map_anonymous(std::int64_t size) {
  return map(size, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), address_(other.address_) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  size_ = other.size_;
  address_ = other.address_;
  return *this;
}

SharedFile::~SharedFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<SharedFile> SharedFile::create(std::int64_t size) {
  PLENUM_TRY(check_size(size));
  SharedFile file(::memfd_create(kName.data(), MFD_CLOEXEC), size);
  if (file.fd_ < 0) return system_error("memfd_create", errno);
  if (::ftruncate(file.fd_, page_size() + size) != 0)
    return system_error("ftruncate of shared memory to " + std::to_string(size) + " bytes", errno);
  auto& token = file.address_.token;
  if (::getrandom(token.data(), sizeof token, 0) != static_cast<ssize_t>(sizeof token))
    return system_error("getrandom", errno);
  if (::pwrite(file.fd_, token.data(), sizeof token, 0) != static_cast<ssize_t>(sizeof token))
    return system_error("pwrite to shared memory", errno);
  file.address_.pid = ::getpid();
  file.address_.fd = file.fd_;
  return file;
}

Result<SharedFile> SharedFile::open(const SharedFileAddress& address, std::int64_t size) {
  const std::string path = "/proc/" + std::to_string(address.pid) + "/fd/" + std::to_string(address.fd);
  const Error unreachable{Code::Unsupported, "shared memory of process " + std::to_string(address.pid) +
                                                 " cannot be reached through " + path};
  if (!is_ours(path)) return unreachable;
  SharedFile file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK), size);
  if (file.fd_ < 0) return unreachable;
  file.address_ = address;
  std::array<std::uint64_t, 2> token{};
  if (::pread(file.fd_, token.data(), sizeof token, 0) != static_cast<ssize_t>(sizeof token) || token != address.token)
    return unreachable;
  struct stat found {};
  if (::fstat(file.fd_, &found) != 0) return system_error("fstat of shared memory", errno);
  if (found.st_size != page_size() + size)
    return Error{Code::NotSame, "shared memory of " + std::to_string(size) +
                                    " bytes, but the lowest rank of the node asks for " +
                                    std::to_string(found.st_size - page_size())};
  return file;
}

Result<std::unique_ptr<MappedSegment>> SharedFile::map() const {
  return plenum::map(size_, MAP_SHARED, fd_, page_size());
}

}  // namespace plenum
