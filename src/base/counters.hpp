// SPDX-License-Identifier: BSD-3-Clause
//
// What happened to one open file: how often each strategy was chosen, and why.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/direction.hpp"

namespace plenum {

// Counts accesses. add() costs some ten nanoseconds: what has been seen before is found by comparing pointers, and
// counted without a lock.
//
// Thread safety: everything may be called from several threads at once. rows() may then miss what is being added, never
// tear it.
class Counters {
 public:
  // One kind of access, and how much of it there was.
  struct Row {
    Direction direction = Direction::read;
    bool collective = false;
    std::string_view strategy;
    std::string_view reason;
    std::int64_t calls = 0;
    std::int64_t bytes = 0;
  };

  Counters() = default;
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  // One access by this process: `bytes` were moved for it, which may be 0. `strategy` and `reason` are string literals,
  // or other strings that outlive the program's use of this object; the same text at two addresses is one kind of
  // access.
  void add(Direction direction, bool collective, const char* strategy, const char* reason, std::int64_t bytes) {
    const std::size_t used = used_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < used; ++i) {
      if (slots_[i].is(direction, collective, strategy, reason)) return slots_[i].add(bytes);
    }
    add_to_new_slot(direction, collective, strategy, reason, bytes);
  }

  // In order of first appearance. Beyond a few dozen kinds, all others are one row per direction and collectiveness,
  // with strategy and reason "other".
  std::vector<Row> rows() const;

 private:
  struct Slot {
    Direction direction = Direction::read;
    bool collective = false;
    const char* strategy = nullptr;
    const char* reason = nullptr;
    std::atomic<std::int64_t> calls = 0;
    std::atomic<std::int64_t> bytes = 0;

    bool is(Direction d, bool c, const char* s, const char* r) const {
      return strategy == s && reason == r && direction == d && collective == c;
    }
    void add(std::int64_t more) {
      calls.fetch_add(1, std::memory_order_relaxed);
      bytes.fetch_add(more, std::memory_order_relaxed);
    }
  };

  static constexpr std::size_t kSlots = 48;
  static constexpr std::size_t kReserved = 4;  // "other": read and write, collective and not

  void add_to_new_slot(Direction direction, bool collective, const char* strategy, const char* reason,
                       std::int64_t bytes);

  std::mutex adding_;
  std::atomic<std::size_t> used_ = 0;  // slots below are complete: all but their sums never change again
  std::array<Slot, kSlots> slots_;
};

}  // namespace plenum
