// SPDX-License-Identifier: BSD-3-Clause
#include "base/counters.hpp"

#include <algorithm>

namespace plenum {

void Counters::add_to_new_slot(Direction direction, bool collective, const char* strategy, const char* reason,
                               std::int64_t bytes) {
  static const char* const kOther = "other";
  const std::lock_guard lock(adding_);
  const std::size_t used = used_.load(std::memory_order_relaxed);
  const auto find = [&](const char* s, const char* r) {
    return std::find_if(slots_.begin(), slots_.begin() + used,
                        [&](const Slot& slot) { return slot.is(direction, collective, s, r); });
  };
  const auto end = slots_.begin() + used;
  auto found = find(strategy, reason);  // another thread may have added it since
  if (found == end && used >= kSlots - kReserved) {
    strategy = reason = kOther;
    found = find(strategy, reason);
  }
  if (found == end) {
    found->direction = direction;
    found->collective = collective;
    found->strategy = strategy;
    found->reason = reason;
    used_.store(used + 1, std::memory_order_release);
  }
  found->add(bytes);
}

std::vector<Counters::Row> Counters::rows() const {
  std::vector<Row> rows;
  const std::size_t used = used_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    const Slot& slot = slots_[i];
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.direction == slot.direction && row.collective == slot.collective && row.strategy == slot.strategy &&
             row.reason == slot.reason;
    });
    Row& row = same != rows.end()
                   ? *same
                   : rows.emplace_back(Row{slot.direction, slot.collective, slot.strategy, slot.reason, 0, 0});
    row.calls += slot.calls.load(std::memory_order_relaxed);
    row.bytes += slot.bytes.load(std::memory_order_relaxed);
  }
  return rows;
}

}  // namespace plenum
