// SPDX-License-Identifier: BSD-3-Clause
//
// Nonblocking accesses of an open file.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "file/file.hpp"

namespace plenum {

// An access on the I/O threads.
class IndependentRequest final : public Request {
 public:
  IndependentRequest(std::shared_ptr<File> file, Access access);
  ~IndependentRequest() override;

  bool poll() override { return state_->ended.load(std::memory_order_acquire); }
  Result<std::int64_t> wait() override;

 private:
  // Shared with the job, which may outlive this object by the moment between announcing its end and returning.
  struct State {
    std::atomic<bool> ended{false};
    Result<std::int64_t> result = std::int64_t{0};
  };

  std::shared_ptr<File> file_;
  std::shared_ptr<State> state_;
};

// A collective access: a suspended task in the queue of its file.
class CollectiveRequest final : public Request {
 public:
  CollectiveRequest(std::shared_ptr<File> file, Task<Result<std::int64_t>> task);
  ~CollectiveRequest() override;

  bool poll() override;
  Result<std::int64_t> wait() override;

 private:
  friend class File;

  std::shared_ptr<File> file_;
  Task<Result<std::int64_t>> task_;
  std::optional<Result<std::int64_t>> result_;
};

}  // namespace plenum
