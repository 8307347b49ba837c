// SPDX-License-Identifier: BSD-3-Clause
//
// Slices as bytes: nodes in preorder, every field a 64-bit word.
#include <algorithm>
#include <utility>
#include <vector>

#include "layout/node.hpp"

namespace plenum {

using detail::Node;
using detail::NodePtr;
using Kind = Node::Kind;

class LayoutWire {
 public:
  static void append(const Slice& slice, std::vector<std::byte>& to) {
    const Slice trimmed = slice.trimmed();
    put(to, trimmed.origin + trimmed.layout.origin_);
    put(to, trimmed.begin);
    put(to, trimmed.end);
    append_node(*trimmed.layout.node_, to);
  }

  static Result<Slice> read(ConstBytes& from) {
    const std::int64_t origin = PLENUM_TRY(get(from));
    const std::int64_t begin = PLENUM_TRY(get(from));
    const std::int64_t end = PLENUM_TRY(get(from));
    NodePtr node = PLENUM_TRY(read_node(from, 0));
    std::int64_t sum = 0;
    const bool placed = !__builtin_add_overflow(origin, node->bounds.begin, &sum) &&
                        !__builtin_add_overflow(origin, node->bounds.end, &sum);
    if (!placed || begin < 0 || end < begin || end > node->size) return damaged();
    return Slice{Layout(std::move(node), 0, 0, 0), origin, begin, end};
  }

 private:
  // Stands for one more child like the one before: a struct of equal members is sent once.
  static constexpr std::int64_t kSame = 100;

  static Error damaged() { return {Code::Communication, "damaged description of a layout"}; }

  static void put(std::vector<std::byte>& to, std::int64_t word) { put(to, std::span(&word, 1)); }
  static void put(std::vector<std::byte>& to, std::span<const std::int64_t> words) {
    const auto bytes = std::as_bytes(words);
    to.insert(to.end(), bytes.begin(), bytes.end());
  }

  static Result<std::int64_t> get(ConstBytes& from) {
    std::int64_t word = 0;
    if (from.size() < sizeof(word)) return damaged();
    std::copy_n(from.data(), sizeof(word), reinterpret_cast<std::byte*>(&word));
    from = from.subspan(sizeof(word));
    return word;
  }
  static Result<std::vector<std::int64_t>> get(ConstBytes& from, std::int64_t count) {
    if (count < 0 || count > static_cast<std::int64_t>(from.size() / sizeof(std::int64_t))) return damaged();
    std::vector<std::int64_t> words(static_cast<std::size_t>(count));
    const std::size_t size = words.size() * sizeof(std::int64_t);
    std::copy_n(from.data(), size, reinterpret_cast<std::byte*>(words.data()));
    from = from.subspan(size);
    return words;
  }

  static void append_node(const Node& node, std::vector<std::byte>& to) {
    put(to, static_cast<std::int64_t>(node.kind));
    switch (node.kind) {
      case Kind::run:
        put(to, node.size);
        return;
      case Kind::repeat:
        put(to, node.count);
        put(to, node.stride);
        break;
      case Kind::blocks:
        put(to, node.blocks());
        put(to, node.count);
        put(to, node.stride);
        put(to, node.offsets);
        if (node.count == 0) put(to, node.before);
        break;
      case Kind::join:
        put(to, node.blocks());
        put(to, node.offsets);
        break;
    }
    const Node* previous = nullptr;
    for (const NodePtr& child : node.children) {
      if (child.get() == previous) {
        put(to, kSame);
      } else {
        append_node(*child, to);
      }
      previous = child.get();
    }
  }

  // Makes only nodes that are whole and in reach, whatever the bytes.
  static Result<NodePtr> read_node(ConstBytes& from, int depth) {
    const std::int64_t kind = PLENUM_TRY(get(from));
    if (depth > Layout::kMaxDepth) return damaged();
    if (kind == static_cast<std::int64_t>(Kind::run)) {
      const std::int64_t size = PLENUM_TRY(get(from));
      if (size == 0 && depth == 0) return detail::empty_node();
      if (size <= 0 || size > Layout::kReach) return damaged();
      return detail::run_node(size);
    }
    if (kind == static_cast<std::int64_t>(Kind::repeat)) {
      const std::int64_t count = PLENUM_TRY(get(from));
      const std::int64_t stride = PLENUM_TRY(get(from));
      NodePtr child = PLENUM_TRY(read_node(from, depth + 1));
      if (count <= 0 || !detail::copies_fit(*child, count, stride, 0)) return damaged();
      return detail::repeat_node(count, stride, std::move(child));
    }
    if (kind == static_cast<std::int64_t>(Kind::blocks)) return read_blocks(from, depth);
    if (kind == static_cast<std::int64_t>(Kind::join)) return read_join(from, depth);
    return damaged();
  }

  static Result<NodePtr> read_blocks(ConstBytes& from, int depth) {
    const std::int64_t parts = PLENUM_TRY(get(from));
    const std::int64_t count = PLENUM_TRY(get(from));
    const std::int64_t stride = PLENUM_TRY(get(from));
    auto offsets = PLENUM_TRY(get(from, parts));
    if (offsets.empty()) return damaged();
    std::vector<std::int64_t> copies(offsets.size(), count);
    if (count == 0) {
      const auto before = PLENUM_TRY(get(from, parts + 1));
      if (before[0] != 0) return damaged();
      for (std::size_t i = 0; i < copies.size(); ++i) {
        if (before[i] >= before[i + 1]) return damaged();
        copies[i] = before[i + 1] - before[i];
      }
    }
    NodePtr child = PLENUM_TRY(read_node(from, depth + 1));
    if (!detail::blocks_fit(offsets, copies, stride, *child)) return damaged();
    auto [node, at] = detail::blocks_node(std::move(offsets), std::move(copies), stride, std::move(child));
    // A sender's blocks are irregular, or it would have sent a repetition; so they stay where they were.
    if (at != 0) return damaged();
    return std::move(node);
  }

  static Result<NodePtr> read_join(ConstBytes& from, int depth) {
    const std::int64_t parts = PLENUM_TRY(get(from));
    auto offsets = PLENUM_TRY(get(from, parts));
    if (offsets.empty()) return damaged();
    std::vector<NodePtr> children;
    for (std::int64_t i = 0; i < parts; ++i) {
      ConstBytes ahead = from;
      if (!children.empty() && PLENUM_TRY(get(ahead)) == kSame) {
        from = ahead;
        children.push_back(children.back());
      } else {
        children.push_back(PLENUM_TRY(read_node(from, depth + 1)));
      }
    }
    if (!detail::parts_fit(offsets, children)) return damaged();
    return detail::join_node(std::move(offsets), std::move(children));
  }
};

void append_slice(const Slice& slice, std::vector<std::byte>& to) { LayoutWire::append(slice, to); }
Result<Slice> read_slice(ConstBytes& from) { return LayoutWire::read(from); }

}  // namespace plenum
