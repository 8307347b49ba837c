// SPDX-License-Identifier: BSD-3-Clause
#include "layout/node.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace plenum::detail {

namespace {

using Kind = Node::Kind;
__extension__ using Wide = __int128;  // holds every product of two offsets

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMax : product;
}

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMax : sum;
}

// What the order of a sequence of placed parts says about the whole. Parts are added in stream order.
struct OrderCheck {
  bool ordered = true;
  bool monotonic = true;
  std::int64_t end = kMin;
  std::int64_t last = kMin;

  void add(bool part_ordered, bool part_monotonic, ByteRange bounds, std::int64_t part_first, std::int64_t part_last) {
    ordered = ordered && part_ordered && bounds.begin >= end;
    monotonic = monotonic && part_monotonic && part_first >= last;
    end = bounds.end;
    last = part_last;
  }
};

// Copies `stride` apart of `child`: bounds and order.
struct Copies {
  bool ordered;
  bool monotonic;
  ByteRange bounds;
  std::int64_t last;

  Copies(const Node& child, std::int64_t count, std::int64_t stride) {
    const std::int64_t shift = (count - 1) * stride;
    ordered = child.ordered && (count == 1 || stride >= child.bounds.size());
    monotonic = child.monotonic && (count == 1 || stride >= child.last - child.first);
    bounds = {child.bounds.begin + std::min<std::int64_t>(shift, 0),
              child.bounds.end + std::max<std::int64_t>(shift, 0)};
    last = child.last + shift;
  }
};

ByteRange hull(ByteRange a, ByteRange b) { return {std::min(a.begin, b.begin), std::max(a.end, b.end)}; }

// Fills in what follows from offsets and copies, which are not equal counts at equal distances.
void summarise_blocks(Node& node, const std::vector<std::int64_t>& copies) {
  const Node& child = node.child();
  const bool dense = node.dense_blocks();
  std::int64_t total = 0;
  OrderCheck check;
  node.bounds = {kMax, kMin};
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const Copies block(child, copies[i], node.stride);
    const std::int64_t at = node.offsets[i];
    const ByteRange bounds = {at + block.bounds.begin, at + block.bounds.end};
    // A dense block is one run, so it starts once.
    check.add(block.ordered, block.monotonic, bounds, at + child.first, at + (dense ? child.first : block.last));
    node.bounds = hull(node.bounds, bounds);
    total += copies[i];
  }
  node.ordered = check.ordered;
  node.monotonic = check.monotonic;
  node.depth = child.depth + 1;
  node.size = total * child.size;
  node.runs = dense ? node.blocks() : saturating_multiply(total, child.runs);
  node.first = node.offsets[0] + child.first;
  node.last = check.last;
}

}  // namespace

const NodePtr& empty_node() {
  static const NodePtr node = run_node(0);
  return node;
}

NodePtr run_node(std::int64_t size) {
  Node node;
  node.size = size;
  node.bounds = {0, size};
  return std::make_shared<const Node>(std::move(node));
}

NodePtr repeat_node(std::int64_t count, std::int64_t stride, NodePtr child) {
  if (count == 1) return child;
  if (child->kind == Kind::run && stride == child->size) return run_node(count * stride);
  if (child->kind == Kind::repeat && stride == child->count * child->stride)
    return repeat_node(count * child->count, child->stride, child->children[0]);
  const Copies copies(*child, count, stride);
  Node node;
  node.kind = Kind::repeat;
  node.ordered = copies.ordered;
  node.monotonic = copies.monotonic;
  node.depth = child->depth + 1;
  node.size = count * child->size;
  node.runs = saturating_multiply(count, child->runs);
  node.bounds = copies.bounds;
  node.first = child->first;
  node.last = copies.last;
  node.count = count;
  node.stride = stride;
  node.children = {std::move(child)};
  return std::make_shared<const Node>(std::move(node));
}

PlacedNode blocks_node(std::vector<std::int64_t> offsets, std::vector<std::int64_t> copies, std::int64_t stride,
                       NodePtr child) {
  const std::size_t n = offsets.size();
  const bool equal = std::all_of(copies.begin(), copies.end(), [&](std::int64_t c) { return c == copies[0]; });
  const std::int64_t distance = n > 1 ? offsets[1] - offsets[0] : 0;
  bool regular = equal;
  for (std::size_t i = 2; regular && i < n; ++i) regular = offsets[i] - offsets[i - 1] == distance;
  if (regular) {
    NodePtr block = repeat_node(copies[0], stride, std::move(child));
    return {repeat_node(static_cast<std::int64_t>(n), distance, std::move(block)), offsets[0]};
  }
  Node node;
  node.kind = Kind::blocks;
  node.count = equal ? copies[0] : 0;
  node.stride = stride;
  if (!equal) {
    node.before.resize(n + 1);
    std::inclusive_scan(copies.begin(), copies.end(), node.before.begin() + 1);
  }
  node.offsets = std::move(offsets);
  node.offsets.shrink_to_fit();
  node.children = {std::move(child)};
  summarise_blocks(node, copies);
  return {std::make_shared<const Node>(std::move(node)), 0};
}

void append_run(std::vector<std::int64_t>& offsets, std::vector<std::int64_t>& sizes, std::int64_t offset,
                std::int64_t size) {
  if (!offsets.empty() && offsets.back() + sizes.back() == offset) {
    sizes.back() += size;
  } else {
    offsets.push_back(offset);
    sizes.push_back(size);
  }
}

PlacedNode runs_node(std::vector<std::int64_t> offsets, std::vector<std::int64_t> sizes) {
  // Runs of equal size are one copy each of that size; others are copies of single bytes.
  const bool equal = std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t size) { return size == sizes[0]; });
  const std::int64_t unit = equal ? sizes[0] : 1;
  for (std::int64_t& size : sizes) size /= unit;
  return blocks_node(std::move(offsets), std::move(sizes), unit, run_node(unit));
}

NodePtr join_node(std::vector<std::int64_t> offsets, std::vector<NodePtr> children) {
  Node node;
  node.kind = Kind::join;
  node.runs = 0;
  node.bounds = {kMax, kMin};
  node.before.reserve(children.size() + 1);
  node.before.push_back(0);
  OrderCheck check;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Node& child = *children[i];
    const ByteRange bounds = {offsets[i] + child.bounds.begin, offsets[i] + child.bounds.end};
    check.add(child.ordered, child.monotonic, bounds, offsets[i] + child.first, offsets[i] + child.last);
    node.bounds = hull(node.bounds, bounds);
    node.depth = std::max(node.depth, child.depth + 1);
    node.runs = saturating_add(node.runs, child.runs);
    node.size += child.size;
    node.before.push_back(node.size);
  }
  node.ordered = check.ordered;
  node.monotonic = check.monotonic;
  node.first = offsets[0] + children[0]->first;
  node.last = check.last;
  node.offsets = std::move(offsets);
  node.children = std::move(children);
  return std::make_shared<const Node>(std::move(node));
}

// ---- do they fit

bool copies_fit(const Node& child, std::int64_t count, std::int64_t stride, std::int64_t at) {
  const Wide reach = Layout::kReach;
  const Wide shift = Wide(count - 1) * stride;
  const Wide begin = Wide(at) + child.bounds.begin + std::min<Wide>(shift, 0);
  const Wide end = Wide(at) + child.bounds.end + std::max<Wide>(shift, 0);
  return Wide(count) * child.size <= reach && -reach <= begin && end <= reach && -reach <= stride && stride <= reach &&
         -reach <= at && at <= reach;
}

bool blocks_fit(const std::vector<std::int64_t>& offsets, const std::vector<std::int64_t>& copies, std::int64_t stride,
                const Node& child) {
  Wide total = 0;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (copies[i] <= 0 || !copies_fit(child, copies[i], stride, offsets[i])) return false;
    total += copies[i];
  }
  return total * child.size <= Layout::kReach;
}

bool parts_fit(const std::vector<std::int64_t>& offsets, const std::vector<NodePtr>& children) {
  Wide total = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (!copies_fit(*children[i], 1, 0, offsets[i])) return false;
    total += children[i]->size;
  }
  return total <= Layout::kReach;
}

// ---- queries

std::size_t part_at(const Node& node, std::int64_t byte) {
  const bool join = node.kind == Kind::join;
  const std::int64_t unit = join ? byte : byte / node.child().size;
  if (!join && node.count != 0) return static_cast<std::size_t>(unit / node.count);
  return static_cast<std::size_t>(std::upper_bound(node.before.begin(), node.before.end(), unit) -
                                  node.before.begin()) -
         1;
}

namespace {

// Bytes below `offset` in `count` copies `stride` apart.
std::int64_t bytes_below_copies(const Node& child, std::int64_t count, std::int64_t stride, std::int64_t offset) {
  if (stride == 0) return count * bytes_below(child, offset);
  // Seen from the lowest copy upwards: copy k of it is at low + k * step.
  const std::int64_t step = stride > 0 ? stride : -stride;
  const std::int64_t low = stride > 0 ? 0 : (count - 1) * stride;
  const std::int64_t whole = std::clamp<std::int64_t>(floor_div(offset - low - child.bounds.end, step) + 1, 0, count);
  std::int64_t below = whole * child.size;
  for (std::int64_t k = whole; k < count && low + k * step + child.bounds.begin < offset; ++k)
    below += bytes_below(child, offset - low - k * step);
  return below;
}

std::int64_t bytes_below_part(const Node& node, std::int64_t part, std::int64_t offset) {
  const std::int64_t inner = offset - node.offsets[static_cast<std::size_t>(part)];
  if (node.kind == Kind::join) return bytes_below(node.child(static_cast<std::size_t>(part)), inner);
  return bytes_below_copies(node.child(), node.copies_of(part), node.stride, inner);
}

// How many parts of an ordered node begin before `offset`.
std::int64_t parts_begun(const Node& node, std::int64_t offset) {
  std::int64_t low = 0;
  for (std::int64_t high = node.blocks(); low < high;) {
    const std::int64_t middle = low + (high - low) / 2;
    const std::size_t part = static_cast<std::size_t>(middle);
    const Node& child = node.child(node.kind == Kind::join ? part : 0);
    if (node.offsets[part] + child.bounds.begin < offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::int64_t bytes_below_parts(const Node& node, std::int64_t offset) {
  std::int64_t below = 0;
  if (!node.ordered) {
    for (std::int64_t i = 0; i < node.blocks(); ++i) below += bytes_below_part(node, i, offset);
    return below;
  }
  // The parts that begin before `offset` end before it, too, but for the last of them.
  const std::int64_t last = parts_begun(node, offset) - 1;
  if (last < 0) return 0;
  below = node.kind == Kind::join ? node.before[static_cast<std::size_t>(last)]
                                  : node.copies_before(last) * node.child().size;
  return below + bytes_below_part(node, last, offset);
}

}  // namespace

std::int64_t bytes_below(const Node& node, std::int64_t offset) {
  if (offset <= node.bounds.begin) return 0;
  if (offset >= node.bounds.end) return node.size;
  switch (node.kind) {
    case Kind::run:
      return offset;
    case Kind::repeat:
      return bytes_below_copies(node.child(), node.count, node.stride, offset);
    case Kind::blocks:
    case Kind::join:
      return bytes_below_parts(node, offset);
  }
  return 0;
}

}  // namespace plenum::detail
