// SPDX-License-Identifier: BSD-3-Clause
//
// A file as an array of bytes, and random programs that are run on both: on the model when a script is written, on a
// real file when ranks run it. A script is the same on all ranks and says what each of them must see.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <list>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "file/file.hpp"
#include "support/random_access.hpp"

namespace plenum::test {

using ByteVector = std::vector<std::byte>;

inline bool chance(Random& random, int percent) { return random.between(1, 100) <= percent; }

inline Pattern byte_pattern(std::int64_t size) {
  Pattern pattern{Layout::bytes(size), std::vector<std::int64_t>(static_cast<std::size_t>(size))};
  std::iota(pattern.at.begin(), pattern.at.end(), std::int64_t{0});
  return pattern;
}

inline Pattern repeated(std::int64_t count, std::int64_t stride, const Pattern& element) {
  Pattern pattern{Layout::repeat(count, stride, element.layout), {}};
  for (std::int64_t i = 0; i < count; ++i) pattern.append(element, i * stride);
  return pattern;
}

inline Pattern placed(std::int64_t place, const Pattern& element) {
  Pattern pattern{Layout::join({&place, 1}, {&element.layout, 1}), {}};
  pattern.append(element, place);
  return pattern;
}

inline Pattern with_extent(Pattern pattern, std::int64_t extent) {
  pattern.layout = pattern.layout.resized(0, extent);
  return pattern;
}

// As many copies of the pattern as make a multiple of `unit` bytes.
inline Pattern whole_units(const Pattern& pattern, std::int64_t unit, std::int64_t gap) {
  return repeated(unit / std::gcd(unit, pattern.size()), pattern.end() + gap, pattern);
}

struct ModelView {
  std::int64_t displacement = 0;
  Pattern etype = byte_pattern(1);
  Pattern filetype = byte_pattern(1);
  mutable std::int64_t limit = -1;  // found once: how many bytes a script may use

  View view() const { return {displacement, etype.layout, filetype.layout}; }

  // Where in the file stream byte `byte` lies.
  std::int64_t at(std::int64_t byte) const {
    const std::int64_t tile = byte / filetype.size();
    return displacement + tile * filetype.layout.extent() +
           filetype.at[static_cast<std::size_t>(byte % filetype.size())];
  }

  bool is_ordered() const { return filetype.layout.extent() >= filetype.end() && filetype.layout.ordered(); }
};

// What one rank does in a step, and what must come of it.
struct Part {
  bool takes_part = true;
  Position position;
  Pattern memory;
  std::int64_t count = 0;  // of `memory`, one extent apart
  std::int64_t base = 0;   // where in the buffer the memory types are placed
  std::int64_t buffer_size = 0;
  std::uint64_t pattern = 0;  // what the buffer holds at first
  ByteVector expected;        // the buffer after a read
  std::int64_t bytes = 0;     // the result
  std::int64_t pointer = 0;   // the individual pointer after the step
  std::int64_t offset = 0;    // seek
  Whence whence = Whence::set;
  bool is_error = false;
  std::int64_t end = -1;  // byte_offset() of the pointer
  ModelView view;
  Hints hints;

  std::int64_t size() const { return count * memory.size(); }
};

struct Step {
  enum class Kind { access, view, seek, resize, reserve, atomic, hints, wait, check, close, reopen };

  Kind kind = Kind::check;
  Direction direction = Direction::read;
  bool collective = false;
  bool nonblocking = false;
  int bad_rank = -1;  // whose arguments are an error
  std::int64_t size = 0;
  bool on = false;
  AccessMode mode;
  std::vector<Part> parts;  // [ranks]
  ByteVector content;       // of the file; check and close
};

struct ScriptOptions {
  int ranks = 1;
  std::uint64_t seed = 0;
  int steps = 40;
  std::int64_t scale = 1;     // of the blocks that are accessed
  std::int64_t limit = 2000;  // [bytes] the file stays below
};

struct Script {
  ScriptOptions options;
  Hints hints;
  std::vector<Step> steps;
  std::int64_t operations = 0;  // calls, of all ranks
};

inline std::byte pattern_byte(std::uint64_t pattern, std::int64_t i) {
  std::uint64_t mixed = (pattern + static_cast<std::uint64_t>(i)) * 0x9e3779b97f4a7c15u;
  mixed ^= mixed >> 29;
  return static_cast<std::byte>(mixed * 0xbf58476d1ce4e5b9u >> 56);
}

inline ByteVector pattern_bytes(const Part& part) {
  ByteVector bytes(static_cast<std::size_t>(part.buffer_size));
  for (std::int64_t i = 0; i < part.buffer_size; ++i)
    bytes[static_cast<std::size_t>(i)] = pattern_byte(part.pattern, i);
  return bytes;
}

inline std::string text_of(const Hints& hints) {
  std::string text;
  for (const HintRow& row : hint_rows()) {
    const std::string value = row.get(hints);
    if (row.acts && !value.empty() && value != row.get(Hints())) text += std::string(row.key) + "=" + value + " ";
  }
  return text;
}

inline std::string text_of(const Step& step) {
  constexpr const char* kNames[] = {"access",    "set_view", "seek",  "resize", "reserve", "set_atomic",
                                    "set_hints", "wait",     "check", "close",  "reopen"};
  std::string text = kNames[static_cast<int>(step.kind)];
  if (step.kind == Step::Kind::access) {
    text = std::string(step.nonblocking ? "nonblocking " : "") + (step.collective ? "collective " : "independent ") +
           (step.direction == Direction::read ? "read" : "write");
    if (step.bad_rank >= 0) text += ", bad on rank " + std::to_string(step.bad_rank);
  }
  if (step.kind == Step::Kind::resize || step.kind == Step::Kind::reserve) text += " " + std::to_string(step.size);
  if (step.kind == Step::Kind::atomic) text += step.on ? " on" : " off";
  if (step.kind == Step::Kind::reopen) text += step.mode.write ? " read-write" : " read-only";
  const bool says_more = step.kind == Step::Kind::access || step.kind == Step::Kind::view ||
                         step.kind == Step::Kind::seek || step.kind == Step::Kind::hints;
  for (std::size_t rank = 0; rank < step.parts.size(); ++rank) {
    const Part& part = step.parts[rank];
    if (!part.takes_part || !says_more) continue;
    text += "\n    rank " + std::to_string(rank) + ": ";
    if (step.kind == Step::Kind::access) {
      constexpr const char* kKinds[] = {"in view", "individual", "absolute"};
      text += std::to_string(part.size()) + " bytes " + kKinds[static_cast<int>(part.position.kind)] + " at " +
              std::to_string(part.position.offset) + ", memory runs " +
              std::to_string(part.count * part.memory.layout.runs());
    } else if (step.kind == Step::Kind::view) {
      const ModelView& view = part.view;
      text += "displacement " + std::to_string(view.displacement) + ", etype " + std::to_string(view.etype.size()) +
              ", filetype extent " + std::to_string(view.filetype.layout.extent()) + " of";
      for (Cursor at(view.filetype.layout); !at.done() && text.size() < 4000;) {
        const Run run = at.next_run();
        text += " " + std::to_string(run.offset) + "+" + std::to_string(run.size);
      }
    } else if (step.kind == Step::Kind::seek) {
      constexpr const char* kWhences[] = {"set", "current", "end"};
      text += std::to_string(part.offset) + " from " + kWhences[static_cast<int>(part.whence)];
    } else if (step.kind == Step::Kind::hints) {
      text += text_of(part.hints);
    }
  }
  return text;
}

// Writes a script. Between two checks no byte is accessed by two ranks, or by two calls that may be under way at the
// same time, unless all of them read it: only then does the standard say what must come out.
class ScriptWriter {
 public:
  explicit ScriptWriter(const ScriptOptions& options)
      : random_(options.seed), options_(options), views_(ranks()), pointers_(ranks()), hints_(ranks()) {
    script_.options = options;
    mark_writer_.assign(static_cast<std::size_t>(2 * options.limit), kNobody);
    mark_reader_ = mark_writer_;
    mark_step_ = mark_writer_;
    // Some values must be the same on all ranks: all start from one set.
    script_.hints = random_hints();
    std::fill(hints_.begin(), hints_.end(), script_.hints);
  }

  Script write() {
    for (int i = 0; i < options_.steps; ++i) add_step();
    if (chance(random_, 50)) finish_epoch();
    add_close();
    return std::move(script_);
  }

 private:
  using Kind = Step::Kind;
  static constexpr int kNobody = -1;
  static constexpr int kSeveral = -2;

  using Offsets = std::vector<std::int64_t>;  // in the file, of each byte of an access

  std::size_t ranks() const { return static_cast<std::size_t>(options_.ranks); }
  std::int64_t file_size() const { return std::ssize(content_); }

  Step& push(Kind kind) {
    script_.steps.emplace_back().kind = kind;
    script_.steps.back().parts.resize(ranks());
    script_.operations += options_.ranks;
    return script_.steps.back();
  }

  void add_step() {
    const std::int64_t dice = random_.between(1, 100);
    if (dice <= 62) return add_access();
    if (dice <= 74) return add_view();
    if (dice <= 82) return add_seek();
    if (dice <= 86) return add_size();
    if (dice <= 89) return add_hints();
    if (dice <= 91) return add_atomic();
    if (dice <= 94) return static_cast<void>(push(Kind::wait));
    if (dice <= 98) return finish_epoch();
    add_close();
    add_reopen();
  }

  // -- Accesses

  void add_access() {
    Step step;
    step.kind = Kind::access;
    step.direction = !writable_ || chance(random_, 45) ? Direction::read : Direction::write;
    step.collective = chance(random_, 60);
    step.nonblocking = chance(random_, 35);
    if (step.collective && chance(random_, 4)) step.bad_rank = static_cast<int>(random_.between(0, options_.ranks - 1));
    step.parts.resize(ranks());
    std::vector<Offsets> places(ranks());
    bool conflicts = false;
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      Part& part = step.parts[rank];
      part.takes_part = step.collective || chance(random_, 60);
      if (part.takes_part) places[rank] = draw_access(part, rank, step.bad_rank >= 0);
      conflicts = conflicts || is_in_conflict(agent(step, rank), step.direction, places[rank]);
    }
    if (conflicts) finish_epoch();
    for (std::size_t rank = 0; rank < ranks(); ++rank) settle(step, rank, places[rank]);
    next_agent_ += options_.ranks;
    script_.operations += options_.ranks;
    script_.steps.push_back(std::move(step));
  }

  // Whose accesses come one after another: a rank's blocking calls. A nonblocking one is an agent of its own.
  int agent(const Step& step, std::size_t rank) const {
    return static_cast<int>(rank) + (step.nonblocking ? next_agent_ : 0);
  }

  // Chooses what is accessed; returns where that lies in the file.
  Offsets draw_access(Part& part, std::size_t rank, bool explicit_only) {
    const ModelView& view = views_[rank];
    const std::int64_t kind = random_.between(explicit_only ? 41 : 1, 100);
    part.position.kind = kind <= 40   ? Position::Kind::individual
                         : kind <= 80 ? Position::Kind::in_view
                                      : Position::Kind::absolute;
    const bool absolute = part.position.kind == Position::Kind::absolute;
    const std::int64_t unit = absolute ? 1 : view.etype.size();
    const std::int64_t most = absolute ? options_.limit : stream_limit(view);
    draw_memory(part, unit, most);
    const std::int64_t room = (most - part.size()) / unit;
    if (part.position.kind == Position::Kind::individual) {
      part.position.offset = pointers_[rank];
      if (part.position.offset > room) part.position.kind = Position::Kind::in_view;
    }
    if (part.position.kind != Position::Kind::individual) part.position.offset = random_.between(0, room);
    Offsets offsets(static_cast<std::size_t>(part.size()));
    std::iota(offsets.begin(), offsets.end(), part.position.offset * unit);
    if (absolute) return offsets;
    for (std::int64_t& offset : offsets) offset = view.at(offset);
    return offsets;
  }

  // Memory of a multiple of `unit` bytes, at most `most`, in which no byte lies twice.
  void draw_memory(Part& part, std::int64_t unit, std::int64_t most) {
    const std::int64_t gap = chance(random_, 50) ? 0 : random_.between(0, 9);
    if (chance(random_, 40)) {
      part.memory = byte_pattern(unit * random_.between(1, 20 * options_.scale));
    } else {
      part.memory = whole_units(random_pattern(random_, test::Kind::disjoint), unit, gap);
    }
    part.memory = with_extent(std::move(part.memory), (part.memory.end() + gap) * (chance(random_, 15) ? -1 : 1));
    part.count = random_.between(0, 3);
    while (part.size() > most) --part.count;
  }

  // How many bytes of the view's stream come before the first one beyond the limit, in whole etypes.
  std::int64_t stream_limit(const ModelView& view) {
    if (view.limit < 0) {
      std::int64_t bytes = 0;
      while (view.at(bytes) < options_.limit) ++bytes;
      view.limit = bytes / view.etype.size() * view.etype.size();
    }
    return view.limit;
  }

  bool is_in_conflict(int agent, Direction direction, const Offsets& offsets) const {
    const auto other = [agent](int who) { return who != kNobody && who != agent; };
    for (const std::int64_t offset : offsets) {
      const auto at = static_cast<std::size_t>(offset);
      if (other(mark_writer_[at])) return true;
      if (direction == Direction::write && other(mark_reader_[at])) return true;
      // What a read finds near the end depends on who moves the end.
      if (direction == Direction::read && offset >= stable_size_ && other(extender_)) return true;
      if (direction == Direction::write && offset >= file_size() && other(end_reader_)) return true;
    }
    return false;
  }

  // Nobody may write a byte twice in one call.
  bool writes_twice(const Offsets& offsets) {
    ++step_mark_;
    for (const std::int64_t offset : offsets) {
      if (std::exchange(mark_step_[static_cast<std::size_t>(offset)], step_mark_) == step_mark_) return true;
    }
    return false;
  }

  // Carries out one rank's part on the model, or makes it empty if it would be in conflict.
  void settle(Step& step, std::size_t rank, Offsets& offsets) {
    Part& part = step.parts[rank];
    const bool write = step.direction == Direction::write;
    if (is_in_conflict(agent(step, rank), step.direction, offsets) || (write && writes_twice(offsets))) {
      part.count = 0;
      offsets.clear();
    }
    constexpr std::int64_t kGuard = 5;
    const std::int64_t others = (std::max<std::int64_t>(part.count, 1) - 1) * part.memory.layout.extent();
    part.base = kGuard + std::max<std::int64_t>(0, -others);
    part.buffer_size = 2 * kGuard + part.memory.end() + std::abs(others);
    part.pattern = random_.bits();
    if (part.takes_part && part.position.kind == Position::Kind::individual)
      pointers_[rank] += part.size() / views_[rank].etype.size();
    part.pointer = pointers_[rank];
    if (!write) part.expected = pattern_bytes(part);
    if (!part.takes_part || step.bad_rank >= 0) return;
    if (write) {
      store(part, offsets, agent(step, rank));
    } else {
      load(part, offsets, agent(step, rank));
    }
  }

  static int joined(int known, int who) { return known == kNobody || known == who ? who : kSeveral; }

  // Calls visit(memory offset in the buffer, file offset) for each byte.
  template <class Visit>
  static void for_each_byte(const Part& part, const Offsets& offsets, Visit&& visit) {
    auto offset = offsets.begin();
    for (std::int64_t copy = 0; copy < part.count; ++copy) {
      for (const std::int64_t at : part.memory.at)
        visit(part.base + copy * part.memory.layout.extent() + at, *offset++);
    }
  }

  void store(Part& part, const Offsets& offsets, int who) {
    for_each_byte(part, offsets, [&](std::int64_t memory, std::int64_t offset) {
      if (offset >= file_size()) {
        content_.resize(static_cast<std::size_t>(offset) + 1);
        extender_ = joined(extender_, who);
      }
      content_[static_cast<std::size_t>(offset)] = pattern_byte(part.pattern, memory);
      mark_writer_[static_cast<std::size_t>(offset)] = who;
    });
    part.bytes = part.size();
  }

  void load(Part& part, const Offsets& offsets, int who) {
    for_each_byte(part, offsets, [&](std::int64_t memory, std::int64_t offset) {
      int& reader = mark_reader_[static_cast<std::size_t>(offset)];
      reader = joined(reader, who);
      if (offset >= file_size()) {
        end_reader_ = joined(end_reader_, who);
        return;
      }
      part.expected[static_cast<std::size_t>(memory)] = content_[static_cast<std::size_t>(offset)];
      ++part.bytes;
    });
  }

  // -- Everything else

  // All ranks come together: what was done before is compared with the file, and comes before what is done after.
  void finish_epoch() {
    push(Kind::check).content = content_;
    forget_marks();
  }

  void forget_marks() {
    std::fill(mark_writer_.begin(), mark_writer_.end(), kNobody);
    std::fill(mark_reader_.begin(), mark_reader_.end(), kNobody);
    extender_ = end_reader_ = kNobody;
    stable_size_ = file_size();
  }

  Pattern random_etype() {
    Pattern etype = byte_pattern(random_.between(1, 8));
    if (chance(random_, 25)) etype = repeated(2, etype.size() + random_.between(0, 3), etype);
    return with_extent(etype, etype.end() + (chance(random_, 20) ? random_.between(0, 4) : 0));
  }

  void add_view() {
    Step& step = push(Kind::view);
    const Pattern etype = random_etype();
    const std::int64_t block = random_.between(1, 5 * options_.scale);
    const std::int64_t gap = chance(random_, 60) ? 0 : random_.between(1, 10);
    const std::int64_t displacement = chance(random_, 50) ? 0 : random_.between(0, options_.limit / 10);
    const bool shared = chance(random_, 60);  // the ranks' parts of a common pattern, so that they may write at once
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      ModelView& view = step.parts[rank].view;
      view.etype = etype;
      if (shared) {
        const Pattern mine = repeated(block, etype.layout.extent(), etype);
        const std::int64_t size = block * etype.layout.extent();
        view.filetype = with_extent(placed(size * static_cast<std::int64_t>(rank), mine), size * options_.ranks + gap);
        view.displacement = displacement;
      } else {
        view.filetype = random_filetype(etype.size());
        view.displacement = chance(random_, 50) ? 0 : random_.between(0, options_.limit / 4);
      }
      views_[rank] = view;
      pointers_[rank] = 0;
    }
  }

  Pattern random_filetype(std::int64_t unit) {
    const std::int64_t gap = chance(random_, 50) ? 0 : random_.between(0, 20 * options_.scale);
    Pattern tile;
    if (!writable_ && chance(random_, 40)) {
      // Runs that overlap, which is allowed where nothing can be written.
      const std::int64_t size = unit * random_.between(1, 5);
      tile = repeated(random_.between(1, 6), random_.between(1, size), byte_pattern(size));
    } else if (chance(random_, 50)) {
      tile = byte_pattern(unit * random_.between(1, 10 * options_.scale));
    } else {
      tile = whole_units(random_pattern(random_, test::Kind::ascending), unit, gap);
    }
    // Tiles may also reach into each other.
    return with_extent(tile, chance(random_, 12) ? random_.between(1, tile.end()) : tile.end() + gap);
  }

  // The first etype that begins at or after the end of the file.
  std::int64_t end_in_view(const ModelView& view) const {
    std::int64_t etype = 0;
    while (view.at(etype * view.etype.size()) < file_size()) ++etype;
    return etype;
  }

  void add_seek() {
    // Where the end is depends on others' writes.
    if (extender_ != kNobody) finish_epoch();
    Step& step = push(Kind::seek);
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      Part& part = step.parts[rank];
      const ModelView& view = views_[rank];
      const std::int64_t most = stream_limit(view) / view.etype.size();
      part.takes_part = chance(random_, 70);
      part.whence = static_cast<Whence>(random_.between(0, 2));
      // Where tiles reach into each other, the etype that is first in the stream need not be first in the file.
      if (part.whence == Whence::end && !view.is_ordered()) part.whence = Whence::set;
      std::int64_t from = 0;
      if (part.whence == Whence::current) from = pointers_[rank];
      if (part.whence == Whence::end) from = end_in_view(view);
      const std::int64_t target = random_.between(chance(random_, 10) ? -5 : 0, most);
      part.offset = target - from;
      part.is_error = target < 0;
      if (part.takes_part && !part.is_error) pointers_[rank] = target;
      part.pointer = pointers_[rank];
      part.end = view.at(part.pointer * view.etype.size());
    }
    // A later write must not move the end while a slower rank still looks for it.
    for (const Part& part : step.parts) {
      if (part.takes_part && part.whence == Whence::end) end_reader_ = kSeveral;
    }
  }

  void add_size() {
    if (!writable_) return;
    finish_epoch();
    const bool grow_only = chance(random_, 40);
    Step& step = push(grow_only ? Kind::reserve : Kind::resize);
    step.size = random_.between(0, options_.limit);
    if (!grow_only || step.size > file_size()) content_.resize(static_cast<std::size_t>(step.size));
    stable_size_ = file_size();
  }

  Hints random_hints() {
    Hints hints;
    const auto pick = [&](std::initializer_list<std::int64_t> values) {
      return values.begin()[random_.between(0, std::ssize(values) - 1)];
    };
    const auto toggle = [&] { return static_cast<Toggle>(random_.between(0, 2)); };
    hints.cb_buffer_size = pick({1, 7, 64, 4096, 10000, 16 << 20});
    hints.cb_nodes = random_.between(0, options_.ranks);
    if (chance(random_, 30)) hints.cb_config_list = chance(random_, 50) ? "*:1" : "*:2";
    hints.cb_read = toggle();
    hints.cb_write = toggle();
    if (chance(random_, 70)) {
      const auto all = std::ssize(strategies());
      hints.strategy = strategies()[static_cast<std::size_t>(random_.between(0, all - 1))]->name;
    }
    hints.ds_read = static_cast<Toggle>(random_.between(0, 2));
    hints.ds_write = static_cast<Toggle>(random_.between(0, 2));
    hints.ind_rd_buffer_size = chance(random_, 50) ? random_.between(1, 500) : 4 << 20;
    hints.ind_wr_buffer_size = chance(random_, 50) ? random_.between(1, 500) : 512 << 10;
    return hints;
  }

  void add_hints() {
    Step& step = push(Kind::hints);
    const Hints hints = random_hints();
    const bool differing = chance(random_, 50);
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      step.parts[rank].hints = hints;
      if (!differing) continue;
      const Hints others = random_hints();
      for (const HintRow& row : hint_rows()) {
        if (row.acts && row.agreement == Agreement::per_rank)
          set_hint(step.parts[rank].hints, row.key, row.get(others));
      }
    }
  }

  void add_atomic() { push(Kind::atomic).on = chance(random_, 50); }

  void add_close() {
    push(Kind::close).content = content_;
    forget_marks();
  }

  void add_reopen() {
    writable_ = chance(random_, 60);
    Step& step = push(Kind::reopen);
    step.mode.read = true;
    step.mode.write = writable_;
    step.mode.append = chance(random_, 30);
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      views_[rank] = ModelView();
      pointers_[rank] = step.mode.append ? file_size() : 0;
      step.parts[rank].pointer = pointers_[rank];
    }
  }

  Random random_;
  ScriptOptions options_;
  Script script_;
  std::vector<ModelView> views_;        // [ranks]
  std::vector<std::int64_t> pointers_;  // [ranks]
  std::vector<Hints> hints_;            // [ranks]
  ByteVector content_;
  bool writable_ = true;
  std::vector<int> mark_writer_;  // by byte: the agent that wrote it since the last check
  std::vector<int> mark_reader_;  // by byte: the agent that read it
  std::vector<int> mark_step_;
  int step_mark_ = 0;
  std::int64_t stable_size_ = 0;  // of the file when marks were last forgotten
  int extender_ = kNobody;        // the agent that moved the end of the file
  int end_reader_ = kNobody;      // the agent that noticed where it is
  int next_agent_ = 1000;
};

// Runs one rank's part of a script on the file `name`, which does not exist yet; `path` is what the system calls it.
// Every opening takes a communicator of its own from `comm_of(opening)`. Failures are texts; all ranks stop after the
// check that follows the first of them.
class ScriptRunner {
 public:
  using CommOf = std::function<std::unique_ptr<Comm>(int opening)>;

  ScriptRunner(const Script& script, std::string name, std::string path, CommOf comm_of)
      : script_(script), name_(std::move(name)), path_(std::move(path)), comm_of_(std::move(comm_of)) {}

  std::vector<std::string> run() {
    open({.read = true, .write = true, .create = true, .exclusive = true});
    for (at_ = 0; at_ < script_.steps.size() && file_ != nullptr && !stopped_; ++at_) run_step(script_.steps[at_]);
    under_way_.clear();
    file_.reset();
    return std::move(failures_);
  }

 private:
  using Kind = Step::Kind;

  struct UnderWay {
    const Step* step;
    const Part* part;
    ByteVector buffer;
    std::unique_ptr<Request> request;
  };

  void fail(const std::string& what) {
    failures_.push_back("step " + std::to_string(at_) + ", rank " + std::to_string(rank_) + ": " + what);
  }

  void expect(const Status& status, const char* what) {
    if (!status.ok()) fail(std::string(what) + ": " + status.error().detail);
  }

  void open(AccessMode mode) {
    std::unique_ptr<Comm> comm = comm_of_(openings_++);
    rank_ = comm->rank();
    random_ = Random(script_.options.seed * 31 + static_cast<std::uint64_t>(rank_));
    Result<std::shared_ptr<File>> opened = File::open(std::move(comm), name_, mode, script_.hints);
    if (opened.ok()) {
      file_ = std::move(opened.value());
    } else {
      fail("open: " + opened.error().detail);
    }
  }

  void run_step(const Step& step) {
    const Part& part = step.parts[static_cast<std::size_t>(rank_)];
    poll_some();
    switch (step.kind) {
      case Kind::access:
        return access(step, part);
      case Kind::view:
        return expect(file_->set_view(part.view.view()), "set_view");
      case Kind::seek:
        return seek(part);
      case Kind::resize:
        return expect(file_->resize(step.size), "resize");
      case Kind::reserve:
        return expect(file_->reserve(step.size), "reserve");
      case Kind::atomic:
        return expect(file_->set_atomic(step.on), "set_atomic");
      case Kind::hints:
        return set_hints(part.hints);
      case Kind::wait:
        return wait_for_some();
      case Kind::check:
        return check(step);
      case Kind::close:
        return close(step);
      case Kind::reopen:
        return reopen(step, part);
    }
  }

  void access(const Step& step, const Part& part) {
    if (!part.takes_part) return;
    UnderWay mine{&step, &part, pattern_bytes(part), nullptr};
    Result<Memory> memory = Memory::of(mine.buffer.data() + part.base, part.count, part.memory.layout);
    if (!memory.ok()) return fail("Memory::of: " + memory.error().detail);
    if (step.bad_rank == rank_) memory = Error{Code::Count, "a bad count"};
    if (!step.nonblocking) {
      const Result<std::int64_t> moved = step.collective
                                             ? file_->transfer_all(step.direction, part.position, std::move(memory))
                                             : file_->transfer(step.direction, part.position, memory.value());
      compare(mine, moved);
    } else if (step.collective) {
      mine.request = file_->start_all(step.direction, part.position, std::move(memory));
      under_way_.push_back(std::move(mine));
    } else {
      Result<std::unique_ptr<Request>> started = file_->start(step.direction, part.position, memory.value());
      if (!started.ok()) return fail("start: " + started.error().detail);
      mine.request = std::move(started.value());
      under_way_.push_back(std::move(mine));
    }
    if (file_->position() != part.pointer)
      fail("pointer at " + std::to_string(file_->position()) + ", expected " + std::to_string(part.pointer));
  }

  void compare(const UnderWay& mine, const Result<std::int64_t>& moved) {
    const Part& part = *mine.part;
    const std::string text = text_of(*mine.step);
    const std::string what = text.substr(0, text.find('\n'));
    if (mine.step->bad_rank >= 0) {
      if (moved.ok()) fail(what + " succeeded");
      if (!moved.ok() && moved.error().code != Code::Count) fail(what + ": " + moved.error().detail);
    } else if (!moved.ok()) {
      return fail(what + ": " + moved.error().detail);
    } else if (moved.value() != part.bytes) {
      fail(what + " moved " + std::to_string(moved.value()) + " bytes, expected " + std::to_string(part.bytes));
    }
    compare_buffer(mine, what);
  }

  void compare_buffer(const UnderWay& mine, const std::string& what) {
    const ByteVector expected =
        mine.step->direction == Direction::read ? mine.part->expected : pattern_bytes(*mine.part);
    const auto [a, b] = std::mismatch(mine.buffer.begin(), mine.buffer.end(), expected.begin());
    if (a != mine.buffer.end()) fail(what + ": buffer byte " + std::to_string(a - mine.buffer.begin()) + " is wrong");
  }

  void seek(const Part& part) {
    if (part.takes_part) {
      const Status moved = file_->seek(part.offset, part.whence);
      if (moved.ok() == part.is_error) fail(moved.ok() ? "seek to before the file succeeded" : moved.error().detail);
    }
    if (file_->position() != part.pointer)
      fail("pointer at " + std::to_string(file_->position()) + ", expected " + std::to_string(part.pointer));
    const Result<std::int64_t> byte = file_->byte_offset(file_->position());
    if (!byte.ok()) return fail("byte_offset: " + byte.error().detail);
    if (byte.value() != part.end)
      fail("byte_offset " + std::to_string(byte.value()) + ", expected " + std::to_string(part.end));
  }

  void set_hints(Hints hints) {
    hints.fault = script_.hints.fault;
    expect(file_->set_hints(hints), "set_hints");
  }

  // As a program's tests would: a few requests, in any order, not the same on all ranks.
  void poll_some() {
    if (under_way_.empty()) return;
    for (std::int64_t polls = random_.between(0, 5); polls > 0; --polls) random_one()->request->poll();
  }

  std::list<UnderWay>::iterator random_one() {
    return std::next(under_way_.begin(), random_.between(0, std::ssize(under_way_) - 1));
  }

  void end_one(std::list<UnderWay>::iterator one) {
    if (chance(random_, 85)) {
      compare(*one, one->request->wait());
    } else {
      // Dropped unfinished, it does its part all the same.
      one->request.reset();
      if (one->step->bad_rank < 0) compare_buffer(*one, "dropped request");
    }
    under_way_.erase(one);
  }

  void wait_for_some() {
    for (std::int64_t ended = random_.between(0, 3); ended > 0 && !under_way_.empty(); --ended) end_one(random_one());
  }

  void wait_for_all() {
    while (!under_way_.empty()) end_one(random_one());
  }

  void check(const Step& step) {
    wait_for_all();
    expect(file_->sync(), "sync");
    const Result<std::int64_t> size = file_->size();
    if (!size.ok() || size.value() != std::ssize(step.content))
      fail("size " + (size.ok() ? std::to_string(size.value()) : size.error().detail) + ", expected " +
           std::to_string(step.content.size()));
    check_content(step);
  }

  // One rank compares, and nobody goes on before it has.
  void check_content(const Step& step) {
    if (static_cast<std::size_t>(rank_) == at_ % static_cast<std::size_t>(script_.options.ranks))
      compare_file(step.content);
    std::int64_t failed = std::ssize(failures_);
    expect(file_->comm().allreduce({&failed, 1}, Reduction::max).wait(), "allreduce");
    stopped_ = failed > 0 || !failures_.empty();
  }

  void compare_file(const ByteVector& expected) {
    ByteVector bytes(expected.size() + 1);
    std::ifstream in(path_, std::ios::binary);
    in.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
    if (!in.eof() || in.gcount() != std::ssize(expected)) {
      return fail("the file has " + std::to_string(in.gcount()) + " bytes, expected " +
                  std::to_string(expected.size()));
    }
    const auto [a, b] = std::mismatch(expected.begin(), expected.end(), bytes.begin());
    if (a != expected.end()) fail("file byte " + std::to_string(a - expected.begin()) + " is wrong");
  }

  void close(const Step& step) {
    const bool late = chance(random_, 50);  // requests outlive the file's being open
    if (!late) wait_for_all();
    expect(file_->close(), "close");
    wait_for_all();
    check_content(step);
  }

  void reopen(const Step& step, const Part& part) {
    file_.reset();
    open(step.mode);
    if (file_ != nullptr && file_->position() != part.pointer)
      fail("opened at " + std::to_string(file_->position()) + ", expected " + std::to_string(part.pointer));
  }

  const Script& script_;
  std::string name_;
  std::string path_;
  CommOf comm_of_;
  Random random_{0};  // of this rank alone: when it polls and waits
  int rank_ = 0;
  int openings_ = 0;
  std::size_t at_ = 0;
  bool stopped_ = false;
  std::shared_ptr<File> file_;
  std::list<UnderWay> under_way_;
  std::vector<std::string> failures_;
};

// A script of some size, drawn from the seed.
inline Script random_script(int ranks, std::uint64_t seed) {
  Random random(seed ^ 0x5bd1e995);
  ScriptOptions options;
  options.ranks = ranks;
  options.seed = seed;
  options.steps = static_cast<int>(random.between(5, 60));
  if (chance(random, 30)) {
    options.scale = random.between(2, 60);
    options.limit = random.between(2000, 60000);
  }
  return ScriptWriter(options).write();
}

inline std::string listing(const Script& script) {
  std::string text = "options: ranks " + std::to_string(script.options.ranks) + ", seed " +
                     std::to_string(script.options.seed) + ", scale " + std::to_string(script.options.scale) +
                     ", limit " + std::to_string(script.options.limit) + "\n";
  text += "hints: " + text_of(script.hints) + "\n";
  for (std::size_t i = 0; i < script.steps.size(); ++i)
    text += std::to_string(i) + ": " + text_of(script.steps[i]) + "\n";
  return text;
}

}  // namespace plenum::test
