// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace plenum {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

// Half-open byte range [begin, end) of a file. There is no "last byte", so sizes need no +1 and an empty range is an
// ordinary value. Not called an extent: in MPI that word means the span of a datatype.
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  constexpr std::int64_t size() const { return end - begin; }
  constexpr bool empty() const { return end <= begin; }
  constexpr bool contains(ByteRange inner) const { return begin <= inner.begin && inner.end <= end; }
  friend constexpr bool operator==(ByteRange, ByteRange) = default;
};

constexpr ByteRange intersect(ByteRange a, ByteRange b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

// Quotient of a / b rounded towards minus and plus infinity; b > 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

}  // namespace plenum
