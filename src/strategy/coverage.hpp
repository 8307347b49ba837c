// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>

#include "base/byte_range.hpp"
#include "layout/layout.hpp"

namespace plenum {

// The set of bytes of a window that somebody asked for. A bit per byte: marking a piece costs a few nanoseconds in any
// order of arrival, where sorting or merging the ranks' lists would cost a logarithm per piece.
class Coverage {
 public:
  // Memory for windows of up to `size` bytes.
  static std::int64_t words_for(std::int64_t size) { return ceil_div(size, 64); }

  // An empty set over [0, size), kept in `words`, which has words_for(size) elements.
  Coverage(std::uint64_t* words, std::int64_t size);

  void mark(ByteRange range);

  // All bytes of a slice, which lie in [0, size).
  void mark(const Slice& slice);

  // Calls visit(ByteRange) for each maximal run of marked bytes, in order; runs less than `gap` bytes apart are taken
  // as one.
  template <class Visit>
  void for_each_run(std::int64_t gap, Visit&& visit) const {
    ByteRange run = next_run(0);
    while (!run.empty()) {
      const ByteRange next = next_run(run.end);
      if (!next.empty() && next.begin - run.end < gap) {
        run.end = next.end;
        continue;
      }
      visit(run);
      run = next;
    }
  }

 private:
  void mark_runs(const Strip& strip, std::int64_t count);
  std::int64_t find(std::int64_t from, bool marked) const;
  ByteRange next_run(std::int64_t from) const;

  std::uint64_t* words_;
  std::int64_t size_;
};

}  // namespace plenum
