// SPDX-License-Identifier: BSD-3-Clause
#include "file/io_threads.hpp"

#include <system_error>

namespace plenum {

namespace {
// Enough to keep a disk's queue busy; more would only take cores from the program.
constexpr std::size_t kMostThreads = 4;
}  // namespace

IoThreads& IoThreads::instance() {
  static IoThreads threads;
  return threads;
}

void IoThreads::run(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (idle_ <= jobs_.size() && threads_.size() < kMostThreads) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        // No thread to be had: the others do the work, or the caller if there are none.
      }
    }
    if (!threads_.empty()) {
      jobs_.push_back(std::move(job));
      wake_.notify_one();
      return;
    }
  }
  job();
}

void IoThreads::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

IoThreads::~IoThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace plenum
