// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "layout/node.hpp"

namespace plenum {

using detail::blocks_node;
using detail::join_node;
using detail::Node;
using detail::NodePtr;
using detail::part_at;
using detail::repeat_node;
using detail::run_node;
using Kind = Node::Kind;

ByteRange Slice::bounds() const {
  if (empty()) return {0, 0};
  const std::int64_t shift = origin + layout.origin_;
  if (layout.ordered()) return {cursor().run().offset, Cursor(layout, origin, end - 1).run().offset + 1};
  // The part of the outermost repetition that is in use, then as far as it reaches.
  const Node& node = *layout.node_;
  if (node.kind != Kind::repeat) return {shift + node.bounds.begin, shift + node.bounds.end};
  const Node& child = node.child();
  const std::int64_t from = begin / child.size * node.stride;
  const std::int64_t to = (end - 1) / child.size * node.stride;
  return {shift + std::min(from, to) + child.bounds.begin, shift + std::max(from, to) + child.bounds.end};
}

std::int64_t Slice::runs() const {
  if (empty()) return 0;
  const Node* node = layout.node_.get();
  // A tiled layout may have more runs than can be counted: look at one tile.
  if (node->kind == Kind::repeat) node = node->children[0].get();
  const double mean = double(node->size) / double(node->runs);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(double(size()) / mean));
}

namespace {

// offset - origin, within bounds.
std::int64_t inner_offset(std::int64_t offset, std::int64_t origin) {
  std::int64_t inner = 0;
  if (!__builtin_sub_overflow(offset, origin, &inner)) return inner;
  return offset > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

Slice Slice::within(ByteRange range) const {
  if (empty()) return {layout, origin, begin, begin};
  const std::int64_t from = std::clamp(layout.bytes_below(inner_offset(range.begin, origin)), begin, end);
  const std::int64_t to = std::clamp(layout.bytes_below(inner_offset(range.end, origin)), from, end);
  return {layout, origin, from, to};
}

namespace {

// A node of which only stream bytes [begin, end) are needed, placed at `at`.
struct Cut {
  NodePtr node;
  std::int64_t at;
  std::int64_t begin;
  std::int64_t end;
};

// Keeps blocks or children [first, last] of `node`.
Cut keep_parts(const Cut& cut, std::size_t first, std::size_t last) {
  const Node& node = *cut.node;
  std::vector<std::int64_t> offsets(node.offsets.begin() + std::ptrdiff_t(first),
                                    node.offsets.begin() + std::ptrdiff_t(last) + 1);
  if (node.kind == Kind::join) {
    const std::int64_t skipped = node.before[first];
    NodePtr kept = join_node(std::move(offsets), {node.children.begin() + std::ptrdiff_t(first),
                                                  node.children.begin() + std::ptrdiff_t(last) + 1});
    return {std::move(kept), cut.at, cut.begin - skipped, cut.end - skipped};
  }
  const std::int64_t skipped = node.copies_before(std::int64_t(first)) * node.child().size;
  std::vector<std::int64_t> copies;
  for (std::size_t i = first; i <= last; ++i) copies.push_back(node.copies_of(std::int64_t(i)));
  auto [kept, at] = blocks_node(std::move(offsets), std::move(copies), node.stride, node.children[0]);
  return {std::move(kept), cut.at + at, cut.begin - skipped, cut.end - skipped};
}

// One step closer to what is needed; false if there is nothing to leave out.
bool trim_once(Cut& cut) {
  const Node& node = *cut.node;
  if (cut.begin == 0 && cut.end == node.size) return false;
  if (node.kind == Kind::run) {
    cut = {run_node(cut.end - cut.begin), cut.at + cut.begin, 0, cut.end - cut.begin};
    return true;
  }
  if (node.kind == Kind::repeat) {
    const std::int64_t first = cut.begin / node.child().size;
    const std::int64_t last = (cut.end - 1) / node.child().size;
    if (last - first + 1 == node.count) return false;
    const std::int64_t skipped = first * node.child().size;
    cut = {repeat_node(last - first + 1, node.stride, node.children[0]), cut.at + first * node.stride,
           cut.begin - skipped, cut.end - skipped};
    return true;
  }
  const std::size_t first = part_at(node, cut.begin);
  const std::size_t last = part_at(node, cut.end - 1);
  if (last - first + 1 == node.offsets.size()) return false;
  if (first == last && node.kind == Kind::join) {
    cut = {node.children[first], cut.at + node.offsets[first], cut.begin - node.before[first],
           cut.end - node.before[first]};
  } else {
    cut = keep_parts(cut, first, last);
  }
  return true;
}

}  // namespace

Slice Slice::trimmed() const {
  if (empty()) return {Layout(), 0, 0, 0};
  Cut cut{layout.node_, origin + layout.origin_, begin, end};
  while (trim_once(cut)) {
  }
  return {Layout(cut.node, 0, 0, 0), cut.at, cut.begin, cut.end};
}

}  // namespace plenum
