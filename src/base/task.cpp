// SPDX-License-Identifier: BSD-3-Clause
#include "base/task.hpp"

#include <sched.h>

#include <chrono>
#include <thread>

namespace plenum {

void Backoff::pause() {
  constexpr int kPollsBeforeYield = 16;
  // Ranks that only yield keep swapping with each other while the one they wait for does not run, so the yields are
  // few. The shortest sleep takes some 50 microseconds in practice.
  constexpr int kPollsBeforeSleep = 128;
  ++polls_;
  if (polls_ < kPollsBeforeYield) return;
  if (polls_ < kPollsBeforeSleep) {
    sched_yield();
    return;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(1));
}

}  // namespace plenum
