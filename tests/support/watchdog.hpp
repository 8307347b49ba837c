// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace plenum::test {

// Ends the program, saying why, unless it is destroyed or patted within `limit`: a test that hangs must fail by itself.
class Watchdog {
 public:
  // `where`, which may be called from another thread, says what was going on.
  Watchdog(std::chrono::seconds limit, std::function<std::string()> where)
      : limit_(limit), where_(std::move(where)), thread_([this] { watch(); }) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Something has been finished.
  void pat() {
    {
      const std::lock_guard lock(mutex_);
      ++pats_;
    }
    changed_.notify_all();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      const long seen = pats_;
      if (changed_.wait_for(lock, limit_, [&] { return over_ || pats_ != seen; })) continue;
      std::fprintf(stderr, "no progress for %lld s: %s\n", static_cast<long long>(limit_.count()), where_().c_str());
      std::abort();
    }
  }

  std::chrono::seconds limit_;
  std::function<std::string()> where_;
  std::mutex mutex_;
  std::condition_variable changed_;
  long pats_ = 0;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace plenum::test
