// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts against an oracle that knows nothing of descriptions: the list of all byte offsets, in stream order.
#include "layout/layout.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace plenum {
namespace {

using Offsets = std::vector<std::int64_t>;

// What MPI calls a type map, in single bytes.
struct Model {
  Offsets bytes;
  std::int64_t lower = 0;
  std::int64_t upper = 0;

  std::int64_t extent() const { return upper - lower; }
  bool leaves_a_trace() const { return !bytes.empty() || lower != 0 || upper != 0; }
};

// A sequence of parts, placed one by one.
struct ModelBuilder {
  Model model;
  bool empty = true;

  void add(std::int64_t at, const Model& part) {
    if (!part.leaves_a_trace()) return;
    for (const std::int64_t byte : part.bytes) model.bytes.push_back(at + byte);
    model.lower = empty ? at + part.lower : std::min(model.lower, at + part.lower);
    model.upper = empty ? at + part.upper : std::max(model.upper, at + part.upper);
    empty = false;
  }
};

struct Case {
  Layout layout;
  Model model;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t upto(std::int64_t most) { return in(0, most); }
  std::int64_t in(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool chance(int percent) { return upto(99) < percent; }

 private:
  std::mt19937_64 engine_;
};

// Makes random layouts and their models, each node of the grammar once on either side.
class Generator {
 public:
  explicit Generator(Random& random) : random_(random) {}

  Case make(int depth) {
    if (depth == 0 || random_.chance(10)) return leaf();
    switch (random_.upto(7)) {
      case 0:
      case 1:
        return repeat(make(depth - 1));
      case 2:
        return indexed(make(depth - 1));
      case 3:
        return indexed_block(make(depth - 1));
      case 4:
        return join(depth);
      case 5:
        return subarray(make(depth - 1));
      case 6:
        return distributed(make(depth - 1));
      default:
        return resized(make(depth - 1));
    }
  }

  // More levels than a cursor holds without an allocation.
  Case make_deep() {
    Case made = leaf(1);
    for (int i = 0; i < 9; ++i) {
      const std::int64_t stride = random_.chance(80) ? made.model.extent() + random_.upto(3) : random_.in(-9, 9);
      made = repeat(made, 2, stride);
    }
    return made;
  }

 private:
  static constexpr std::int64_t kMostBytes = 600;

  Case leaf() { return leaf(random_.chance(10) ? 0 : random_.in(1, random_.chance(50) ? 2 : 9)); }

  static Case leaf(std::int64_t size) {
    Case made{Layout::bytes(size), {}};
    made.model.bytes.resize(static_cast<std::size_t>(size));
    std::iota(made.model.bytes.begin(), made.model.bytes.end(), 0);
    made.model.upper = size;
    return made;
  }

  // How many copies may still be made.
  std::int64_t count_for(const Case& element) {
    const std::int64_t most = kMostBytes / std::max<std::int64_t>(1, std::int64_t(element.model.bytes.size()));
    return random_.upto(std::min<std::int64_t>(5, most));
  }

  // A distance or displacement: often one that makes neighbours touch.
  std::int64_t distance(const Case& element) {
    switch (random_.upto(4)) {
      case 0:
        return element.model.extent();
      case 1:
        return std::int64_t(element.model.bytes.size());
      case 2:
        return random_.in(-30, 30);
      case 3:
        return element.model.extent() * random_.in(-2, 3);
      default:
        return random_.in(0, 60);
    }
  }

  Case repeat(const Case& element) {
    const std::int64_t count = count_for(element);
    return repeat(element, random_.chance(3) && count == 0 ? -1 : count, distance(element));
  }

  static Case repeat(const Case& element, std::int64_t count, std::int64_t stride) {
    ModelBuilder builder;
    for (std::int64_t i = 0; i < count; ++i) builder.add(i * stride, element.model);
    return {Layout::repeat(count, stride, element.layout), builder.model};
  }

  // Displacements of blocks: random, ascending, regular or touching.
  Offsets displacements(const Case& element, const Offsets& counts) {
    Offsets result;
    const std::int64_t step = distance(element);
    const std::int64_t style = random_.upto(3);
    std::int64_t next = random_.in(-20, 20);
    for (const std::int64_t count : counts) {
      result.push_back(next);
      if (style == 0) next = random_.in(-40, 40);
      if (style == 1) next += step;
      if (style >= 2) next += count * element.model.extent() + (random_.chance(50) ? 0 : random_.upto(9));
    }
    return result;
  }

  static Model model_of_blocks(const Offsets& counts, const Offsets& displacements, const Model& element) {
    ModelBuilder builder;
    for (std::size_t i = 0; i < counts.size(); ++i)
      for (std::int64_t k = 0; k < counts[i]; ++k) builder.add(displacements[i] + k * element.extent(), element);
    return builder.model;
  }

  Case indexed(const Case& element) {
    Offsets counts(static_cast<std::size_t>(random_.upto(5)));
    for (std::int64_t& count : counts) count = std::min<std::int64_t>(3, count_for(element));
    const Offsets at = displacements(element, counts);
    return {Layout::indexed(counts, at, element.layout), model_of_blocks(counts, at, element.model)};
  }

  Case indexed_block(const Case& element) {
    const std::int64_t count = std::min<std::int64_t>(3, count_for(element));
    const Offsets counts(static_cast<std::size_t>(random_.upto(6)), count);
    const Offsets at = displacements(element, counts);
    return {Layout::indexed_block(count, at, element.layout), model_of_blocks(counts, at, element.model)};
  }

  Case join(int depth) {
    std::vector<Layout> members;
    Offsets at;
    ModelBuilder builder;
    std::int64_t next = random_.in(-20, 20);
    Case member;
    for (std::int64_t i = random_.upto(4); i > 0; --i) {
      if (members.empty() || random_.chance(80)) member = make(random_.chance(50) ? 0 : depth - 1);
      if (std::int64_t(builder.model.bytes.size() + member.model.bytes.size()) > kMostBytes) break;
      members.push_back(member.layout);
      at.push_back(next);
      builder.add(next, member.model);
      next = random_.chance(40) ? random_.in(-40, 40)
                                : next + member.model.extent() + (random_.chance(50) ? 0 : random_.upto(5));
    }
    return {Layout::join(at, members), builder.model};
  }

  Case subarray(const Case& element) {
    const std::size_t n = static_cast<std::size_t>(random_.in(1, 3));
    Offsets sizes(n), subsizes(n), starts(n);
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < n; ++d) {
      sizes[d] = random_.in(1, 5);
      const std::int64_t most =
          kMostBytes / elements / std::max<std::int64_t>(1, std::int64_t(element.model.bytes.size()));
      subsizes[d] = random_.in(random_.chance(90) ? 1 : 0, std::min(sizes[d], std::max<std::int64_t>(most, 1)));
      if (random_.chance(20) && sizes[d] <= most) subsizes[d] = sizes[d];
      starts[d] = random_.upto(sizes[d] - subsizes[d]);
      elements *= std::max<std::int64_t>(1, subsizes[d]);
    }
    const Layout::Order order = random_.chance(50) ? Layout::Order::c : Layout::Order::fortran;
    const auto in_box = [&](std::size_t d, std::int64_t i) { return starts[d] <= i && i < starts[d] + subsizes[d]; };
    return {Layout::subarray(sizes, subsizes, starts, order, element.layout),
            model_of_array(sizes, order, element.model, in_box)};
  }

  Case distributed(const Case& element) {
    std::vector<Layout::Distribution> dimensions(static_cast<std::size_t>(random_.in(1, 3)));
    Offsets sizes;
    std::int64_t owned = 1;
    for (Layout::Distribution& d : dimensions) {
      d.global = random_.in(1, 6);
      d.procs = random_.in(1, 4);
      d.coordinate = random_.upto(d.procs - 1);
      d.chunk = random_.chance(40) ? ceil_div(d.global, d.procs) : random_.in(1, 3);
      sizes.push_back(d.global);
      owned *= std::max<std::int64_t>(1, ceil_div(d.global, d.procs) + d.chunk);
    }
    if (owned * std::int64_t(element.model.bytes.size()) > 2 * kMostBytes) return element;
    const Layout::Order order = random_.chance(50) ? Layout::Order::c : Layout::Order::fortran;
    const auto mine = [&](std::size_t d, std::int64_t i) {
      return i / dimensions[d].chunk % dimensions[d].procs == dimensions[d].coordinate;
    };
    return {Layout::distributed(dimensions, order, element.layout), model_of_array(sizes, order, element.model, mine)};
  }

  // The elements of an array, in storage order, whose every index is wanted.
  template <class Wanted>
  static Model model_of_array(const Offsets& sizes, Layout::Order order, const Model& element, const Wanted& wanted) {
    const std::size_t n = sizes.size();
    const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
    Model model;
    for (std::int64_t place = 0; place < total; ++place) {
      std::int64_t rest = place;
      bool in = true;
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t d = order == Layout::Order::c ? n - 1 - i : i;
        in = in && wanted(d, rest % sizes[d]);
        rest /= sizes[d];
      }
      for (std::size_t k = 0; in && k < element.bytes.size(); ++k)
        model.bytes.push_back(place * element.extent() + element.bytes[k]);
    }
    model.upper = total * element.extent();
    return model;
  }

  Case resized(Case element) {
    element.model.lower = random_.chance(50) ? 0 : random_.in(-20, 20);
    element.model.upper = element.model.lower + random_.in(random_.chance(10) ? -20 : 0, 60);
    element.layout = element.layout.resized(element.model.lower, element.model.extent());
    return element;
  }

  Random& random_;
};

bool ascends(const Offsets& bytes) {
  return std::adjacent_find(bytes.begin(), bytes.end(), std::greater_equal<>()) == bytes.end();
}

Offsets walk(Cursor at, std::int64_t size) {
  Offsets bytes;
  while (std::int64_t(bytes.size()) < size && !at.done()) {
    const Run run = at.next_run();
    for (std::int64_t i = 0; i < run.size && std::int64_t(bytes.size()) < size; ++i) bytes.push_back(run.offset + i);
  }
  return bytes;
}

Offsets bytes_of(const Slice& slice) { return walk(slice.cursor(), slice.size()); }

// Bytes [begin, end) of the model, moved by `origin`.
Offsets part_of(const Model& model, std::int64_t origin, std::int64_t begin, std::int64_t end) {
  Offsets part(model.bytes.begin() + begin, model.bytes.begin() + end);
  for (std::int64_t& byte : part) byte += origin;
  return part;
}

ByteRange hull_of(const Offsets& bytes) {
  if (bytes.empty()) return {0, 0};
  const auto [low, high] = std::minmax_element(bytes.begin(), bytes.end());
  return {*low, *high + 1};
}

void check_numbers(const Layout& layout, const Model& model) {
  ASSERT_EQ(layout.size(), std::int64_t(model.bytes.size()));
  ASSERT_EQ(layout.lower_bound(), model.lower);
  ASSERT_EQ(layout.extent(), model.extent());
  ASSERT_EQ(layout.bounds(), hull_of(model.bytes));
  ASSERT_EQ(layout.ordered(), ascends(model.bytes));
  ASSERT_TRUE(layout.monotonic() || !layout.ordered());
}

void check_walk(const Layout& layout, const Model& model, std::int64_t origin) {
  ASSERT_EQ(walk(Cursor(layout, origin), layout.size()), part_of(model, origin, 0, layout.size()));
  std::int64_t runs = 0;
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  bool monotonic = true;
  Cursor at(layout);
  for (; !at.done(); ++runs) {
    const Run run = at.next_run();
    ASSERT_GT(run.size, 0);
    monotonic = monotonic && run.offset >= last;
    last = run.offset;
  }
  ASSERT_EQ(at.next_run(), (Run{0, 0}));
  ASSERT_EQ(layout.monotonic(), monotonic);
  ASSERT_LE(runs, layout.runs());
  ASSERT_EQ(runs == 0, layout.runs() == 0);
  ASSERT_TRUE(layout.is_one_run() == (layout.runs() <= 1));
}

// By strips, partly taken.
void check_strips(const Layout& layout, const Model& model, Random& random) {
  Offsets bytes;
  const std::int64_t begin = random.upto(layout.size());
  Cursor at(layout, 0, begin);
  for (Strip strip = at.strip(); strip.count > 0; strip = at.strip()) {
    const std::int64_t count = random.in(1, strip.count);
    for (std::int64_t k = 0; k < count; ++k)
      for (std::int64_t i = 0; i < strip.size; ++i) bytes.push_back(strip.at(k) + i);
    at.skip_runs(count);
  }
  ASSERT_TRUE(at.done());
  ASSERT_EQ(bytes, part_of(model, 0, begin, layout.size()));
}

void check_seek(const Layout& layout, const Model& model, Random& random) {
  Cursor at(layout, 7);
  for (int i = 0; i < 6; ++i) {
    std::int64_t byte = random.upto(layout.size());
    at.seek(byte);
    // Goes on in small steps, then jumps again.
    for (int k = 0; k < 5; ++k) {
      ASSERT_EQ(at.done(), byte == layout.size());
      if (at.done()) break;
      ASSERT_EQ(at.run().offset, model.bytes[std::size_t(byte)] + 7);
      const std::int64_t step = random.in(1, at.run().size);
      ASSERT_EQ(model.bytes[std::size_t(byte + step - 1)], model.bytes[std::size_t(byte)] + step - 1);
      at.skip(step);
      byte += step;
    }
  }
}

void check_counts(const Layout& layout, const Model& model, Random& random) {
  const std::int64_t far = std::numeric_limits<std::int64_t>::max();
  const auto below = [&](std::int64_t offset) {
    return std::count_if(model.bytes.begin(), model.bytes.end(), [&](std::int64_t byte) { return byte < offset; });
  };
  const ByteRange bounds = layout.bounds();
  for (int i = 0; i < 8; ++i) {
    const ByteRange range = {random.in(bounds.begin - 3, bounds.end + 3), random.in(bounds.begin - 3, bounds.end + 3)};
    ASSERT_EQ(layout.bytes_below(range.begin), below(range.begin));
    ASSERT_EQ(layout.count_bytes_in(range), below(range.end) - below(range.begin));
  }
  ASSERT_EQ(layout.bytes_below(far), layout.size());
  ASSERT_EQ(layout.bytes_below(-far - 1), 0);
}

void check_within(const Slice& slice, const Offsets& bytes, Random& random) {
  const ByteRange bounds = hull_of(bytes);
  for (int i = 0; i < 4; ++i) {
    ByteRange range = {random.in(bounds.begin - 3, bounds.end + 3), random.in(bounds.begin - 3, bounds.end + 3)};
    if (i == 0) range = {0, std::numeric_limits<std::int64_t>::max()};
    Offsets expected;
    for (const std::int64_t byte : bytes)
      if (range.begin <= byte && byte < range.end) expected.push_back(byte);
    ASSERT_EQ(bytes_of(slice.within(range)), expected);

    Offsets visited;
    const std::int64_t stop_after = random.in(1, 4);
    std::int64_t visits = 0;
    for_each_run_in(slice, range, [&](Run run) {
      for (std::int64_t k = 0; k < run.size; ++k) visited.push_back(run.offset + k);
    });
    ASSERT_EQ(visited, expected);
    visited.clear();
    for_each_run_in(slice, range, [&](Run run) -> bool {
      for (std::int64_t k = 0; k < run.size; ++k) visited.push_back(run.offset + k);
      return ++visits < stop_after;
    });
    ASSERT_LE(visits, stop_after);
    ASSERT_LE(visited.size(), expected.size());
    ASSERT_TRUE(std::equal(visited.begin(), visited.end(), expected.begin()));
    ASSERT_TRUE(visited.size() == expected.size() || visits == stop_after);
  }
}

void check_copies(const Slice& slice, const Offsets& bytes) {
  const ByteRange bounds = hull_of(bytes);
  std::vector<std::byte> memory(static_cast<std::size_t>(bounds.size()));
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = std::byte(i * 7 + 1);
  const std::vector<std::byte> original = memory;
  // The base may lie outside of the memory, or be null.
  std::byte* const base = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(memory.data()) -
                                                       static_cast<std::uintptr_t>(bounds.begin));
  std::vector<std::byte> packed(bytes.size());
  pack(slice, base, packed.data());
  std::vector<std::byte> expected;
  for (const std::int64_t byte : bytes) expected.push_back(original[std::size_t(byte - bounds.begin)]);
  ASSERT_EQ(packed, expected);

  Slice absolute = slice;
  absolute.origin += std::int64_t(reinterpret_cast<std::intptr_t>(base));
  std::fill(packed.begin(), packed.end(), std::byte{0});
  pack(absolute, nullptr, packed.data());
  ASSERT_EQ(packed, expected);

  // Later bytes of the stream overwrite earlier ones.
  std::vector<std::byte> target = original;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    packed[i] = std::byte(i * 11 + 3);
    target[std::size_t(bytes[i] - bounds.begin)] = packed[i];
  }
  unpack(slice, packed.data(), base);
  ASSERT_EQ(memory, target);
}

void check_wire(const Slice& slice, const Offsets& bytes, Random& random) {
  std::vector<std::byte> message(3, std::byte{9});
  append_slice(slice, message);
  const std::size_t size = message.size();
  message.push_back(std::byte{5});
  ConstBytes from = ConstBytes(message).subspan(3);
  const Result<Slice> read = read_slice(from);
  ASSERT_TRUE(read.ok()) << read.error().detail;
  ASSERT_EQ(from.size(), 1u);
  ASSERT_EQ(bytes_of(read.value()), bytes);
  ASSERT_EQ(read.value().size(), slice.size());
  ASSERT_EQ(read.value().ordered() || !slice.ordered(), true);

  ConstBytes cut = ConstBytes(message).subspan(3, std::size_t(random.upto(std::int64_t(size) - 4)));
  const Result<Slice> short_read = read_slice(cut);
  ASSERT_FALSE(short_read.ok());
  ASSERT_EQ(short_read.error().code, Code::Communication);
}

void check_slice(const Layout& layout, const Model& model, Random& random) {
  const std::int64_t origin = random.in(-1000, 1000);
  const std::int64_t begin = random.upto(layout.size());
  const std::int64_t end = random.in(begin, layout.size());
  const Slice slice{layout, origin, begin, end};
  const Offsets bytes = part_of(model, origin, begin, end);
  ASSERT_EQ(bytes_of(slice), bytes);

  const ByteRange bounds = slice.bounds();
  if (slice.ordered() || slice.empty()) {
    ASSERT_EQ(bounds, hull_of(bytes));
  } else {
    ASSERT_TRUE(bounds.contains(hull_of(bytes)));
    ASSERT_TRUE((ByteRange{layout.bounds().begin + origin, layout.bounds().end + origin}).contains(bounds));
  }

  const std::int64_t from = random.upto(slice.size());
  const std::int64_t size = random.upto(slice.size() - from);
  ASSERT_EQ(bytes_of(slice.part(from, size)), Offsets(bytes.begin() + from, bytes.begin() + from + size));

  const Slice trimmed = slice.trimmed();
  ASSERT_EQ(bytes_of(trimmed), bytes);
  ASSERT_LE(trimmed.layout.memory(), layout.memory() + 512);
  ASSERT_EQ(slice.runs() > 0, !slice.empty());
  ASSERT_LE(slice.runs(), slice.size());

  if (slice.ordered()) check_within(slice, bytes, random);
  check_copies(slice, bytes);
  check_wire(slice, bytes, random);
}

TEST(Layout, random_descriptions_agree_with_their_list_of_bytes) {
  std::int64_t ordered = 0;
  std::int64_t deep = 0;
  for (std::uint64_t seed = 0; seed < 24000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Case made =
        seed % 50 == 0 ? Generator(random).make_deep() : Generator(random).make(static_cast<int>(seed % 6));
    ordered += made.layout.ordered() && made.layout.runs() > 2;
    deep += made.layout.depth() > 6;
    check_numbers(made.layout, made.model);
    check_walk(made.layout, made.model, random.in(-50, 50));
    check_strips(made.layout, made.model, random);
    check_seek(made.layout, made.model, random);
    check_counts(made.layout, made.model, random);
    check_slice(made.layout, made.model, random);
    if (HasFatalFailure()) return;
  }
  // The generator reaches what matters.
  EXPECT_GT(ordered, 2000);
  EXPECT_GT(deep, 20);
}

TEST(Layout, seeking_finds_every_byte) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed + 100000);
    const Case made = Generator(random).make(4);
    Cursor at(made.layout);
    for (std::int64_t byte = 0; byte < made.layout.size(); ++byte) {
      at.seek(byte);
      ASSERT_EQ(walk(at, made.layout.size() - byte), part_of(made.model, 0, byte, made.layout.size()));
    }
  }
}

TEST(Layout, tiles_follow_each_other_one_extent_apart) {
  int tested = 0;
  for (std::uint64_t seed = 0; tested < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed + 200000);
    const Case made = Generator(random).make(3);
    const std::int64_t size = made.layout.size();
    if (size == 0 || made.model.extent() <= 0) continue;
    ++tested;
    const Layout tiled = Layout::tiled(made.layout);
    ASSERT_GT(tiled.size() / size, std::int64_t{1} << 44);
    const std::int64_t first = random.upto(1) * random.upto(std::int64_t{1} << 43);
    const std::int64_t begin = first * size + random.upto(size - 1);
    const std::int64_t end = begin + random.in(1, 3 * size);
    Offsets expected;
    for (std::int64_t byte = begin; byte < end; ++byte)
      expected.push_back(100 + byte / size * made.model.extent() + made.model.bytes[std::size_t(byte % size)]);
    const Slice slice{tiled, 100, begin, end};
    ASSERT_EQ(bytes_of(slice), expected);
    ASSERT_TRUE(slice.bounds().contains(hull_of(expected)));
    if (slice.ordered()) {
      ASSERT_EQ(slice.bounds(), hull_of(expected));
      ASSERT_EQ(slice.within(hull_of(expected)).begin, begin);
      ASSERT_EQ(slice.within(hull_of(expected)).end, end);
    }
    check_wire(slice, expected, random);
    // The number of runs is known to within one tile's.
    std::int64_t runs = 0;
    std::int64_t left = slice.size();
    for (Cursor at = slice.cursor(); left > 0; ++runs) left -= at.next_run().size;
    ASSERT_LE(std::abs(slice.runs() - runs), made.layout.runs() + 2);
    if (HasFatalFailure()) return;
  }
}

TEST(Layout, the_number_of_equal_runs_is_exact_to_within_two) {
  const Slice slice{Layout::tiled(Layout::bytes(8).resized(0, 24)), 0, 8 * 1000 + 3, 8 * 5000 + 1};
  EXPECT_NEAR(double(slice.runs()), 4001, 2);
}

TEST(Layout, memory_and_file_are_walked_together) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed + 300000);
    const Case memory = Generator(random).make(3);
    const Case file = Generator(random).make(3);
    const std::int64_t size = random.upto(std::min(memory.layout.size(), file.layout.size()));
    const std::int64_t memory_begin = random.upto(memory.layout.size() - size);
    const std::int64_t file_begin = random.upto(file.layout.size() - size);
    const Slice from{memory.layout, 11, memory_begin, memory_begin + size};
    const Slice to{file.layout, -5, file_begin, file_begin + size};

    const std::size_t count = std::size_t(random.in(1, 7));
    const std::int64_t budget = random.in(1, 50);
    Offsets memory_bytes, file_bytes;
    std::vector<Piece> pieces;
    PieceCursor at(from, to);
    while (at.next_round(pieces, count, budget)) {
      ASSERT_LE(pieces.size(), count);
      std::int64_t moved = 0;
      for (const Piece& piece : pieces) {
        ASSERT_GT(piece.size, 0);
        moved += piece.size;
        for (std::int64_t i = 0; i < piece.size; ++i) {
          memory_bytes.push_back(piece.memory + i);
          file_bytes.push_back(piece.file + i);
        }
      }
      ASSERT_LE(moved, budget);
      ASSERT_TRUE(moved == budget || pieces.size() == count || at.done());
      ASSERT_EQ(at.left(), size - std::int64_t(memory_bytes.size()));
    }
    ASSERT_TRUE(at.done());
    ASSERT_TRUE(pieces.empty());
    ASSERT_EQ(memory_bytes, part_of(memory.model, 11, memory_begin, memory_begin + size));
    ASSERT_EQ(file_bytes, part_of(file.model, -5, file_begin, file_begin + size));
  }
}

// ---- damaged messages

std::vector<std::byte> message_of(Random& random) {
  const Case made = Generator(random).make(4);
  std::vector<std::byte> message;
  append_slice({made.layout, random.in(-9, 9), 0, made.layout.size()}, message);
  return message;
}

// Whatever was read must be safe to use.
void use(const Slice& slice) {
  ASSERT_GE(slice.begin, 0);
  ASSERT_LE(slice.begin, slice.end);
  ASSERT_LE(slice.end, slice.layout.size());
  Cursor at = slice.cursor();
  for (int i = 0; i < 50 && !at.done(); ++i) at.next_run();
  if (slice.end > 0) at.seek(slice.end - 1);
  const ByteRange bounds = slice.bounds();
  ASSERT_LE(bounds.begin, bounds.end);
  // In an unordered description, counting may look at very many copies.
  if (slice.ordered()) (void)slice.within({bounds.begin + 1, bounds.end - 1});
  (void)slice.runs();
}

TEST(LayoutWire, damaged_words_give_an_error_or_a_safe_slice) {
  const std::int64_t odd[] = {0,
                              1,
                              -1,
                              2,
                              3,
                              4,
                              100,
                              1 << 20,
                              Layout::kReach,
                              -Layout::kReach,
                              Layout::kReach + 1,
                              std::numeric_limits<std::int64_t>::max(),
                              std::numeric_limits<std::int64_t>::min()};
  int errors = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed + 400000);
    std::vector<std::byte> message = message_of(random);
    for (std::int64_t changes = random.in(1, 3); changes > 0; --changes) {
      const std::int64_t word = random.upto(std::int64_t(message.size() / 8) - 1);
      const std::int64_t value =
          random.chance(80) ? odd[random.upto(std::int64_t(std::size(odd)) - 1)] : random.in(-99, 99);
      std::memcpy(&message[std::size_t(word) * 8], &value, 8);
    }
    ConstBytes from = message;
    const Result<Slice> read = read_slice(from);
    errors += !read.ok();
    if (!read.ok()) continue;
    ASSERT_LE(read.value().layout.memory(), 64 * message.size());
    use(read.value());
  }
  EXPECT_GT(errors, 5000);
  EXPECT_LT(errors, 19000);
}

TEST(LayoutWire, random_bytes_give_an_error) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> message(std::size_t(random.upto(200)));
    for (std::byte& byte : message) byte = std::byte(random.upto(255));
    ConstBytes from = message;
    ASSERT_FALSE(read_slice(from).ok());
  }
}

TEST(LayoutWire, every_number_is_checked) {
  const auto accepted = [](const Offsets& words) {
    ConstBytes from = std::as_bytes(std::span(words));
    return read_slice(from).ok();
  };
  const std::int64_t far = std::numeric_limits<std::int64_t>::max();
  // origin, begin, end; then nodes: run {0, size}, repeat {1, count, stride, child}, blocks {2, n, count, stride,
  // offsets, (copies before each), child}, join {3, n, offsets, children}.
  EXPECT_TRUE(accepted({5, 0, 8, 0, 8}));
  EXPECT_TRUE(accepted({5, 0, 0, 0, 0}));
  EXPECT_FALSE(accepted({5, 0, 9, 0, 8}));
  EXPECT_FALSE(accepted({5, 3, 2, 0, 8}));
  EXPECT_FALSE(accepted({5, -1, 2, 0, 8}));
  EXPECT_FALSE(accepted({5, 0, 0, 0, -8}));
  EXPECT_FALSE(accepted({5, 0, 8, 0, Layout::kReach + 1}));
  EXPECT_FALSE(accepted({far - 7, 0, 8, 0, 8}));
  EXPECT_TRUE(accepted({5, 0, 8, 1, 2, 6, 0, 4}));
  EXPECT_FALSE(accepted({5, 0, 0, 1, 2, 6, 0, 0}));
  EXPECT_FALSE(accepted({5, 0, 0, 1, 0, 6, 0, 4}));
  EXPECT_FALSE(accepted({5, 0, 0, 1, -2, 6, 0, 4}));
  EXPECT_FALSE(accepted({5, 0, 0, 1, far, 6, 0, 4}));
  EXPECT_FALSE(accepted({5, 0, 0, 1, 3, far, 0, 4}));
  EXPECT_TRUE(accepted({5, 0, 12, 2, 3, 1, 4, 0, 5, 20, 0, 4}));
  EXPECT_FALSE(accepted({5, 0, 12, 2, 3, 1, 4, 0, 5, far, 0, 4}));
  EXPECT_FALSE(accepted({5, 0, 0, 2, 3, -1, 4, 0, 5, 20, 0, 4}));
  EXPECT_TRUE(accepted({5, 0, 6, 2, 3, 0, 1, 0, 5, 20, 0, 1, 3, 6, 0, 1}));
  EXPECT_FALSE(accepted({5, 0, 6, 2, 3, 0, 1, 0, 5, 20, 0, 3, 3, 6, 0, 1}));
  EXPECT_FALSE(accepted({5, 0, 6, 2, 3, 0, 1, 0, 5, 20, 1, 2, 3, 6, 0, 1}));
  EXPECT_FALSE(accepted({5, 0, 0, 2, 0, 1, 1, 0, 1}));
  EXPECT_TRUE(accepted({5, 0, 6, 3, 2, 0, 50, 0, 4, 0, 2}));
  EXPECT_FALSE(accepted({5, 0, 4, 3, 2, 0, 50, 0, 4, 0, 0}));
  EXPECT_FALSE(accepted({5, 0, 0, 3, 0}));
  EXPECT_FALSE(accepted({5, 0, 0, 3, far, 0}));
  EXPECT_FALSE(accepted({5, 0, 0, 3, 1, 0, 100}));
}

TEST(LayoutWire, endless_nesting_is_refused) {
  std::vector<std::int64_t> words = {0, 0, 0};
  for (int i = 0; i < 100000; ++i) words.insert(words.end(), {1, 2, 1});  // repeat, two copies, stride 1
  const auto bytes = std::as_bytes(std::span(words));
  ConstBytes from = bytes;
  EXPECT_FALSE(read_slice(from).ok());
}

TEST(LayoutWire, only_the_part_in_use_is_sent) {
  Offsets at;
  for (std::int64_t i = 0; i < 100000; ++i) at.push_back(i * i);
  const Layout layout = Layout::indexed_block(1, at, Layout::bytes(1));
  std::vector<std::byte> message;
  append_slice({layout, 0, 500, 520}, message);
  EXPECT_LT(message.size(), 300u);

  // A struct of equal members is sent once.
  const Layout member = Layout::indexed_block(1, Offsets{0, 3, 4, 9, 11}, Layout::bytes(1));
  const std::vector<Layout> members(1000, member);
  Offsets places;
  for (std::int64_t i = 0; i < 1000; ++i) places.push_back(i * i * 20);
  message.clear();
  const Slice slice{Layout::join(places, members), 3, 1, 4999};
  append_slice(slice, message);
  EXPECT_LT(message.size(), 1000u * 16 + 300);
  ConstBytes from = message;
  EXPECT_EQ(bytes_of(read_slice(from).value()), bytes_of(slice));
}

// ---- normal form and cost

TEST(Layout, what_is_contiguous_becomes_one_run) {
  const Layout row = Layout::repeat(10, 8, Layout::bytes(8));
  EXPECT_TRUE(row.is_dense());
  EXPECT_TRUE(Layout::repeat(10, 80, row).is_dense());
  EXPECT_TRUE(Layout::indexed(Offsets{2, 0, 3}, Offsets{0, 999, 16}, Layout::bytes(8)).is_dense());
  EXPECT_TRUE(Layout::join(Offsets{0, 8}, std::vector{Layout::bytes(8), Layout::bytes(4)}).is_dense());
  const Offsets shape = {4, 5, 6}, zero = {0, 0, 0};
  EXPECT_TRUE(Layout::subarray(shape, shape, zero, Layout::Order::fortran, Layout::bytes(2)).is_dense());
  const Layout slab = Layout::subarray(shape, Offsets{2, 5, 6}, Offsets{1, 0, 0}, Layout::Order::c, Layout::bytes(2));
  EXPECT_TRUE(slab.is_one_run());
  EXPECT_FALSE(slab.is_dense());
  EXPECT_EQ(slab.extent(), 240);
  EXPECT_EQ(Layout::repeat(5, 20, Layout::repeat(2, 10, Layout::bytes(1))).depth(), 1);
  // Equal blocks at equal distances are not a list.
  EXPECT_EQ(Layout::indexed_block(2, Offsets{5, 15, 25, 35}, Layout::bytes(1)).depth(), 1);
  EXPECT_LT(Layout::indexed_block(2, Offsets{5, 15, 25, 35}, Layout::bytes(1)).memory(), 600u);
}

TEST(Layout, what_fits_is_decided_without_overflow) {
  const Layout one = Layout::bytes(1);
  const std::int64_t far = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(Layout::repeat_fits(0, far, one));
  EXPECT_TRUE(Layout::repeat_fits(Layout::kReach, 1, one));
  EXPECT_FALSE(Layout::repeat_fits(Layout::kReach + 1, 1, one));
  EXPECT_TRUE(Layout::repeat_fits(2, Layout::kReach - 1, one));
  EXPECT_FALSE(Layout::repeat_fits(2, Layout::kReach, one));
  EXPECT_FALSE(Layout::repeat_fits(3, -Layout::kReach / 2 - 1, one));
  EXPECT_FALSE(Layout::repeat_fits(far, far, one));
  EXPECT_FALSE(Layout::repeat_fits(far, 0, one));
  EXPECT_FALSE(Layout::repeat_fits(far, 1, Layout().resized(0, 1)));
  EXPECT_TRUE(Layout::repeat_fits(2, 1, one, Layout::kReach - 2));
  EXPECT_FALSE(Layout::repeat_fits(2, 1, one, Layout::kReach - 1));

  // Whatever the numbers of a distribution, only the array must fit.
  const Layout::Distribution huge_chunks[] = {{100, far, 7, 0}};
  EXPECT_EQ(Layout::distributed(huge_chunks, Layout::Order::c, one).size(), 100);
  const Layout::Distribution idle[] = {{100, 1 << 30, far, far - 1}};
  EXPECT_EQ(Layout::distributed(idle, Layout::Order::c, one).size(), 0);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Layout, a_huge_subarray_costs_no_more_than_a_small_one) {
  const auto start = std::chrono::steady_clock::now();
  const Offsets sizes = {100000, 100000}, subsizes = {50000, 50000}, starts = {25000, 25000};
  for (const Layout::Order order : {Layout::Order::c, Layout::Order::fortran}) {
    const Layout box = Layout::subarray(sizes, subsizes, starts, order, Layout::bytes(8).resized(0, 16));
    EXPECT_EQ(box.size(), 50000LL * 50000 * 8);
    EXPECT_LT(box.memory(), 2048u);
    Cursor at(box);
    std::int64_t sum = 0;
    for (int i = 0; i < 1000000; ++i) sum += at.next_run().offset;
    // Twenty rows of 50,000 runs.
    std::int64_t expected = 0;
    for (std::int64_t row = 25000; row < 25020; ++row)
      expected += 50000 * row * 1600000 + 16 * (25000LL * 50000 + 50000LL * 49999 / 2);
    EXPECT_EQ(sum, expected);
    EXPECT_EQ(box.count_bytes_in({0, 1600000LL * 25001}), 50000 * 8);
  }
  EXPECT_LT(seconds_since(start), 1);
}

TEST(Layout, a_list_of_equal_blocks_costs_eight_bytes_a_block) {
  constexpr std::int64_t kBlocks = 100000;
  Offsets at;
  for (std::int64_t i = 0; i < kBlocks; ++i) at.push_back(i * 100 + i % 7);
  EXPECT_LT(Layout::indexed_block(5, at, Layout::bytes(8)).memory(), std::size_t(kBlocks) * 8 + 1024);
  EXPECT_LT(Layout::indexed_block(5, at, Layout::bytes(8).resized(0, 9)).memory(), std::size_t(kBlocks) * 8 + 1024);
  Offsets counts;
  for (std::int64_t i = 0; i < kBlocks; ++i) counts.push_back(1 + i % 3);
  EXPECT_LT(Layout::indexed(counts, at, Layout::bytes(8)).memory(), std::size_t(kBlocks) * 16 + 1024);
}

TEST(Layout, copies_share_their_description) {
  // A tree of 2^60 leaves, made of 60 nodes.
  Layout layout = Layout::indexed_block(1, Offsets{0, 2, 5}, Layout::bytes(1));
  for (int i = 0; i < 50; ++i) layout = Layout::join(Offsets{0, i % 2}, std::vector{layout, layout});
  EXPECT_EQ(layout.size(), std::int64_t{3} << 50);
  EXPECT_LT(layout.memory(), 60u * 400);
  std::vector<std::byte> message;
  append_slice({layout, 0, 0, layout.size()}, message);
  EXPECT_LT(message.size(), 60u * 100);
  ConstBytes from = message;
  EXPECT_EQ(read_slice(from).value().size(), layout.size());
}

}  // namespace
}  // namespace plenum
