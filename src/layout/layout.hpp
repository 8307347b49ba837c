// SPDX-License-Identifier: BSD-3-Clause
//
// Which bytes: a compact, immutable description of a set of byte runs, in the order of a data stream. A datatype is
// decoded into a layout, but never flattened: memory and construction time grow with the description, not with the
// number of runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byte_range.hpp"
#include "base/export.hpp"
#include "base/result.hpp"

namespace plenum {

// Consecutive bytes at `offset` from where the layout is placed.
struct Run {
  std::int64_t offset = 0;
  std::int64_t size = 0;
  friend constexpr bool operator==(Run, Run) = default;
};

namespace detail {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

// A node of a description. Its runs lie at offsets from where the parent places it.
struct Node {
  enum class Kind : std::uint8_t {
    run,     // `size` bytes at 0
    repeat,  // copy i of child(0) at i * stride, 0 <= i < count
    blocks,  // block i: copies_of(i) copies of child(0), `stride` apart, the first at offsets[i]
    join     // children[i] at offsets[i]
  };

  Kind kind = Kind::run;
  bool ordered = true;     // runs ascend in the stream and do not overlap
  bool monotonic = true;   // starts of runs never decrease in the stream
  int depth = 0;           // nodes below this one, on the longest way down
  std::int64_t size = 0;   // [bytes] of data
  std::int64_t runs = 1;   // upper bound: neighbours that happen to touch count twice; saturates
  ByteRange bounds;        // first and last byte of data
  std::int64_t first = 0;  // offset of the first run of the stream
  std::int64_t last = 0;   // offset of the last run of the stream

  std::int64_t count = 0;  // repeat: copies; blocks: copies in every block, or 0 if that differs
  std::int64_t stride = 0;
  std::vector<std::int64_t> offsets;  // blocks, join
  std::vector<std::int64_t>
      before;  // blocks of unequal length: copies before block i; join: bytes before child i; n + 1 long
  std::vector<NodePtr> children;

  const Node& child(std::size_t i = 0) const { return *children[i]; }
  std::int64_t blocks() const { return static_cast<std::int64_t>(offsets.size()); }
  std::int64_t copies_of(std::int64_t block) const {
    return count != 0 ? count : before[std::size_t(block) + 1] - before[std::size_t(block)];
  }
  std::int64_t copies_before(std::int64_t block) const {
    return count != 0 ? count * block : before[std::size_t(block)];
  }
  // Each block is one run.
  bool dense_blocks() const { return kind == Kind::blocks && child().kind == Kind::run && stride == child().size; }
  // There is nothing below but runs.
  bool is_runs() const {
    return kind == Kind::run || (kind == Kind::repeat && child().kind == Kind::run) || dense_blocks();
  }
};

}  // namespace detail

// An immutable value, cheap to copy. All construction functions require that total size and all offsets stay within
// kReach; `tiled` alone goes further.
class Layout {
 public:
  static constexpr std::int64_t kReach = std::int64_t{1} << 61;  // [bytes]
  static constexpr int kMaxDepth = 1000;  // of descriptions that come from outside: datatypes, other ranks' slices

  // No bytes, extent 0.
  Layout();

  // One run of `size` bytes at 0, extent `size`.
  PLENUM_API static Layout bytes(std::int64_t size);

  // `count` copies of `element`, `stride` bytes apart (any sign), none if count <= 0. MPI: contiguous, (h)vector.
  static Layout repeat(std::int64_t count, std::int64_t stride, const Layout& element);

  // Block i: counts[i] copies of `element`, its extent apart, the first at displacements[i] [bytes]. MPI: (h)indexed.
  static Layout indexed(std::span<const std::int64_t> counts, std::span<const std::int64_t> displacements,
                        const Layout& element);

  // The same with `count` copies in every block. MPI: (h)indexed_block.
  static Layout indexed_block(std::int64_t count, std::span<const std::int64_t> displacements, const Layout& element);

  // members[i] at displacements[i] [bytes]; one without bytes, of lower bound and extent 0, leaves no trace. MPI:
  // struct.
  static Layout join(std::span<const std::int64_t> displacements, std::span<const Layout> members);

  enum class Order { c, fortran };

  // The box [starts, starts + subsizes) of an array of shape `sizes`, extent that of the array. MPI: subarray.
  static Layout subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                         std::span<const std::int64_t> starts, Order order, const Layout& element);

  // One dimension of a distributed array: `global` indices dealt in chunks of `chunk` to `procs` processes in turn;
  // this is process `coordinate`. A block distribution is the case chunk * procs >= global, none the case procs == 1.
  struct Distribution {
    std::int64_t global = 0;
    std::int64_t chunk = 0;  // > 0
    std::int64_t procs = 1;
    std::int64_t coordinate = 0;
  };

  // The part of a distributed array that one process owns, extent that of the array. MPI: darray.
  static Layout distributed(std::span<const Distribution> dimensions, Order order, const Layout& element);

  // The same bytes with another lower bound and extent. MPI: resized.
  Layout resized(std::int64_t lower_bound, std::int64_t extent) const;

  // As many copies as fit in 2^62 bytes, one extent apart: what a file view is made of. Requires extent > 0.
  static Layout tiled(const Layout& element);

  // Whether repeat(count, stride, element), placed at `at`, stays within kReach.
  static bool repeat_fits(std::int64_t count, std::int64_t stride, const Layout& element, std::int64_t at = 0);

  std::int64_t size() const { return node_->size; }          // [bytes] of data
  std::int64_t lower_bound() const { return lower_bound_; }  // as MPI_Type_get_extent
  std::int64_t extent() const { return extent_; }            // as MPI_Type_get_extent
  ByteRange bounds() const;                                  // as MPI_Type_get_true_extent; empty at 0 without data
  std::int64_t runs() const { return size() == 0 ? 0 : node_->runs; }  // upper bound
  bool is_one_run() const { return node_->kind == detail::Node::Kind::run; }
  bool is_dense() const { return is_one_run() && origin_ == 0 && extent_ == size() && lower_bound_ == 0; }
  bool ordered() const { return node_->ordered; }
  bool monotonic() const { return node_->monotonic; }
  int depth() const { return node_->depth; }  // of the description
  std::size_t memory() const;                 // [bytes] that the description takes

  // Data bytes that lie at offsets below `offset`, and in `range`. For an ordered layout bytes_below is also the
  // inverse of seeking: the stream position of the first byte at or after `offset`. O(depth x log) if ordered; else it
  // may look at every part whose bounds contain `offset`.
  std::int64_t bytes_below(std::int64_t offset) const;
  std::int64_t count_bytes_in(ByteRange range) const { return bytes_below(range.end) - bytes_below(range.begin); }

 private:
  friend class Cursor;
  friend struct Slice;
  friend class LayoutWire;
  Layout(detail::NodePtr node, std::int64_t origin, std::int64_t lower_bound, std::int64_t extent)
      : node_(std::move(node)), origin_(origin), lower_bound_(lower_bound), extent_(extent) {}

  detail::NodePtr node_;
  std::int64_t origin_ = 0;  // where the root node is placed
  std::int64_t lower_bound_ = 0;
  std::int64_t extent_ = 0;
};

// Runs of equal size that follow each other in a stream, the first at `offset`; the others are either `stride` apart,
// or run k is at offset + offsets[k] - offsets[0]. What a copy loop works on.
struct Strip {
  std::int64_t offset = 0;
  std::int64_t size = 0;   // [bytes] of each run
  std::int64_t count = 0;  // runs; 0 at the end of the stream
  std::int64_t stride = 0;
  const std::int64_t* offsets = nullptr;

  std::int64_t at(std::int64_t k) const { return offset + (offsets != nullptr ? offsets[k] - offsets[0] : k * stride); }
};

// Walks a layout's runs in stream order. Refers to the layout, which must outlive it. Amortised O(1) a run.
class Cursor {
 public:
  // At stream byte `byte` of `layout` placed at `origin`.
  explicit Cursor(const Layout& layout, std::int64_t origin = 0, std::int64_t byte = 0);

  // Goes to a stream byte, 0 <= byte <= size(). O(depth x log).
  void seek(std::int64_t byte);

  // At the end of the stream.
  bool done() const { return run_.size == 0; }

  // The rest of the current run; size 0 at the end.
  Run run() const { return run_; }

  // Goes on by `size` bytes, at most run().size.
  void skip(std::int64_t size) {
    run_.offset += size;
    run_.size -= size;
    if (run_.size == 0) next();
  }

  // The rest of the current run, and on to the next one.
  Run next_run() {
    const Run run = run_;
    next();
    return run;
  }

  // The rest of the current run and, if that is a whole one, the runs like it that are known to follow.
  Strip strip() const {
    if (ahead_ == 0 || run_.size != size_ || before_ != nullptr)
      return {run_.offset, run_.size, done() ? 0 : 1, 0, nullptr};
    return {run_.offset, size_, ahead_ + 1, stride_, offsets_};
  }

  // Goes on by `runs` runs of the strip, 0 < runs <= strip().count.
  void skip_runs(std::int64_t runs) {
    ahead_ -= runs - 1;
    if (offsets_ == nullptr) {
      at_ += (runs - 1) * stride_;
    } else {
      offsets_ += runs - 1;
    }
    next();
  }

 private:
  struct Frame {
    const detail::Node* node;
    std::int64_t base;   // where `node` is placed
    std::int64_t index;  // copy, block or child
    std::int64_t copy;   // within a block
  };

  // The innermost repetition or list has no frame: its runs lie ahead of the current one in one of three forms.
  void next() {
    if (ahead_ == 0) return next_frame();
    --ahead_;
    if (offsets_ == nullptr) {
      at_ += stride_;
    } else {
      at_ = base_ + *++offsets_;
      if (before_ != nullptr) {
        ++before_;
        size_ = (before_[1] - before_[0]) * stride_;
      }
    }
    run_ = {at_, size_};
  }

  void next_frame();
  bool step(Frame& frame);
  void enter(const detail::Node* node, std::int64_t base, std::int64_t byte);
  void enter_runs(const detail::Node& node, std::int64_t base, std::int64_t byte);

  static constexpr std::size_t kInline = 6;  // deeper descriptions are rare, and then take an allocation

  Frame* frames() { return deep_.empty() ? inline_ : deep_.data(); }

  Run run_;                                // the rest of the current run
  std::int64_t ahead_ = 0;                 // runs after it
  std::int64_t at_ = 0;                    // offset of the current run's beginning
  std::int64_t size_ = 0;                  // of the current run as a whole
  std::int64_t stride_ = 0;                // from run to run; with before_: bytes per copy
  std::int64_t base_ = 0;                  // with offsets_: where those are counted from
  const std::int64_t* offsets_ = nullptr;  // null, or the current run's entry of a list
  const std::int64_t* before_ = nullptr;   // null, or the same for runs of unequal size

  const detail::Node* root_;
  std::int64_t origin_;
  std::size_t levels_ = 0;
  Frame inline_[kInline];
  std::vector<Frame> deep_;
};

// Bytes [begin, end) of a layout's stream, the layout being placed at `origin`: one side of an access.
struct Slice {
  Layout layout;
  std::int64_t origin = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool ordered() const { return layout.ordered(); }

  // A cursor at `begin`. It does not stop at `end`.
  Cursor cursor() const { return Cursor(layout, origin, begin); }

  // The bytes from the lowest to the highest offset. Exact for an ordered layout; else the bounds of whole tiles.
  ByteRange bounds() const;

  // About how many runs there are: exact to within two for repeated equal runs.
  std::int64_t runs() const;

  // The slice's bytes that lie in `range`. The layout must be ordered.
  Slice within(ByteRange range) const;

  // Stream bytes [begin + from, begin + from + size).
  Slice part(std::int64_t from, std::int64_t size) const { return {layout, origin, begin + from, begin + from + size}; }

  // The same bytes, described by no more than is needed for them.
  Slice trimmed() const;
};

// Calls visit(Run) for each run of an ordered slice in `range`, clipped to it. visit may return void, or bool: false
// stops.
template <class Visit>
void for_each_run_in(const Slice& slice, ByteRange range, Visit&& visit) {
  const Slice inside = slice.within(range);
  std::int64_t left = inside.size();
  if (left <= 0) return;
  for (Cursor at = inside.cursor(); left > 0;) {
    Run run = at.next_run();
    run.size = std::min(run.size, left);
    left -= run.size;
    if constexpr (std::is_same_v<decltype(visit(run)), bool>) {
      if (!visit(run)) return;
    } else {
      visit(run);
    }
  }
}

// A slice as bytes for another rank (of the same architecture), trimmed.
void append_slice(const Slice& slice, std::vector<std::byte>& to);

// Takes a slice off the front of `from`. Errors: Communication if that is not what append_slice made; any bytes are
// safe.
Result<Slice> read_slice(ConstBytes& from);

// A contiguous transfer: bytes at file offset `file` belong at offset `memory` from the buffer.
struct Piece {
  std::int64_t file = 0;
  std::int64_t memory = 0;
  std::int64_t size = 0;
};

// Walks two slices of equal size together. Refers to both layouts.
class PieceCursor {
 public:
  PieceCursor(const Slice& memory, const Slice& file)
      : memory_(memory.cursor()), file_(file.cursor()), left_(file.size()) {}

  bool done() const { return left_ == 0; }
  std::int64_t left() const { return left_; }

  // The next piece, of at most `limit` bytes. Not when done.
  Piece next(std::int64_t limit) {
    const Run from = memory_.run();
    const Run to = file_.run();
    const std::int64_t size = std::min({from.size, to.size, left_, limit});
    memory_.skip(size);
    file_.skip(size);
    left_ -= size;
    return {to.offset, from.offset, size};
  }

  // Replaces `pieces` by the next ones, at most `count` of them and `budget` bytes: an access is carried out a round at
  // a time, and no list of all its pieces ever exists. False at the end.
  bool next_round(std::vector<Piece>& pieces, std::size_t count, std::int64_t budget);

 private:
  Cursor memory_;
  Cursor file_;
  std::int64_t left_;
};

// Copies the slice's bytes between `base` + their offsets and the contiguous `packed`, in stream order. Independent.
void pack(const Slice& slice, const std::byte* base, std::byte* packed);
void unpack(const Slice& slice, const std::byte* packed, std::byte* base);

}  // namespace plenum
