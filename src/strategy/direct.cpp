// SPDX-License-Identifier: BSD-3-Clause
#include "strategy/direct.hpp"

#include <algorithm>
#include <array>

#include "strategy/cost.hpp"

namespace plenum {

namespace {

// A run of memory shorter than this is worth copying into a buffer rather than handing to the device by itself.
constexpr std::int64_t kSmallRun = 4096;

// The next pieces as transfers, neighbours in file and memory joined. Returns how many there are.
std::size_t fill_batch(PieceCursor& pieces, std::byte* buffer, std::span<Transfer> batch) {
  std::size_t used = 0;
  while (!pieces.done()) {
    const Piece piece = pieces.next(pieces.left());
    std::byte* const memory = buffer + piece.memory;
    if (used > 0) {
      Transfer& last = batch[used - 1];
      if (last.offset + last.size == piece.file && last.memory + last.size == memory) {
        last.size += piece.size;
        continue;
      }
    }
    batch[used++] = {piece.file, memory, piece.size};
    if (used == batch.size()) break;
  }
  return used;
}

std::int64_t size_of(Transfers batch) {
  std::int64_t size = 0;
  for (const Transfer& transfer : batch) size += transfer.size;
  return size;
}

// One contiguous range of the file, from `at` on, scattered in memory: packed into a buffer, it is one transfer a
// bufferful.
Result<std::int64_t> transfer_packed(DeviceFile& file, const Access& access, std::int64_t at, Bytes buffer) {
  std::byte* const packed = buffer.data();
  for (std::int64_t done = 0; done < access.size();) {
    const std::int64_t size = std::min(static_cast<std::int64_t>(buffer.size()), access.size() - done);
    const Transfer transfer{at + done, packed, size};
    if (access.direction == Direction::write) {
      pack(access.memory.part(done, size), access.buffer, packed);
      PLENUM_TRY(file.write({&transfer, 1}));
      done += size;
    } else {
      const std::int64_t got = PLENUM_TRY(file.read({&transfer, 1}));
      unpack(access.memory.part(done, got), packed, access.buffer);
      done += got;
      if (got < size) return done;
    }
  }
  return access.size();
}

std::optional<Estimate> estimate(const Shape& shape, const Environment& environment, bool collective) {
  const Hints& hints = environment.hints;
  const Toggle buffering = shape.direction == Direction::read ? hints.cb_read : hints.cb_write;
  if (collective && buffering == Toggle::enable && shape.ordered) return std::nullopt;
  if (collective && !environment.traits.seekable) return std::nullopt;
  const double ranks = static_cast<double>(std::max<std::int64_t>(1, shape.active));
  const double seconds =
      (static_cast<double>(shape.runs) * cost::kDeviceCall + static_cast<double>(shape.bytes) * cost::kDeviceByte) /
      ranks;
  return Estimate{seconds, "few or large runs: each rank by itself"};
}

// Whether the memory side is worth packing: runs so short that copying them costs less than a system call's list of
// them.
bool scattered(const Slice& memory) {
  const std::int64_t runs = memory.runs();
  return runs > 1 && memory.size() / runs < kSmallRun;
}

Result<std::int64_t> run(const Environment& environment, const Access& access, Scratch& scratch) {
  const Run first = access.file.cursor().run();
  if (first.size < access.size() || !scattered(access.memory)) return transfer_pieces(environment.file, access);
  const Hints& hints = environment.hints;
  const bool read = access.direction == Direction::read;
  const std::int64_t limit = std::max(kSmallRun, read ? hints.ind_rd_buffer_size : hints.ind_wr_buffer_size);
  const std::int64_t size = std::min(access.size(), limit);
  std::byte* const buffer = PLENUM_TRY(scratch.get(0, size));
  return transfer_packed(environment.file, access, first.offset, {buffer, static_cast<std::size_t>(size)});
}

}  // namespace

Result<std::int64_t> transfer_pieces(DeviceFile& file, const Access& access) {
  std::array<Transfer, 512> batch;
  std::int64_t done = 0;
  for (PieceCursor pieces(access.memory, access.file); !pieces.done();) {
    const Transfers transfers(batch.data(), fill_batch(pieces, access.buffer, batch));
    if (access.direction == Direction::write) {
      PLENUM_TRY(file.write(transfers));
      done += size_of(transfers);
    } else {
      const std::int64_t got = PLENUM_TRY(file.read(transfers));
      done += got;
      // What follows in an ordered access lies beyond the end of the file as well.
      if (access.file.ordered() && got < size_of(transfers)) break;
    }
  }
  return done;
}

const Strategy& direct_strategy() {
  static const Strategy strategy{"direct", estimate, run, nullptr};
  return strategy;
}

}  // namespace plenum
