// SPDX-License-Identifier: BSD-3-Clause
//
// Random accesses, each with an oracle: beside every layout stands the plain list of its bytes' offsets, which was made
// without the layout's own code.
//
//   Random random(seed_for_test());
//   GroupAccess group = random_group_access(random, {.ranks = 4, .direction = Direction::write, .max_bytes = 500});
//   RankAccess& mine = group.ranks[rank];
//   mine.access()            for the strategies: an Access with slices and buffer
//   mine.tile.layout, mine.displacement, mine.skip, mine.size, mine.memory.layout, mine.memory_skip, mine.buffer()
//                            for a file: filetype, view displacement, offset in bytes of the view, and the memory side
//   mine.file_at[i], mine.memory_at[i]
//                            where stream byte i lies in the file, and in memory as an index of mine.storage
//   group.write_to(content)  the file as it must be afterwards
//   mine.expected_read(content)
//                            storage and count as they must be afterwards
//
// The environment decides about seed and number of cases: PLENUM_SEED, PLENUM_CASES.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "base/direction.hpp"
#include "layout/layout.hpp"
#include "strategy/strategy.hpp"

namespace plenum::test {

inline std::int64_t number_from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoll(text, nullptr, 0);
}
inline std::uint64_t seed_for_test() { return static_cast<std::uint64_t>(number_from_environment("PLENUM_SEED", 1)); }
inline std::int64_t cases_for_test(std::int64_t otherwise) {
  return number_from_environment("PLENUM_CASES", otherwise);
}

// Random numbers that are the same everywhere for the same seed (the standard's distributions are not).
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15u + 1) {}

  std::uint64_t bits() { return engine_(); }
  // In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return *(choices.begin() + between(0, static_cast<std::int64_t>(choices.size()) - 1));
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(i) - 1))]);
  }
  void fill(std::vector<std::byte>& bytes) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(engine_() >> 56);
  }

 private:
  std::mt19937_64 engine_;
};

// What the bytes of a pattern do: ascend in the stream; lie anywhere, but none twice; or lie anywhere.
enum class Kind { ascending, disjoint, any };

// A layout, and the offset of each of its bytes in stream order.
struct Pattern {
  Layout layout;
  std::vector<std::int64_t> at;

  std::int64_t size() const { return static_cast<std::int64_t>(at.size()); }
  std::int64_t lowest() const { return at.empty() ? 0 : *std::min_element(at.begin(), at.end()); }
  std::int64_t end() const { return at.empty() ? 0 : *std::max_element(at.begin(), at.end()) + 1; }
  std::int64_t span() const { return end() - lowest(); }

  void append(const Pattern& other, std::int64_t shift) {
    for (const std::int64_t offset : other.at) at.push_back(offset + shift);
  }
};

namespace detail {

inline Pattern run_pattern(Random& random) {
  Pattern run;
  const std::int64_t size =
      random.one_in(8) ? random.between(1, 70) : random.pick<std::int64_t>({1, 2, 3, 4, 8, 12, 16});
  run.layout = Layout::bytes(size);
  for (std::int64_t i = 0; i < size; ++i) run.at.push_back(i);
  return run;
}

// The distance at which copies of `child` do what `kind` says.
inline std::int64_t random_stride(Random& random, Kind kind, const Pattern& child) {
  if (kind == Kind::any && random.one_in(2)) return random.between(-40, 40);
  const std::int64_t stride = child.span() + (random.one_in(3) ? 0 : random.between(0, 12));
  return kind != Kind::ascending && random.one_in(2) ? -stride : stride;
}

inline Pattern repeat_pattern(Random& random, Kind kind, const Pattern& child) {
  const std::int64_t count = random.between(1, 5);
  const std::int64_t stride = random_stride(random, kind, child);
  Pattern repeat;
  repeat.layout = Layout::repeat(count, stride, child.layout);
  for (std::int64_t i = 0; i < count; ++i) repeat.append(child, i * stride);
  return repeat;
}

// Places for parts that take `spans` bytes from `lowest`: as `kind` says.
inline std::vector<std::int64_t> random_places(Random& random, Kind kind, const std::vector<ByteRange>& bounds) {
  std::vector<std::size_t> order(bounds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (kind != Kind::ascending) random.shuffle(order);
  std::vector<std::int64_t> places(bounds.size());
  std::int64_t free = random.between(0, 10);
  for (const std::size_t part : order) {
    if (kind == Kind::any && random.one_in(3)) {
      places[part] = random.between(-30, 60);
      continue;
    }
    places[part] = free - bounds[part].begin;
    free += bounds[part].size() + (random.one_in(3) ? 0 : random.between(0, 15));
  }
  return places;
}

inline Pattern indexed_pattern(Random& random, Kind kind, Pattern child) {
  const std::int64_t extent = random_stride(random, kind == Kind::any ? Kind::any : Kind::ascending, child);
  child.layout = child.layout.resized(random.between(-3, 3), extent);
  std::vector<std::int64_t> counts;
  std::vector<ByteRange> bounds;
  std::vector<Pattern> blocks;
  for (std::int64_t i = random.between(1, 4); i > 0; --i) {
    counts.push_back(random.one_in(6) ? 0 : random.between(1, 3));
    Pattern& block = blocks.emplace_back();
    for (std::int64_t copy = 0; copy < counts.back(); ++copy) block.append(child, copy * extent);
    bounds.push_back({block.lowest(), block.end()});
  }
  const std::vector<std::int64_t> places = random_places(random, kind, bounds);
  Pattern indexed;
  indexed.layout = Layout::indexed(counts, places, child.layout);
  for (std::size_t i = 0; i < blocks.size(); ++i) indexed.append(blocks[i], places[i]);
  return indexed;
}

inline Pattern subarray_pattern(Random& random, Pattern child) {
  const std::int64_t extent = child.span() + (random.one_in(2) ? 0 : random.between(1, 5));
  child.layout = child.layout.resized(0, extent);
  const std::vector<std::int64_t> sizes = {random.between(1, 5), random.between(1, 6)};
  const std::vector<std::int64_t> sub = {random.between(1, sizes[0]), random.between(1, sizes[1])};
  const std::vector<std::int64_t> starts = {random.between(0, sizes[0] - sub[0]), random.between(0, sizes[1] - sub[1])};
  Pattern box;
  box.layout = Layout::subarray(sizes, sub, starts, Layout::Order::c, child.layout);
  for (std::int64_t row = 0; row < sub[0]; ++row) {
    for (std::int64_t column = 0; column < sub[1]; ++column)
      box.append(child, ((starts[0] + row) * sizes[1] + starts[1] + column) * extent);
  }
  return box;
}

inline Pattern random_pattern_of_depth(Random& random, Kind kind, int depth);

inline Pattern join_pattern(Random& random, Kind kind, int depth) {
  std::vector<Layout> members;
  std::vector<ByteRange> bounds;
  std::vector<Pattern> parts;
  for (std::int64_t i = random.between(1, 4); i > 0; --i) {
    const Pattern& part = parts.emplace_back(random_pattern_of_depth(random, kind, depth - 1));
    members.push_back(part.layout);
    bounds.push_back({part.lowest(), part.end()});
  }
  const std::vector<std::int64_t> places = random_places(random, kind, bounds);
  Pattern join;
  join.layout = Layout::join(places, members);
  for (std::size_t i = 0; i < parts.size(); ++i) join.append(parts[i], places[i]);
  return join;
}

inline Pattern random_pattern_of_depth(Random& random, Kind kind, int depth) {
  if (depth == 0) return run_pattern(random);
  switch (random.between(0, 4)) {
    case 0:
      return join_pattern(random, kind, depth);
    case 1:
      return subarray_pattern(random, random_pattern_of_depth(random, kind, depth - 1));
    case 2:
      return indexed_pattern(random, kind, random_pattern_of_depth(random, kind, depth - 1));
    default:
      return repeat_pattern(random, kind, random_pattern_of_depth(random, kind, depth - 1));
  }
}

}  // namespace detail

// A pattern of 1 to a few hundred bytes at offsets >= 0, which begin within the first few dozen.
inline Pattern random_pattern(Random& random, Kind kind) {
  for (;;) {
    Pattern pattern = detail::random_pattern_of_depth(random, kind, static_cast<int>(random.between(0, 3)));
    if (pattern.at.empty() || pattern.size() > 1000) continue;
    const std::int64_t lowest = pattern.lowest();
    if (lowest >= 0 && lowest < 50) return pattern;
    Pattern moved;
    const std::int64_t shift = -lowest;
    moved.layout = Layout::join({&shift, 1}, {&pattern.layout, 1});
    moved.append(pattern, shift);
    return moved;
  }
}

// One rank's part in an access: a view of the file, a place in memory, and the oracle.
struct RankAccess {
  Direction direction = Direction::read;

  Pattern tile;                   // of the file; its layout's extent is the distance of tiles
  std::int64_t displacement = 0;  // of the first tile [bytes]
  std::int64_t skip = 0;          // stream byte of the file at which the access begins
  std::int64_t size = 0;          // [bytes]; 0: nothing to do
  std::vector<std::int64_t> file_at;

  Pattern memory;                       // at least memory_skip + size bytes
  std::int64_t memory_skip = 0;         // stream byte of the memory at which the access begins
  std::vector<std::int64_t> memory_at;  // indices of `storage`
  std::vector<std::byte> storage;       // with guard bytes around and between
  std::int64_t base = 0;                // index of the byte that memory offset 0 is

  std::byte* buffer() { return storage.data() + base; }

  Access access() {
    return {direction,
            buffer(),
            {memory.layout, 0, memory_skip, memory_skip + size},
            {Layout::tiled(tile.layout), displacement, skip, skip + size}};
  }

  struct Outcome {
    std::vector<std::byte> storage;
    std::int64_t count = 0;
  };

  // What a read of a file with this content leaves in memory, and the bytes it counts.
  Outcome expected_read(const std::vector<std::byte>& content) const {
    Outcome outcome{storage, 0};
    for (std::size_t i = 0; i < file_at.size(); ++i) {
      if (file_at[i] >= static_cast<std::int64_t>(content.size())) continue;
      outcome.storage[static_cast<std::size_t>(memory_at[i])] = content[static_cast<std::size_t>(file_at[i])];
      ++outcome.count;
    }
    return outcome;
  }
};

struct GroupOptions {
  int ranks = 1;
  Direction direction = Direction::read;
  std::int64_t max_bytes = 600;  // of one rank
  bool all_ordered = false;      // every rank's file side ascends
  bool whole_memory = false;     // the memory side is its whole layout, as a datatype is; else any part of it
};

// All ranks' parts in one access.
struct GroupAccess {
  std::vector<RankAccess> ranks;
  bool ordered = true;       // every rank's file side ascends
  bool overlapping = false;  // writes: bytes may belong to several ranks

  std::int64_t end() const {
    std::int64_t end = 0;
    for (const RankAccess& rank : ranks)
      for (const std::int64_t at : rank.file_at) end = std::max(end, at + 1);
    return end;
  }

  // The content after all ranks have written, one after the other.
  std::vector<std::byte> write_to(std::vector<std::byte> content) const {
    content.resize(std::max(content.size(), static_cast<std::size_t>(end())));
    for (const RankAccess& rank : ranks) {
      for (std::size_t i = 0; i < rank.file_at.size(); ++i)
        content[static_cast<std::size_t>(rank.file_at[i])] = rank.storage[static_cast<std::size_t>(rank.memory_at[i])];
    }
    return content;
  }

  // Whether `after` may be what the ranks' writes made of `before`: each byte is one of its writers', or as it was.
  // `complete`: as it was only where nobody writes. The size must be that of write_to(), or may be less if not
  // complete.
  bool may_become(const std::vector<std::byte>& before, const std::vector<std::byte>& after, bool complete) const {
    const std::vector<std::byte> written = write_to(before);
    if (after.size() > written.size() || after.size() < (complete ? written.size() : before.size())) return false;
    const auto before_at = [&](std::size_t i) { return i < before.size() ? before[i] : std::byte{0}; };
    if (!overlapping) {
      for (std::size_t i = 0; i < after.size(); ++i)
        if (after[i] != written[i] && (complete || after[i] != before_at(i))) return false;
      return true;
    }
    std::vector<std::vector<std::byte>> allowed(written.size());
    for (const RankAccess& rank : ranks) {
      for (std::size_t i = 0; i < rank.file_at.size(); ++i)
        allowed[static_cast<std::size_t>(rank.file_at[i])].push_back(
            rank.storage[static_cast<std::size_t>(rank.memory_at[i])]);
    }
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (allowed[i].empty() || !complete) allowed[i].push_back(before_at(i));
      if (std::find(allowed[i].begin(), allowed[i].end(), after[i]) == allowed[i].end()) return false;
    }
    return true;
  }
};

namespace detail {

inline void set_size(Random& random, const GroupOptions& options, RankAccess& rank) {
  rank.direction = options.direction;
  const std::int64_t tile = rank.tile.size();
  rank.skip = random.one_in(3) ? 0 : random.between(0, 3 * tile);
  switch (random.between(0, 9)) {
    case 0:
      rank.size = 0;
      break;
    case 1:
      rank.size = 1;
      break;
    case 2:
      rank.size = std::min(options.max_bytes, tile * random.between(1, 3));
      break;
    default:
      rank.size = random.between(1, options.max_bytes);
  }
}

inline void list_file_bytes(RankAccess& rank) {
  rank.file_at.clear();
  for (std::int64_t i = rank.skip; i < rank.skip + rank.size; ++i) {
    const std::int64_t tile = i / rank.tile.size();
    const std::int64_t at = rank.tile.at[static_cast<std::size_t>(i % rank.tile.size())];
    rank.file_at.push_back(rank.displacement + tile * rank.tile.layout.extent() + at);
  }
}

// A pattern of at least `rank.memory_skip + rank.size` bytes; exactly as many, or a little less, for whole memory.
inline Pattern random_memory(Random& random, const GroupOptions& options, const RankAccess& rank, Kind kind) {
  const std::int64_t needed = rank.memory_skip + rank.size;
  const Pattern element = random_pattern(random, random.one_in(2) ? Kind::ascending : kind);
  const std::int64_t count = options.whole_memory ? needed / element.size() : ceil_div(needed, element.size());
  Pattern memory;
  if (count == 0 || random.one_in(3)) {
    memory.layout = Layout::bytes(needed);
    memory.at.resize(static_cast<std::size_t>(needed));
    std::iota(memory.at.begin(), memory.at.end(), std::int64_t{0});
    return memory;
  }
  const std::int64_t stride = random_stride(random, kind, element);
  memory.layout = Layout::repeat(count, stride, element.layout);
  for (std::int64_t i = 0; i < count; ++i) memory.append(element, i * stride);
  return memory;
}

// Memory for the access: written bytes may come from one place several times, read ones may not go there.
inline void add_memory(Random& random, const GroupOptions& options, RankAccess& rank) {
  const Kind kind = options.direction == Direction::write && random.one_in(3) ? Kind::any : Kind::disjoint;
  rank.memory_skip = !options.whole_memory && random.one_in(3) ? random.between(0, 60) : 0;
  rank.memory = random_memory(random, options, rank, kind);
  if (options.whole_memory) rank.size = rank.memory.size();
  constexpr std::int64_t kGuard = 24;
  rank.base = kGuard - rank.memory.lowest();
  rank.storage.resize(static_cast<std::size_t>(rank.memory.span() + 2 * kGuard));
  random.fill(rank.storage);
  for (std::int64_t i = 0; i < rank.size; ++i)
    rank.memory_at.push_back(rank.base + rank.memory.at[static_cast<std::size_t>(rank.memory_skip + i)]);
}

inline Kind file_kind(Random& random, const GroupOptions& options, bool once) {
  if (options.all_ordered || !random.one_in(6)) return Kind::ascending;
  return once || random.one_in(2) ? Kind::disjoint : Kind::any;
}

// Ranks take turns in cells of the file; each repeats its own pattern in its cells.
inline void deal_cells(Random& random, const GroupOptions& options, GroupAccess& group) {
  std::int64_t period = 0;
  for (RankAccess& rank : group.ranks) {
    rank.tile = random_pattern(random, file_kind(random, options, true));
    rank.displacement = period;
    period += rank.tile.end() + (random.one_in(2) ? 0 : random.between(0, 20));
  }
  const std::int64_t start = random.one_in(2) ? 0 : random.between(1, 300);
  for (RankAccess& rank : group.ranks) {
    rank.tile.layout = rank.tile.layout.resized(random.between(-5, 5), period);
    rank.displacement += start;
    set_size(random, options, rank);
  }
}

// Each rank has a region of its own.
inline void deal_regions(Random& random, const GroupOptions& options, GroupAccess& group) {
  std::vector<std::size_t> order(group.ranks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (random.one_in(2)) random.shuffle(order);
  std::int64_t free = random.one_in(2) ? 0 : random.between(1, 300);
  for (const std::size_t index : order) {
    RankAccess& rank = group.ranks[index];
    rank.tile = random_pattern(random, file_kind(random, options, true));
    rank.tile.layout = rank.tile.layout.resized(0, rank.tile.span() + (random.one_in(2) ? 0 : random.between(1, 20)));
    rank.displacement = free;
    set_size(random, options, rank);
    list_file_bytes(rank);
    for (const std::int64_t at : rank.file_at) free = std::max(free, at + 1);
    free += random.one_in(2) ? 0 : random.between(0, 50);
  }
}

// Small ranges of the file are dealt to ranks at random; some to nobody.
inline void deal_ranges(Random& random, const GroupOptions& options, GroupAccess& group) {
  std::vector<std::vector<std::int64_t>> sizes(group.ranks.size());
  std::vector<std::vector<std::int64_t>> offsets(group.ranks.size());
  std::int64_t end = 0;
  for (std::int64_t i = random.between(1, 12) * static_cast<std::int64_t>(group.ranks.size()); i > 0; --i) {
    const std::int64_t owner = random.between(-1, static_cast<std::int64_t>(group.ranks.size()) - 1);
    const std::int64_t size = random.one_in(5) ? random.between(1, 90) : random.between(1, 9);
    if (owner >= 0) {
      offsets[static_cast<std::size_t>(owner)].push_back(end);
      sizes[static_cast<std::size_t>(owner)].push_back(size);
    }
    end += size;
  }
  for (std::size_t r = 0; r < group.ranks.size(); ++r) {
    RankAccess& rank = group.ranks[r];
    if (offsets[r].empty()) {
      offsets[r].push_back(end++);
      sizes[r].push_back(1);
    }
    rank.tile.layout = Layout::indexed(sizes[r], offsets[r], Layout::bytes(1));
    for (std::size_t i = 0; i < offsets[r].size(); ++i)
      for (std::int64_t byte = 0; byte < sizes[r][i]; ++byte) rank.tile.at.push_back(offsets[r][i] + byte);
  }
  for (RankAccess& rank : group.ranks) {
    rank.tile.layout = rank.tile.layout.resized(0, end);
    set_size(random, options, rank);
  }
}

// Everybody accesses anything. Tiles may reach into the next ones.
inline void deal_anything(Random& random, const GroupOptions& options, GroupAccess& group) {
  const bool read = options.direction == Direction::read;
  for (RankAccess& rank : group.ranks) {
    const Kind kind = file_kind(random, options, !read);
    rank.tile = random_pattern(random, kind);
    std::int64_t extent = rank.tile.span() + (random.one_in(2) ? 0 : random.between(1, 20));
    if (kind == Kind::any) extent = random.between(1, extent);
    rank.tile.layout = rank.tile.layout.resized(0, extent);
    rank.displacement = random.one_in(2) ? 0 : random.between(0, random.one_in(20) ? 50000 : 300);
    set_size(random, options, rank);
  }
  group.overlapping = !read && group.ranks.size() > 1;
}

}  // namespace detail

// A random access of a group. Reads may overlap in every way; one rank's writes never do, and those of different ranks
// only where `overlapping` says so.
inline GroupAccess random_group_access(Random& random, const GroupOptions& options) {
  GroupAccess group;
  group.ranks.resize(static_cast<std::size_t>(options.ranks));
  switch (random.between(0, options.direction == Direction::read ? 5 : 6)) {
    case 0:
    case 1:
      detail::deal_cells(random, options, group);
      break;
    case 2:
      detail::deal_regions(random, options, group);
      break;
    case 3:
    case 4:
      detail::deal_ranges(random, options, group);
      break;
    default:
      detail::deal_anything(random, options, group);
  }
  if (random.one_in(20)) {
    for (RankAccess& rank : group.ranks) rank.size = 0;
  } else if (random.one_in(4)) {
    const std::int64_t idle = random.between(0, options.ranks - 1);
    group.ranks[static_cast<std::size_t>(idle)].size = 0;
  }
  for (RankAccess& rank : group.ranks) {
    detail::add_memory(random, options, rank);
    detail::list_file_bytes(rank);
    const auto& at = rank.file_at;
    group.ordered = group.ordered && std::adjacent_find(at.begin(), at.end(), std::greater_equal<>()) == at.end();
  }
  return group;
}

// A file's content before an access: any size up to a little beyond the access's end.
inline std::vector<std::byte> random_content(Random& random, const GroupAccess& group) {
  std::int64_t size = 0;
  switch (random.between(0, 5)) {
    case 0:
      break;
    case 1:
    case 2:
      size = random.between(0, group.end());
      break;
    default:
      size = group.end() + random.between(0, 40);
  }
  std::vector<std::byte> content(static_cast<std::size_t>(size));
  random.fill(content);
  return content;
}

}  // namespace plenum::test
