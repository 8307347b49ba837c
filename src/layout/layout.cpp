// SPDX-License-Identifier: BSD-3-Clause
#include "layout/layout.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "layout/node.hpp"

namespace plenum {

using detail::append_run;
using detail::blocks_node;
using detail::empty_node;
using detail::join_node;
using detail::Node;
using detail::NodePtr;
using detail::repeat_node;
using detail::run_node;
using detail::runs_node;
using Kind = Node::Kind;

namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Lower and upper bound of parts that are placed one by one. What has neither bytes nor an extent does not count.
struct Span {
  bool empty = true;
  std::int64_t lower = 0;
  std::int64_t upper = 0;

  void add(std::int64_t at, const Layout& part) {
    if (part.size() == 0 && part.extent() == 0 && part.lower_bound() == 0) return;
    const std::int64_t part_lower = at + part.lower_bound();
    const std::int64_t part_upper = part_lower + part.extent();
    lower = empty ? part_lower : std::min(lower, part_lower);
    upper = empty ? part_upper : std::max(upper, part_upper);
    empty = false;
  }
  void add_copies(std::int64_t at, std::int64_t count, std::int64_t stride, const Layout& part) {
    if (count <= 0) return;
    add(at, part);
    add(at + (count - 1) * stride, part);
  }
  std::int64_t extent() const { return upper - lower; }
};

std::size_t memory_of(const Node& node, std::unordered_set<const Node*>& seen) {
  if (!seen.insert(&node).second) return 0;
  std::size_t total = sizeof(Node) + (node.offsets.capacity() + node.before.capacity()) * sizeof(std::int64_t) +
                      node.children.capacity() * sizeof(NodePtr);
  for (const NodePtr& child : node.children) total += memory_of(*child, seen);
  return total;
}

}  // namespace

Layout::Layout() : node_(empty_node()) {}

Layout Layout::bytes(std::int64_t size) { return {size == 0 ? empty_node() : run_node(size), 0, 0, size}; }

Layout Layout::repeat(std::int64_t count, std::int64_t stride, const Layout& element) {
  Span span;
  span.add_copies(0, count, stride, element);
  if (count <= 0 || element.size() == 0) return {empty_node(), 0, span.lower, span.extent()};
  return {repeat_node(count, stride, element.node_), element.origin_, span.lower, span.extent()};
}

Layout Layout::indexed(std::span<const std::int64_t> counts, std::span<const std::int64_t> displacements,
                       const Layout& element) {
  // Blocks of a gapless element are runs, and may touch; blocks of others are kept apart.
  const bool gapless = element.is_one_run() && element.extent() == element.size();
  Span span;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> copies;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] <= 0) continue;
    span.add_copies(displacements[i], counts[i], element.extent(), element);
    if (element.size() == 0) continue;
    if (gapless) {
      append_run(offsets, copies, displacements[i], counts[i] * element.size());
    } else {
      offsets.push_back(displacements[i]);
      copies.push_back(counts[i]);
    }
  }
  if (offsets.empty()) return {empty_node(), 0, span.lower, span.extent()};
  auto [node, at] = gapless ? runs_node(std::move(offsets), std::move(copies))
                            : blocks_node(std::move(offsets), std::move(copies), element.extent(), element.node_);
  return {std::move(node), element.origin_ + at, span.lower, span.extent()};
}

Layout Layout::indexed_block(std::int64_t count, std::span<const std::int64_t> displacements, const Layout& element) {
  const std::vector<std::int64_t> counts(displacements.size(), count);
  return indexed(counts, displacements, element);
}

Layout Layout::join(std::span<const std::int64_t> displacements, std::span<const Layout> members) {
  Span span;
  bool only_runs = true;
  for (std::size_t i = 0; i < members.size(); ++i) {
    span.add(displacements[i], members[i]);
    only_runs = only_runs && members[i].is_one_run();
  }
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> sizes;
  std::vector<NodePtr> children;  // unless there are only runs
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].size() == 0) continue;
    const std::int64_t at = displacements[i] + members[i].origin_;
    const std::size_t parts = offsets.size();
    const bool may_touch = members[i].is_one_run() && (children.empty() || children.back()->kind == Kind::run);
    if (may_touch) {
      append_run(offsets, sizes, at, members[i].size());
    } else {
      offsets.push_back(at);
      sizes.push_back(members[i].size());
    }
    if (only_runs) continue;
    if (offsets.size() > parts) {
      children.push_back(members[i].node_);
    } else {
      children.back() = run_node(sizes.back());
    }
  }
  if (offsets.empty()) return {empty_node(), 0, span.lower, span.extent()};
  if (only_runs) {
    auto [node, at] = runs_node(std::move(offsets), std::move(sizes));
    return {std::move(node), at, span.lower, span.extent()};
  }
  if (children.size() == 1) return {children[0], offsets[0], span.lower, span.extent()};
  return {join_node(std::move(offsets), std::move(children)), 0, span.lower, span.extent()};
}

Layout Layout::subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                        std::span<const std::int64_t> starts, Order order, const Layout& element) {
  Layout box = element;
  const std::size_t n = sizes.size();
  std::int64_t stride = element.extent();
  std::int64_t start = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t d = order == Order::c ? n - 1 - i : i;  // the fastest dimension first
    box = repeat(subsizes[d], stride, box);
    start += starts[d] * stride;
    stride *= sizes[d];
  }
  box.origin_ += start;
  return box.resized(0, stride);
}

Layout Layout::distributed(std::span<const Distribution> dimensions, Order order, const Layout& element) {
  Layout part = element;
  const std::size_t n = dimensions.size();
  std::int64_t stride = element.extent();
  for (std::size_t i = 0; i < n; ++i) {
    const Distribution& d = dimensions[order == Order::c ? n - 1 - i : i];
    // Chunk sizes and processes may be such that their products overflow; nothing beyond `global` matters.
    const std::int64_t turns = d.global / d.chunk;
    const std::int64_t first = d.coordinate > turns ? d.global : d.coordinate * d.chunk;
    const std::int64_t cycle = d.procs > turns ? d.global : d.procs * d.chunk;
    const std::int64_t whole = d.chunk > d.global - first ? 0 : (d.global - first - d.chunk) / cycle + 1;
    const std::int64_t rest = std::clamp<std::int64_t>(d.global - first - whole * cycle, 0, d.chunk);
    const Layout members[] = {repeat(whole, cycle * stride, repeat(d.chunk, stride, part)), repeat(rest, stride, part)};
    const std::int64_t displacements[] = {first * stride, (first + whole * cycle) * stride};
    part = join(displacements, members);
    stride *= d.global;
  }
  return part.resized(0, stride);
}

Layout Layout::resized(std::int64_t lower_bound, std::int64_t extent) const {
  return {node_, origin_, lower_bound, extent};
}

Layout Layout::tiled(const Layout& element) {
  // Half of the range is left for displacements.
  const std::int64_t reach = std::max({element.extent(), element.size(), element.bounds().end, std::int64_t{1}});
  return repeat(kMax / 2 / reach, element.extent(), element);
}

bool Layout::repeat_fits(std::int64_t count, std::int64_t stride, const Layout& element, std::int64_t at) {
  if (count <= 0) return true;
  // Data and the bounds that may have been set, in turn.
  Node data;
  data.size = element.size();
  data.bounds = element.bounds();
  Node marks;
  marks.bounds = {std::min(element.lower_bound(), element.lower_bound() + element.extent()),
                  std::max(element.lower_bound(), element.lower_bound() + element.extent())};
  return detail::copies_fit(data, count, stride, at) && detail::copies_fit(marks, count, stride, at);
}

ByteRange Layout::bounds() const {
  if (size() == 0) return {0, 0};
  return {origin_ + node_->bounds.begin, origin_ + node_->bounds.end};
}

std::size_t Layout::memory() const {
  std::unordered_set<const Node*> seen;
  return memory_of(*node_, seen);
}

std::int64_t Layout::bytes_below(std::int64_t offset) const {
  // "Everything" may be asked for by the largest offset there is.
  std::int64_t inner = 0;
  if (__builtin_sub_overflow(offset, origin_, &inner)) return offset > 0 ? size() : 0;
  return detail::bytes_below(*node_, inner);
}

}  // namespace plenum
