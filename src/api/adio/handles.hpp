// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace plenum::adio {

// What C handles stand for. A handle is a number that is never given out twice, so that one whose object is gone is
// found out, however long the caller has kept it; 0 is the null handle.
//
// Thread safety: full. An object that is found stays alive while it is used, even if it is taken out meanwhile.
template <class Handle, class Object>
class HandleTable {
 public:
  using Entry = std::pair<Handle, std::shared_ptr<Object>>;

  Handle add(std::shared_ptr<Object> object) {
    const std::lock_guard guard(mutex_);
    objects_.emplace(++last_, std::move(object));
    return reinterpret_cast<Handle>(last_);
  }

  // Null if there is no such object, or no more.
  std::shared_ptr<Object> find(Handle handle) {
    const std::lock_guard guard(mutex_);
    const auto found = objects_.find(number_of(handle));
    return found == objects_.end() ? nullptr : found->second;
  }

  // The same, and the handle is void from then on.
  std::shared_ptr<Object> take(Handle handle) {
    const std::lock_guard guard(mutex_);
    auto node = objects_.extract(number_of(handle));
    return node.empty() ? nullptr : std::move(node.mapped());
  }

  // Takes out all objects for which `wanted` is true, in the order in which they were added.
  template <class Wanted>
  std::vector<std::shared_ptr<Object>> take_all(Wanted wanted) {
    const std::lock_guard guard(mutex_);
    std::vector<std::shared_ptr<Object>> taken;
    for (auto at = objects_.begin(); at != objects_.end();) {
      if (wanted(*at->second)) {
        taken.push_back(std::move(at->second));
        at = objects_.erase(at);
      } else {
        ++at;
      }
    }
    return taken;
  }

 private:
  static std::uintptr_t number_of(Handle handle) { return reinterpret_cast<std::uintptr_t>(handle); }

  std::mutex mutex_;
  std::uintptr_t last_ = 0;
  std::map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

}  // namespace plenum::adio
