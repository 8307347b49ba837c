// SPDX-License-Identifier: BSD-3-Clause
#include "file/requests.hpp"

#include "file/io_threads.hpp"

namespace plenum {

IndependentRequest::IndependentRequest(std::shared_ptr<File> file, Access access)
    : file_(std::move(file)), state_(std::make_shared<State>()) {
  file_->under_way_.fetch_add(1, std::memory_order_relaxed);
  IoThreads::instance().run([state = state_, file = file_.get(), access = std::move(access)] {
    state->result = file->carry_out(access);
    // The file may go once its last access has ended, so it is not touched after this.
    file->under_way_.fetch_sub(1, std::memory_order_release);
    file->under_way_.notify_all();
    state->ended.store(true, std::memory_order_release);
    state->ended.notify_all();
  });
}

IndependentRequest::~IndependentRequest() { state_->ended.wait(false, std::memory_order_acquire); }

Result<std::int64_t> IndependentRequest::wait() {
  state_->ended.wait(false, std::memory_order_acquire);
  return state_->result;
}

CollectiveRequest::CollectiveRequest(std::shared_ptr<File> file, Task<Result<std::int64_t>> task)
    : file_(std::move(file)), task_(std::move(task)) {
  file_->queue_.push_back(this);
}

CollectiveRequest::~CollectiveRequest() {
  for (Backoff backoff; !poll();) backoff.pause();
}

bool CollectiveRequest::poll() {
  if (!result_) file_->advance_queue();
  return result_.has_value();
}

Result<std::int64_t> CollectiveRequest::wait() {
  for (Backoff backoff; !poll();) backoff.pause();
  return *result_;
}

}  // namespace plenum
