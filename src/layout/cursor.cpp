// SPDX-License-Identifier: BSD-3-Clause
//
// Walking a layout, and copying along the way.
#include <cstdint>
#include <cstring>

#include "layout/node.hpp"

namespace plenum {

using detail::Node;
using Kind = Node::Kind;

Cursor::Cursor(const Layout& layout, std::int64_t origin, std::int64_t byte)
    : root_(layout.node_.get()), origin_(origin + layout.origin_) {
  if (static_cast<std::size_t>(root_->depth) > kInline) deep_.resize(static_cast<std::size_t>(root_->depth));
  seek(byte);
}

void Cursor::seek(std::int64_t byte) {
  levels_ = 0;
  ahead_ = 0;
  run_ = {};
  if (byte < root_->size) enter(root_, origin_, byte);
}

// Goes down to the run that holds byte `byte` of `node`, which is placed at `base`. A walk enters nodes at their first
// byte, which needs no division.
void Cursor::enter(const Node* node, std::int64_t base, std::int64_t byte) {
  while (!node->is_runs()) {
    Frame& frame = frames()[levels_++];
    frame = {node, base, 0, 0};
    if (node->kind == Kind::join) {
      const std::size_t part = byte == 0 ? 0 : detail::part_at(*node, byte);
      frame.index = static_cast<std::int64_t>(part);
      base += node->offsets[part];
      byte -= node->before[part];
      node = node->children[part].get();
      continue;
    }
    const Node& child = node->child();
    std::int64_t copy = 0;
    if (node->kind == Kind::blocks) {
      const std::size_t block = byte == 0 ? 0 : detail::part_at(*node, byte);
      frame.index = static_cast<std::int64_t>(block);
      base += node->offsets[block];
      byte -= node->copies_before(frame.index) * child.size;
      copy = frame.copy = byte == 0 ? 0 : byte / child.size;
    } else {
      copy = frame.index = byte == 0 ? 0 : byte / child.size;
    }
    base += copy * node->stride;
    byte -= copy * child.size;
    node = &child;
  }
  enter_runs(*node, base, byte);
}

void Cursor::enter_runs(const Node& node, std::int64_t base, std::int64_t byte) {
  offsets_ = nullptr;
  before_ = nullptr;
  if (node.kind == Kind::run) {
    at_ = base;
    size_ = node.size;
    ahead_ = 0;
  } else if (node.kind == Kind::repeat) {
    size_ = node.child().size;
    stride_ = node.stride;
    const std::int64_t copy = byte == 0 ? 0 : byte / size_;
    at_ = base + copy * stride_;
    byte -= copy * size_;
    ahead_ = node.count - 1 - copy;
  } else {
    const std::size_t part = byte == 0 ? 0 : detail::part_at(node, byte);
    const std::int64_t block = static_cast<std::int64_t>(part);
    base_ = base;
    stride_ = node.stride;
    offsets_ = &node.offsets[part];
    if (node.count == 0) before_ = &node.before[part];
    at_ = base + *offsets_;
    size_ = node.copies_of(block) * stride_;
    byte -= node.copies_before(block) * stride_;
    ahead_ = node.blocks() - 1 - block;
  }
  run_ = {at_ + byte, size_ - byte};
}

// Goes on to a frame's next part; false after the last one.
bool Cursor::step(Frame& frame) {
  const Node& node = *frame.node;
  if (node.kind == Kind::blocks && ++frame.copy < node.copies_of(frame.index)) {
    enter(&node.child(), frame.base + node.offsets[static_cast<std::size_t>(frame.index)] + frame.copy * node.stride,
          0);
    return true;
  }
  frame.copy = 0;
  ++frame.index;
  if (node.kind == Kind::repeat) {
    if (frame.index == node.count) return false;
    enter(&node.child(), frame.base + frame.index * node.stride, 0);
    return true;
  }
  if (frame.index == node.blocks()) return false;
  const std::size_t part = static_cast<std::size_t>(frame.index);
  enter(&node.child(node.kind == Kind::join ? part : 0), frame.base + node.offsets[part], 0);
  return true;
}

void Cursor::next_frame() {
  for (; levels_ > 0; --levels_)
    if (step(frames()[levels_ - 1])) return;
  run_ = {};
}

namespace {

// The strip in parts of `size` bytes, at most strip.size: what lies in its first run if that is longer.
Strip in_parts_of(const Strip& strip, std::int64_t size) {
  return strip.size == size ? strip : Strip{strip.offset, size, strip.size / size, size, nullptr};
}

void skip_parts(Cursor& cursor, const Strip& strip, std::int64_t size, std::int64_t parts) {
  if (strip.size == size) {
    cursor.skip_runs(parts);
  } else {
    cursor.skip(parts * size);
  }
}

}  // namespace

bool PieceCursor::next_round(std::vector<Piece>& pieces, std::size_t count, std::int64_t budget) {
  pieces.clear();
  budget = std::min(budget, left_);
  while (budget > 0 && pieces.size() < count) {
    // Many equal pieces at once, where both sides allow it.
    const Strip memory = memory_.strip();
    const Strip file = file_.strip();
    const std::int64_t size = std::min(memory.size, file.size);
    const Strip from = in_parts_of(memory, size);
    const Strip to = in_parts_of(file, size);
    const std::int64_t room = static_cast<std::int64_t>(count - pieces.size());
    const std::int64_t parts = std::min({from.count, to.count, room, budget / size});
    if (parts <= 1) {
      pieces.push_back(next(budget));
      budget -= pieces.back().size;
      continue;
    }
    for (std::int64_t k = 0; k < parts; ++k) pieces.push_back({to.at(k), from.at(k), size});
    skip_parts(memory_, memory, size, parts);
    skip_parts(file_, file, size, parts);
    left_ -= parts * size;
    budget -= parts * size;
  }
  return !pieces.empty();
}

namespace {

// Directions of a copy. The user's base may be null, with addresses as offsets: hence the arithmetic on integers.
struct Pack {
  using User = const std::byte;
  using Packed = std::byte;
  static void copy(User* user, Packed* packed, std::size_t size) { std::memcpy(packed, user, size); }
};

struct Unpack {
  using User = std::byte;
  using Packed = const std::byte;
  static void copy(User* user, Packed* packed, std::size_t size) { std::memcpy(user, packed, size); }
};

template <class Way>
typename Way::User* address(typename Way::User* base, std::int64_t offset) {
  return reinterpret_cast<typename Way::User*>(reinterpret_cast<std::uintptr_t>(base) +
                                               static_cast<std::uintptr_t>(offset));
}

// Copies `count` runs of a strip; of kSize bytes each, known to the compiler, unless that is 0.
template <class Way, std::size_t kSize>
void copy_runs(const Strip& strip, std::int64_t count, typename Way::User* base, typename Way::Packed* packed) {
  const std::size_t size = kSize != 0 ? kSize : static_cast<std::size_t>(strip.size);
  typename Way::User* const first = address<Way>(base, strip.offset);
  if (strip.offsets == nullptr) {
    for (std::int64_t i = 0; i < count; ++i, packed += size)
      Way::copy(address<Way>(first, i * strip.stride), packed, size);
  } else {
    const std::int64_t zero = strip.offsets[0];
    for (std::int64_t i = 0; i < count; ++i, packed += size)
      Way::copy(address<Way>(first, strip.offsets[i] - zero), packed, size);
  }
}

template <class Way>
void copy_strip(const Strip& strip, std::int64_t count, typename Way::User* base, typename Way::Packed* packed) {
  switch (strip.size) {
    case 1:
      return copy_runs<Way, 1>(strip, count, base, packed);
    case 2:
      return copy_runs<Way, 2>(strip, count, base, packed);
    case 4:
      return copy_runs<Way, 4>(strip, count, base, packed);
    case 8:
      return copy_runs<Way, 8>(strip, count, base, packed);
    case 12:
      return copy_runs<Way, 12>(strip, count, base, packed);
    case 16:
      return copy_runs<Way, 16>(strip, count, base, packed);
    case 24:
      return copy_runs<Way, 24>(strip, count, base, packed);
    case 32:
      return copy_runs<Way, 32>(strip, count, base, packed);
    default:
      return copy_runs<Way, 0>(strip, count, base, packed);
  }
}

template <class Way>
void copy_slice(const Slice& slice, typename Way::User* base, typename Way::Packed* packed) {
  std::int64_t left = slice.size();
  for (Cursor at = slice.cursor(); left > 0;) {
    Strip strip = at.strip();
    if (strip.size > left) strip = {strip.offset, left, 1, 0, nullptr};
    const std::int64_t count = strip.count == 1 ? 1 : std::min(strip.count, left / strip.size);
    copy_strip<Way>(strip, count, base, packed);
    packed += count * strip.size;
    left -= count * strip.size;
    at.skip_runs(count);
  }
}

}  // namespace

void pack(const Slice& slice, const std::byte* base, std::byte* packed) { copy_slice<Pack>(slice, base, packed); }
void unpack(const Slice& slice, const std::byte* packed, std::byte* base) { copy_slice<Unpack>(slice, base, packed); }

}  // namespace plenum
