// SPDX-License-Identifier: BSD-3-Clause
#include "strategy/coverage.hpp"

#include <algorithm>

namespace plenum {

Coverage::Coverage(std::uint64_t* words, std::int64_t size) : words_(words), size_(size) {
  std::fill_n(words_, words_for(size), std::uint64_t{0});
}

void Coverage::mark(ByteRange range) {
  if (range.empty()) return;
  const std::int64_t first = range.begin / 64;
  const std::int64_t last = (range.end - 1) / 64;
  const std::uint64_t from_begin = ~std::uint64_t{0} << (range.begin % 64);
  const std::uint64_t to_end = ~std::uint64_t{0} >> (63 - (range.end - 1) % 64);
  if (first == last) {
    words_[first] |= from_begin & to_end;
    return;
  }
  words_[first] |= from_begin;
  std::fill(words_ + first + 1, words_ + last, ~std::uint64_t{0});
  words_[last] |= to_end;
}

// The first `count` runs of the strip. A run of up to 64 bytes lies in one word, or in two.
void Coverage::mark_runs(const Strip& strip, std::int64_t count) {
  const std::uint64_t size = static_cast<std::uint64_t>(strip.size);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - size);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t shift = strip.offsets == nullptr ? i * strip.stride : strip.offsets[i] - strip.offsets[0];
    const std::uint64_t at = static_cast<std::uint64_t>(strip.offset + shift);
    words_[at / 64] |= mask << (at % 64);
    if (at % 64 + size > 64) words_[at / 64 + 1] |= mask >> (64 - at % 64);
  }
}

void Coverage::mark(const Slice& slice) {
  std::int64_t left = slice.size();
  for (Cursor at = slice.cursor(); left > 0;) {
    const Strip strip = at.strip();
    const bool small = strip.size <= std::min<std::int64_t>(64, left);
    const std::int64_t count = small ? std::min(strip.count, left / strip.size) : 1;
    if (small) {
      mark_runs(strip, count);
    } else {
      mark({strip.offset, strip.offset + std::min(strip.size, left)});
    }
    left -= count * strip.size;
    at.skip_runs(count);
  }
}

// The first byte at or after `from` that is marked (or not); size_ if there is none.
std::int64_t Coverage::find(std::int64_t from, bool marked) const {
  const std::uint64_t flip = marked ? 0 : ~std::uint64_t{0};
  std::uint64_t ignore = ~std::uint64_t{0} << (from % 64);
  for (std::int64_t word = from / 64; word * 64 < size_; ++word) {
    const std::uint64_t bits = (words_[word] ^ flip) & ignore;
    if (bits != 0) return std::min(size_, word * 64 + std::countr_zero(bits));
    ignore = ~std::uint64_t{0};
  }
  return size_;
}

ByteRange Coverage::next_run(std::int64_t from) const {
  const std::int64_t begin = find(from, true);
  if (begin >= size_) return {size_, size_};
  return {begin, find(begin, false)};
}

}  // namespace plenum
