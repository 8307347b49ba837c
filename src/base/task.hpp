// SPDX-License-Identifier: BSD-3-Clause
//
// Work that can be suspended. A collective algorithm is written once, as a coroutine returning Task<T>; a blocking call
// runs it to its end, a nonblocking one keeps it in a request and advances it a little in every test and wait.
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.hpp"

namespace plenum {

// Waits a little longer each time: a few polls at once, then giving up the core, then sleeping. More ranks than cores
// must work well, so nothing here ever spins for long.
class Backoff {
 public:
  void pause();
  void reset() { polls_ = 0; }

 private:
  int polls_ = 0;
};

// The state of an operation under way. poll() makes progress without blocking and returns true once it has ended; after
// that it is not called again, and outcome() says how it ended. Destroying one that has not ended must be safe.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool poll() = 0;
  virtual Status outcome() = 0;
};

// Owns an operation under way, or one that ended at once. The memory given to the call that started it must stay in
// place until it has ended.
class [[nodiscard]] Operation {
 public:
  explicit Operation(std::unique_ptr<Pending> pending) : pending_(std::move(pending)) {}
  Operation(Status ended) : outcome_(std::move(ended)) {}

  // True once the operation has ended.
  bool poll() {
    if (pending_ != nullptr && pending_->poll()) {
      outcome_ = pending_->outcome();
      pending_.reset();
    }
    return pending_ == nullptr;
  }

  // Blocks until the end.
  Status wait() {
    for (Backoff backoff; !poll();) backoff.pause();
    return std::move(outcome_);
  }

  // What it came to; only after poll() was true, and once.
  Status take() { return std::move(outcome_); }

 private:
  std::unique_ptr<Pending> pending_;
  Status outcome_;
};

namespace detail {

// What the tasks of one call chain share: the operation that the innermost one waits for, and where to go on.
struct TaskRoot {
  Operation* waiting = nullptr;
  std::coroutine_handle<> innermost;
};

struct PromiseBase {
  TaskRoot* root = nullptr;
  std::coroutine_handle<> caller = std::noop_coroutine();
  std::exception_ptr exception;

  std::suspend_always initial_suspend() noexcept { return {}; }
  auto final_suspend() noexcept {
    struct ToCaller {
      std::coroutine_handle<> caller;
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept { return caller; }
      void await_resume() noexcept {}
    };
    return ToCaller{caller};
  }
  void unhandled_exception() { exception = std::current_exception(); }

  auto await_transform(Operation operation) {
    struct Awaiter {
      Operation operation;
      TaskRoot* root;
      bool await_ready() { return operation.poll(); }
      void await_suspend(std::coroutine_handle<> self) {
        root->waiting = &operation;
        root->innermost = self;
      }
      Status await_resume() { return operation.take(); }
    };
    return Awaiter{std::move(operation), root};
  }

  template <class ChildTask>
  requires requires(ChildTask task) { task.handle().promise().root; }
  auto await_transform(ChildTask child) {
    struct Awaiter {
      ChildTask child;
      TaskRoot* root;
      bool await_ready() { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> self) {
        child.handle().promise().root = root;
        child.handle().promise().caller = self;
        return child.handle();
      }
      auto await_resume() { return child.take(); }
    };
    return Awaiter{std::move(child), root};
  }
};

}  // namespace detail

// A suspended computation that ends in a T (a Result or Status). It starts when first advanced or awaited; arguments of
// the coroutine are copied into it, so what it refers to must outlive it. Destroying an unfinished task drops it where
// it stands.
template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type : detail::PromiseBase {
    std::optional<T> result;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    template <class U>
    void return_value(U&& value) {
      result.emplace(std::forward<U>(value));
    }
  };
  using Handle = std::coroutine_handle<promise_type>;

  Task(Task&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), root_(std::exchange(other.root_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(root_, other.root_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Goes on as far as possible without blocking; true once the task has ended. Not while it is being advanced already.
  bool advance() {
    if (root_ == nullptr) {
      root_ = std::make_unique<detail::TaskRoot>();
      root_->innermost = handle_;
      handle_.promise().root = root_.get();
    }
    while (!handle_.done()) {
      if (root_->waiting != nullptr && !root_->waiting->poll()) return false;
      root_->waiting = nullptr;
      root_->innermost.resume();
    }
    return true;
  }

  // Blocks until the end and returns the result.
  T wait() {
    for (Backoff backoff; !advance();) backoff.pause();
    return take();
  }

  // The result; only after advance() was true, and once.
  T take() {
    if (handle_.promise().exception) std::rethrow_exception(handle_.promise().exception);
    return std::move(*handle_.promise().result);
  }

  Handle handle() const { return handle_; }

 private:
  explicit Task(Handle handle) : handle_(handle) {}

  Handle handle_;
  std::unique_ptr<detail::TaskRoot> root_;
};

// GCC 12 evaluates both arms of a conditional with class values inside a co_await expression: name such a value first.

// Leaves the enclosing coroutine with the Error of a Status, if it is one. (PLENUM_TRY cannot be used there: `return`
// is not allowed in a coroutine.)
#define PLENUM_CO_TRY(...)                                                                  \
  do {                                                                                      \
    auto plenum_status_ = __VA_ARGS__;                                                      \
    if (!plenum_status_.ok()) co_return ::plenum::Error(std::move(plenum_status_.error())); \
  } while (false)

}  // namespace plenum
