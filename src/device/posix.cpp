// SPDX-License-Identifier: BSD-3-Clause
//
// The posix device: files of the operating system, on local and on mounted network file systems.
//
// Transfers are positioned system calls; neighbours in the file go out together. Pipes, terminals and sockets are taken
// as they are: each transfer must begin where the one before ended. Locks are those of the open file description, so
// they exclude other openings in the same process, and closing one opening does not drop those of another.
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <utility>

#include "base/direction.hpp"
#include "device/device.hpp"

namespace plenum {
namespace {

static_assert(sizeof(off_t) == 8, "file offsets need 64 bits");

// ---- File systems

// What is known of a file system by the magic number of statfs(2).
//
//   shared   a write is seen by the other nodes' processes at once; false for local storage, and for network file
//   systems
//            that cache on the client
//   locks    range locks exclude every other opening, those of other nodes included
struct FileSystem {
  std::uint64_t magic;
  const char* name;
  bool shared;
  bool locks;
};

constexpr FileSystem kFileSystems[] = {
    // local
    {0xef53, "ext4", false, true},
    {0x58465342, "xfs", false, true},
    {0x9123683e, "btrfs", false, true},
    {0x2fc12fc1, "zfs", false, true},
    {0xf2f52010, "f2fs", false, true},
    {0xca451a4e, "bcachefs", false, true},
    {0x3153464a, "jfs", false, true},
    {0x52654973, "reiserfs", false, true},
    {0x794c7630, "overlay", false, true},
    {0x01021994, "tmpfs", false, true},
    {0x858458f6, "ramfs", false, true},
    {0x4d44, "vfat", false, true},
    {0x2011bab0, "exfat", false, true},
    {0x7366746e, "ntfs", false, true},
    {0x9660, "iso9660", false, true},
    {0x73717368, "squashfs", false, true},
    // network, coherent between nodes
    {0x0bd00bd0, "lustre", true, true},
    {0x47504653, "gpfs", true, true},
    {0x00c36400, "ceph", true, true},
    {0x19830326, "beegfs", true, false},
    {0xaad7aaea, "panfs", true, true},
    {0x20030528, "pvfs2", true, false},
    {0x01161970, "gfs2", true, true},
    {0x7461636f, "ocfs2", true, true},
    // network, cached on the client
    {0x6969, "nfs", false, true},
    {0xff534d42, "cifs", false, true},
    {0xfe534d42, "smb2", false, true},
    {0x5346414f, "afs", false, false},
    {0x01021997, "9p", false, false},
    {0x65735546, "fuse", false, false},  // whatever a user's program makes of it
};

FileSystem file_system_of(int fd) {
  struct statfs info = {};
  if (fstatfs(fd, &info) != 0) return {0, "unknown", false, false};
  // The width and sign of f_type differ between machines; magic numbers have 32 bits.
  const auto magic = static_cast<std::uint64_t>(info.f_type) & 0xffffffffu;
  const auto* found = std::find_if(std::begin(kFileSystems), std::end(kFileSystems),
                                   [&](const FileSystem& known) { return known.magic == magic; });
  return found != std::end(kFileSystems) ? *found : FileSystem{magic, "unknown", false, false};
}

// Some mounts refuse locks that their file system could provide.
bool accepts_locks(int fd) {
  struct flock probe = {};
  probe.l_type = F_RDLCK;
  probe.l_whence = SEEK_SET;
  probe.l_len = 1;
  return fcntl(fd, F_OFD_GETLK, &probe) == 0;
}

Traits traits_of(int fd, const struct stat& status) {
  const FileSystem file_system = file_system_of(fd);
  Traits traits;
  traits.file_system = file_system.name;
  traits.shared_between_nodes = file_system.shared;
  traits.byte_range_locks = S_ISREG(status.st_mode) && file_system.locks && accepts_locks(fd);
  traits.seekable = lseek(fd, 0, SEEK_CUR) >= 0 || errno != ESPIPE;
  traits.preferred_unit = std::max<std::int64_t>(status.st_blksize, 1);
  return traits;
}

// ---- One file

// Closes a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { (void)close(); }

  int get() const { return fd_; }

  // 0 or an errno. On Linux the descriptor is gone even after EINTR, and nothing is known to have failed then.
  int close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0 || errno == EINTR ? 0 : errno;
  }

 private:
  int fd_;
};

// Calls a system call again for as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// The most buffers the system takes in one call.
constexpr std::size_t kMaxBuffers = IOV_MAX;

class PosixFile final : public DeviceFile {
 public:
  PosixFile(Descriptor fd, bool writable, bool regular, Traits traits)
      : fd_(std::move(fd)), writable_(writable), regular_(regular), traits_(std::move(traits)) {}

  const Traits& traits() const override { return traits_; }

  Result<std::int64_t> read(Transfers transfers) override { return transfer(Direction::read, transfers); }

  Status write(Transfers transfers) override {
    const auto moved = transfer(Direction::write, transfers);
    return moved.ok() ? Status() : Status(moved.error());
  }

  Result<std::int64_t> size() override;
  Status resize(std::int64_t size) override;
  Status reserve(std::int64_t size) override;
  Status sync() override;
  Status close() override;
  Result<RangeLock> lock(ByteRange range, Sharing sharing) override;

 private:
  Result<std::int64_t> transfer(Direction direction, Transfers transfers);
  Result<std::int64_t> transfer_in_order(Direction direction, Transfers transfers);
  Result<std::int64_t> move(Direction direction, std::span<iovec> buffers, std::int64_t offset);
  ssize_t call(Direction direction, std::span<iovec> buffers, std::int64_t offset) const;
  Error transfer_error(Direction direction, std::span<iovec> buffers, std::int64_t offset, int errno_value) const;
  Status grow(std::int64_t size);
  int set_lock(short type, ByteRange range) const;
  void unlock(ByteRange range);

  Descriptor fd_;
  const bool writable_;
  const bool regular_;
  const Traits traits_;

  // Where the next transfer of a file that is not seekable must begin. One for each direction: a read may wait for what
  // another thread writes.
  struct Stream {
    std::mutex in_use;
    std::int64_t position = 0;
  };
  std::array<Stream, 2> streams_;

  // Ranges that calls on this file hold locked, none overlapping another. The system would let them all have the lock,
  // and the first to unlock would drop it for the others.
  std::mutex locks_;
  std::condition_variable unlocked_;
  std::vector<ByteRange> locked_;
};

ssize_t PosixFile::call(Direction direction, std::span<iovec> buffers, std::int64_t offset) const {
  const int fd = fd_.get();
  const iovec& first = buffers.front();
  const int count = static_cast<int>(buffers.size());
  const bool read = direction == Direction::read;
  if (!traits_.seekable) return read ? readv(fd, buffers.data(), count) : writev(fd, buffers.data(), count);
  if (count == 1) {
    return read ? pread(fd, first.iov_base, first.iov_len, offset) : pwrite(fd, first.iov_base, first.iov_len, offset);
  }
  return read ? preadv(fd, buffers.data(), count, offset) : pwritev(fd, buffers.data(), count, offset);
}

// Out of line: the fast path has no strings.
[[gnu::noinline]] Error PosixFile::transfer_error(Direction direction, std::span<iovec> buffers, std::int64_t offset,
                                                  int errno_value) const {
  std::int64_t size = 0;
  for (const iovec& buffer : buffers) size += static_cast<std::int64_t>(buffer.iov_len);
  std::string what = traits_.seekable ? "p" : "";
  what += direction == Direction::read ? "read" : "write";
  if (buffers.size() > 1 || !traits_.seekable) what += "v";
  what += " of " + std::to_string(size) + " bytes at byte " + std::to_string(offset);
  if (errno_value == 0) return {Code::Io, what + ": the system stored nothing and gave no reason"};
  return system_error(what, errno_value);
}

// Moves the buffers to or from consecutive bytes of the file. Short only where a read meets the end of the file.
Result<std::int64_t> PosixFile::move(Direction direction, std::span<iovec> buffers, std::int64_t offset) {
  std::int64_t moved = 0;
  for (;;) {
    const ssize_t result = call(direction, buffers, offset + moved);
    if (result < 0) {
      if (errno == EINTR) continue;
      return transfer_error(direction, buffers, offset + moved, errno);
    }
    if (result == 0) {
      if (direction == Direction::read) return moved;
      return transfer_error(direction, buffers, offset + moved, 0);
    }
    moved += result;
    auto left = static_cast<std::size_t>(result);
    while (!buffers.empty() && left >= buffers.front().iov_len) {
      left -= buffers.front().iov_len;
      buffers = buffers.subspan(1);
    }
    if (buffers.empty()) return moved;
    buffers.front().iov_base = static_cast<char*>(buffers.front().iov_base) + left;
    buffers.front().iov_len -= left;
  }
}

Result<std::int64_t> PosixFile::transfer_in_order(Direction direction, Transfers transfers) {
  Stream& stream = streams_[static_cast<std::size_t>(direction)];
  const std::lock_guard lock(stream.in_use);
  std::int64_t total = 0;
  for (const Transfer& one : transfers) {
    if (one.offset != stream.position) {
      return Error{Code::Unsupported, "byte " + std::to_string(one.offset) +
                                          " of a file that cannot seek, which is at byte " +
                                          std::to_string(stream.position)};
    }
    iovec buffer = {one.memory, static_cast<std::size_t>(one.size)};
    const std::int64_t moved = PLENUM_TRY(move(direction, {&buffer, 1}, one.offset));
    stream.position += moved;
    total += moved;
    if (moved < one.size) break;
  }
  return total;
}

Result<std::int64_t> PosixFile::transfer(Direction direction, Transfers transfers) {
  if (!traits_.seekable) return transfer_in_order(direction, transfers);
  if (transfers.size() == 1) {
    iovec buffer = {transfers[0].memory, static_cast<std::size_t>(transfers[0].size)};
    return move(direction, {&buffer, 1}, transfers[0].offset);
  }
  std::array<iovec, kMaxBuffers> buffers;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < transfers.size();) {
    // As many transfers as continue each other in the file; those that do so in memory too share a buffer.
    const std::int64_t begin = transfers[i].offset;
    std::int64_t end = begin;
    const std::byte* memory_end = nullptr;
    std::size_t used = 0;
    for (; i < transfers.size() && transfers[i].offset == end; ++i) {
      const auto& [offset, memory, size] = transfers[i];
      if (used > 0 && memory == memory_end) {
        buffers[used - 1].iov_len += static_cast<std::size_t>(size);
      } else if (used < kMaxBuffers) {
        buffers[used++] = {memory, static_cast<std::size_t>(size)};
      } else {
        break;
      }
      memory_end = memory + size;
      end += size;
    }
    total += PLENUM_TRY(move(direction, {buffers.data(), used}, begin));
  }
  return total;
}

Result<std::int64_t> PosixFile::size() {
  struct stat status = {};
  if (fstat(fd_.get(), &status) != 0) return system_error("fstat", errno);
  if (!S_ISBLK(status.st_mode)) return std::int64_t{status.st_size};
  const off_t end = lseek(fd_.get(), 0, SEEK_END);
  if (end < 0) return system_error("lseek", errno);
  return std::int64_t{end};
}

Status PosixFile::resize(std::int64_t size) {
  if (size < 0) return Error{Code::Argument, "a file cannot have " + std::to_string(size) + " bytes"};
  // Of these two the system only says EINVAL.
  if (!writable_) return system_error("ftruncate", EBADF);
  if (!regular_) return Error{Code::Unsupported, "ftruncate: not an ordinary file"};
  if (uninterrupted([&] { return ftruncate(fd_.get(), size); }) == 0) return {};
  return system_error("ftruncate to " + std::to_string(size) + " bytes", errno);
}

Status PosixFile::reserve(std::int64_t size) {
  if (size < 0) return Error{Code::Argument, "a file cannot have " + std::to_string(size) + " bytes"};
  if (!writable_) return system_error("fallocate", EBADF);
  if (size == 0) return {};
  if (uninterrupted([&] { return fallocate(fd_.get(), 0, 0, size); }) == 0) return {};
  if (errno == EOPNOTSUPP || errno == ENOSYS) return grow(size);
  return system_error("fallocate of " + std::to_string(size) + " bytes", errno);
}

// What is left where a file system cannot reserve: the size at least. A file that grows at the same moment may be cut
// here; reserving is a collective operation of the interfaces above, so nobody writes then.
Status PosixFile::grow(std::int64_t size) {
  const std::int64_t now = PLENUM_TRY(this->size());
  if (now >= size) return {};
  return resize(size);
}

Status PosixFile::sync() {
  if (uninterrupted([&] { return fsync(fd_.get()); }) == 0) return {};
  // Pipes and devices have nothing to make durable.
  if (!regular_ && (errno == EINVAL || errno == EROFS)) return {};
  return system_error("fsync", errno);
}

Status PosixFile::close() {
  const int failed = fd_.close();
  if (failed != 0) return system_error("close", failed);
  return {};
}

// 0 or an errno.
int PosixFile::set_lock(short type, ByteRange range) const {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.begin;
  lock.l_len = range.size();
  return uninterrupted([&] { return fcntl(fd_.get(), F_OFD_SETLKW, &lock); }) == 0 ? 0 : errno;
}

Result<RangeLock> PosixFile::lock(ByteRange range, Sharing sharing) {
  if (!traits_.byte_range_locks) return DeviceFile::lock(range, sharing);
  if (range.empty()) return RangeLock(nullptr);  // to the system, length 0 means: to the end of the file
  {
    std::unique_lock guard(locks_);
    unlocked_.wait(guard, [&] {
      return std::none_of(locked_.begin(), locked_.end(),
                          [&](ByteRange other) { return !intersect(range, other).empty(); });
    });
    locked_.push_back(range);
  }
  const int failed = set_lock(sharing == Sharing::exclusive ? F_WRLCK : F_RDLCK, range);
  if (failed == 0) return RangeLock([this, range] { unlock(range); });
  unlock(range);
  const std::string what = "fcntl lock of bytes " + std::to_string(range.begin) + " to " + std::to_string(range.end);
  if (failed == ENOLCK || failed == ENOSYS || failed == EOPNOTSUPP) {
    return Error{Code::Unsupported, system_error(what, failed).detail};
  }
  return system_error(what, failed);
}

void PosixFile::unlock(ByteRange range) {
  // Nobody could do anything about a failure here; closing the file gives up the lock in any case.
  if (fd_.get() >= 0) (void)set_lock(F_UNLCK, range);
  {
    const std::lock_guard guard(locks_);
    locked_.erase(std::find(locked_.begin(), locked_.end(), range));
  }
  unlocked_.notify_all();
}

// ---- The device

Result<int> flags_of(const OpenMode& mode) {
  if (!mode.read && !mode.write) return Error{Code::BadMode, "a file must be opened for reading or for writing"};
  int flags = mode.read && mode.write ? O_RDWR : mode.write ? O_WRONLY : O_RDONLY;
  if (mode.create) flags |= O_CREAT;
  if (mode.create && mode.exclusive) flags |= O_EXCL;
  return flags | O_CLOEXEC | O_NOCTTY;
}

class PosixDevice final : public Device {
 public:
  std::string_view name() const override { return "posix"; }

  Result<std::unique_ptr<DeviceFile>> open(const std::string& path, const OpenMode& mode, const Hints&) override {
    const int flags = PLENUM_TRY(flags_of(mode));
    Descriptor fd(uninterrupted([&] { return ::open(path.c_str(), flags, mode.permissions); }));
    if (fd.get() < 0) return system_error("open " + path, errno);
    struct stat status = {};
    if (fstat(fd.get(), &status) != 0) return system_error("fstat " + path, errno);
    // Opened for reading only, the system lets a directory pass.
    if (S_ISDIR(status.st_mode)) return system_error("open " + path, EISDIR);
    Traits traits = traits_of(fd.get(), status);
    return std::make_unique<PosixFile>(std::move(fd), mode.write, S_ISREG(status.st_mode), std::move(traits));
  }

  Status remove(const std::string& path) override {
    if (unlink(path.c_str()) != 0) return system_error("unlink " + path, errno);
    return {};
  }
};

}  // namespace

std::unique_ptr<Device> make_posix_device();
std::unique_ptr<Device> make_posix_device() { return std::make_unique<PosixDevice>(); }

}  // namespace plenum
