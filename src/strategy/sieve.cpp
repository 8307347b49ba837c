// SPDX-License-Identifier: BSD-3-Clause
//
// Data sieving for reads: the range that spans many small runs is read at once, and the runs are picked out of it.
// After R. Thakur, W. Gropp, E. Lusk, "Data Sieving and Collective I/O in ROMIO", 1999. There is no sieving for writes:
// it would rewrite bytes between the runs that other processes may be writing at the same time.
#include <algorithm>
#include <array>

#include "strategy/cost.hpp"
#include "strategy/direct.hpp"
#include "strategy/strategy.hpp"

namespace plenum {

namespace {

std::optional<Estimate> estimate(const Shape& shape, const Environment& environment, bool collective) {
  const Hints& hints = environment.hints;
  if (shape.direction == Direction::write || !shape.ordered || hints.ds_read == Toggle::disable) return std::nullopt;
  if (!environment.traits.seekable || (collective && hints.cb_read == Toggle::enable)) return std::nullopt;
  const double ranks = static_cast<double>(std::max<std::int64_t>(1, shape.active));
  const double windows = static_cast<double>(shape.span / std::max<std::int64_t>(1, hints.ind_rd_buffer_size) + 1);
  const double seconds =
      (windows * cost::kDeviceCall + static_cast<double>(shape.span) * cost::kDeviceByte +
       static_cast<double>(shape.bytes) * cost::kCopyByte + static_cast<double>(shape.runs) * cost::kPiece) /
      ranks;
  if (hints.ds_read == Toggle::enable && !collective && shape.runs > 1) return Estimate{0, "hint romio_ds_read=enable"};
  return Estimate{seconds, "dense small runs: read the range that spans them"};
}

// Copies the bytes of `from`, of which byte 0 is at `window`, to where they belong in memory. By way of a small buffer:
// two copies, each along one layout, are quicker than one along both.
void scatter(const Slice& from, const std::byte* window, const Slice& memory, std::byte* buffer) {
  const Run first = memory.cursor().run();
  if (first.size >= memory.size()) return pack(from, window, buffer + first.offset);
  std::array<std::byte, 16 << 10> chunk;
  for (std::int64_t done = 0; done < from.size();) {
    const std::int64_t size = std::min(static_cast<std::int64_t>(chunk.size()), from.size() - done);
    pack(from.part(done, size), window, chunk.data());
    unpack(memory.part(done, size), chunk.data(), buffer);
    done += size;
  }
}

Result<std::int64_t> run(const Environment& environment, const Access& access, Scratch& scratch) {
  const std::int64_t span = access.file.bounds().size();
  const std::int64_t capacity = std::min(span, std::max<std::int64_t>(1, environment.hints.ind_rd_buffer_size));
  std::byte* const window = PLENUM_TRY(scratch.get(0, capacity));
  for (std::int64_t done = 0; done < access.size();) {
    const Slice rest = access.file.part(done, access.size() - done);
    const std::int64_t begin = rest.cursor().run().offset;
    const Slice inside = rest.within({begin, begin + capacity});
    const ByteRange needed = inside.bounds();
    const Transfer transfer{needed.begin, window, needed.size()};
    const std::int64_t got = PLENUM_TRY(environment.file.read({&transfer, 1}));
    Slice there = inside.within({needed.begin, needed.begin + got});
    there.origin -= needed.begin;
    scatter(there, window, access.memory.part(done, there.size()), access.buffer);
    done += there.size();
    if (got < needed.size()) return done;  // the end of the file
  }
  return access.size();
}

}  // namespace

const Strategy& sieve_strategy() {
  static const Strategy strategy{"sieve", estimate, run, nullptr};
  return strategy;
}

}  // namespace plenum
