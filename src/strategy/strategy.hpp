// SPDX-License-Identifier: BSD-3-Clause
//
// A strategy is an algorithm that carries out an access for one rank or for a group. To add one: src/strategy/NAME.cpp
// with `const Strategy& NAME_strategy()`, and one line `plenum_add_strategy(NAME)` in src/strategy/CMakeLists.txt; the
// chooser weighs it from then on, and the differential test compares it with the naive one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/counters.hpp"
#include "base/direction.hpp"
#include "base/hints.hpp"
#include "base/result.hpp"
#include "base/task.hpp"
#include "comm/comm.hpp"
#include "device/device.hpp"
#include "layout/layout.hpp"

namespace plenum {

// One read or write: stream byte i of `memory`, at its offset from `buffer`, belongs at stream byte i of `file`.
struct Access {
  Direction direction = Direction::read;
  std::byte* buffer = nullptr;
  Slice memory;
  Slice file;

  std::int64_t size() const { return file.size(); }
};

// Memory that strategies reuse from one access to the next. Allocation failures are values, found before anybody else
// depends on this rank.
class Scratch {
 public:
  // At least `size` bytes, not initialised. Each index is a buffer of its own; the content does not survive the call.
  Result<std::byte*> get(std::size_t index, std::int64_t size);

 private:
  struct Buffer {
    std::unique_ptr<std::byte[]> bytes;
    std::int64_t size = 0;
  };
  std::vector<Buffer> buffers_;
};

// What a strategy works with. Refers to parts of the open file.
struct Environment {
  Comm& comm;
  DeviceFile& file;
  const Traits&
      traits;          // of the file, the same on all ranks, unlike file.traits(): what a group decides rests on these
  const Hints& hints;  // those that matter here are the same on all ranks
};

// What is known of an access, or of all the ranks' accesses of a collective one together, when a strategy is chosen.
struct Shape {
  Direction direction = Direction::read;
  ByteRange range;             // from the lowest to the highest byte
  std::int64_t bytes = 0;      // of all ranks
  std::int64_t runs = 0;       // in the file, of all ranks
  std::int64_t span = 0;       // sum of the ranks' own ranges; more than range.size() says that they interleave
  std::int64_t ranks = 1;      // that take part in the call
  std::int64_t active = 1;     // that have something to move
  bool ordered = true;         // every rank's file slice is
  std::int64_t file_size = 0;  // [bytes] collective reads: what the ranks agree the file has
};

// A strategy's offer for an access. The lowest cost wins; `reason` says in which case it should, for the report.
struct Estimate {
  double seconds = 0;
  const char* reason = "";
};

struct Strategy {
  const char* name;

  // The offer, or nothing if it cannot carry out such an access (or a hint forbids it).
  std::optional<Estimate> (*estimate)(const Shape& shape, const Environment& environment, bool collective);

  // Independent: carries out this rank's access alone. Returns the bytes transferred. Null if there is no such thing;
  // if given, it also serves collective accesses, each rank on its own.
  Result<std::int64_t> (*run)(const Environment& environment, const Access& access, Scratch& scratch);

  // Collective: all ranks of the group call it, those with nothing to do as well. Reads have been cut off at the end of
  // the file. Ends in agreement: all ranks succeed or all fail. Null if there is no such thing.
  Task<Status> (*run_all)(Environment environment, Access access, Shape shape, Scratch& scratch);
};

// The registered strategies, in order of preference.
const std::vector<const Strategy*>& strategies();

// What was chosen, and why. Both are static strings.
struct Choice {
  const Strategy* strategy = nullptr;
  const char* reason = "";
};

// The cheapest strategy, or the one that hint plenum_strategy names where it can carry out the access. The same on all
// ranks if `shape` is.
Choice choose(const Shape& shape, const Environment& environment, bool collective);

// The shape of one rank's own access.
Shape shape_of(const Access& access);

// Carries out an independent access by the strategy that fits it. Counts it.
Result<std::int64_t> carry_out(const Environment& environment, const Access& access, Scratch& scratch,
                               Counters& counters);

// Carries out a collective access: the ranks learn each other's shape, agree on a strategy, and end together. A rank
// whose access is an Error takes part with nothing to move, and all ranks get the error. Returns this rank's bytes.
Task<Result<std::int64_t>> carry_out_all(Environment environment, Result<Access> access, Scratch& scratch,
                                         Counters& counters);

}  // namespace plenum
