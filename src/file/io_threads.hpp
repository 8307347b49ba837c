// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace plenum {

// The few threads of this process that carry out nonblocking independent accesses. They call devices only, never MPI.
// Started by the first job; a job must not throw.
class IoThreads {
 public:
  static IoThreads& instance();

  // Runs `job` on one of the threads, in order of arrival where there is one thread; on the caller if no thread can be
  // had.
  void run(std::function<void()> job);

  ~IoThreads();

 private:
  IoThreads() = default;
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace plenum
