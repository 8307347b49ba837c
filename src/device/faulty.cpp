// SPDX-License-Identifier: BSD-3-Clause
#include "device/faulty.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <thread>

namespace plenum {
namespace {

using Operation = Fault::Operation;
using Kind = Fault::Kind;

static_assert(EIO == 5);

struct OperationName {
  std::string_view name;
  Operation operation;
};

constexpr OperationName kOperations[] = {
    {"any", Operation::any},         {"open", Operation::open}, {"read", Operation::read},
    {"write", Operation::write},     {"size", Operation::size}, {"resize", Operation::resize},
    {"reserve", Operation::reserve}, {"sync", Operation::sync}, {"lock", Operation::lock},
    {"close", Operation::close},
};

std::string name_of(Operation operation) {
  for (const auto& [name, known] : kOperations) {
    if (known == operation) return std::string(name);
  }
  return "operation";
}

// ---- The hint

std::optional<std::int64_t> number_of_at_least(std::int64_t least, std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < least) return std::nullopt;
  return number;
}

std::optional<int> errno_called(std::string_view name) {
  constexpr int kLargestErrno = 133;
  for (int value = 1; value <= kLargestErrno; ++value) {
    const char* known = strerrorname_np(value);
    if (known != nullptr && name == known) return value;
  }
  return std::nullopt;
}

// False: the item is not understood.
bool set_operation(Fault& fault, std::string_view value) {
  for (const auto& [name, operation] : kOperations) {
    if (name != value) continue;
    fault.operation = operation;
    return true;
  }
  return false;
}

bool set_item(Fault& fault, std::string_view key, std::string_view value) {
  if (key == "op") return set_operation(fault, value);
  if (key == "short" && value.empty()) {
    fault.kind = Kind::short_moves;
    return true;
  }
  if (key == "error") {
    const auto errno_value = errno_called(value);
    fault.errno_value = errno_value.value_or(fault.errno_value);
    return errno_value.has_value();
  }
  if (key == "delay") {
    const auto delay = number_of_at_least(0, value);
    fault.kind = Kind::delay;
    fault.delay_us = delay.value_or(0);
    return delay.has_value();
  }
  if (key != "nth" && key != "every") return false;
  const auto number = number_of_at_least(1, value);
  fault.first = number.value_or(1);
  fault.every = key == "nth" ? 0 : fault.first;
  return number.has_value();
}

// ---- The file

// Decides, operation by operation, whether it goes wrong.
class Schedule {
 public:
  explicit Schedule(const Fault& fault) : fault_(fault) {}

  const Fault& fault() const { return fault_; }

  // Counts one operation. Its number if it is to go wrong, else 0; a delay is over on return and nothing goes wrong
  // then.
  std::int64_t count(Operation operation) {
    if (fault_.operation != Operation::any && fault_.operation != operation) return 0;
    const std::int64_t number = ++counted_;
    const std::int64_t past = number - fault_.first;
    const bool wrong = past == 0 || (past > 0 && fault_.every > 0 && past % fault_.every == 0);
    if (!wrong) return 0;
    if (fault_.kind != Kind::delay) return number;
    std::this_thread::sleep_for(std::chrono::microseconds(fault_.delay_us));
    return 0;
  }

  // For operations that move no bytes: the error, or success.
  Status next(Operation operation) {
    const std::int64_t number = count(operation);
    if (number == 0 || fault_.kind != Kind::error) return {};
    return error(operation, number);
  }

  Error error(Operation operation, std::int64_t number) const {
    return system_error("fault injected into " + name_of(operation) + ", operation " + std::to_string(number),
                        fault_.errno_value);
  }

 private:
  const Fault fault_;
  std::atomic<std::int64_t> counted_ = 0;
};

std::int64_t total_size(Transfers transfers) {
  return std::accumulate(transfers.begin(), transfers.end(), std::int64_t{0},
                         [](std::int64_t sum, const Transfer& one) { return sum + one.size; });
}

// The first `size` bytes of the batch, in its own order.
std::vector<Transfer> first_bytes(Transfers transfers, std::int64_t size) {
  std::vector<Transfer> kept;
  for (const Transfer& one : transfers) {
    if (size <= 0) break;
    kept.push_back({one.offset, one.memory, std::min(one.size, size)});
    size -= one.size;
  }
  return kept;
}

// What the batch would find in a file that ends in its middle: the only way in which a read may honestly be short.
std::vector<Transfer> before_an_end_of_file(Transfers transfers) {
  std::vector<Transfer> kept(transfers.begin(), transfers.end());
  std::sort(kept.begin(), kept.end(), [](const Transfer& a, const Transfer& b) { return a.offset < b.offset; });
  const auto half = first_bytes(kept, total_size(transfers) / 2);
  const std::int64_t end = half.empty() ? 0 : half.back().offset + half.back().size;
  for (Transfer& one : kept) one.size = std::clamp<std::int64_t>(end - one.offset, 0, one.size);
  std::erase_if(kept, [](const Transfer& one) { return one.size == 0; });
  return kept;
}

class FaultyFile final : public DeviceFile {
 public:
  FaultyFile(std::unique_ptr<DeviceFile> below, std::unique_ptr<Schedule> schedule)
      : below_(std::move(below)), schedule_(std::move(schedule)) {}

  const Traits& traits() const override { return below_->traits(); }

  Result<std::int64_t> read(Transfers transfers) override {
    const std::int64_t number = schedule_->count(Operation::read);
    if (number == 0) return below_->read(transfers);
    if (schedule_->fault().kind == Kind::error) return schedule_->error(Operation::read, number);
    return below_->read(before_an_end_of_file(transfers));
  }

  Status write(Transfers transfers) override {
    const std::int64_t number = schedule_->count(Operation::write);
    if (number == 0) return below_->write(transfers);
    if (schedule_->fault().kind == Kind::short_moves) {
      PLENUM_TRY(below_->write(first_bytes(transfers, total_size(transfers) / 2)));
    }
    return schedule_->error(Operation::write, number);
  }

  Result<std::int64_t> size() override {
    PLENUM_TRY(schedule_->next(Operation::size));
    return below_->size();
  }

  Status resize(std::int64_t size) override {
    PLENUM_TRY(schedule_->next(Operation::resize));
    return below_->resize(size);
  }

  Status reserve(std::int64_t size) override {
    PLENUM_TRY(schedule_->next(Operation::reserve));
    return below_->reserve(size);
  }

  Status sync() override {
    PLENUM_TRY(schedule_->next(Operation::sync));
    return below_->sync();
  }

  // A file is closed whatever closing reports.
  Status close() override {
    const Status injected = schedule_->next(Operation::close);
    Status closed = below_->close();
    return injected.ok() ? std::move(closed) : injected;
  }

  Result<RangeLock> lock(ByteRange range, Sharing sharing) override {
    PLENUM_TRY(schedule_->next(Operation::lock));
    return below_->lock(range, sharing);
  }

 private:
  std::unique_ptr<DeviceFile> below_;
  std::unique_ptr<Schedule> schedule_;
};

class FaultyDevice final : public Device {
 public:
  explicit FaultyDevice(std::unique_ptr<Device> below) : below_(std::move(below)) {}

  std::string_view name() const override { return "faulty"; }

  Result<std::unique_ptr<DeviceFile>> open(const std::string& path, const OpenMode& mode, const Hints& hints) override {
    if (below_ == nullptr) return Error{Code::BadName, "the device faulty needs another one below it: " + path};
    if (hints.fault.empty()) return below_->open(path, mode, hints);
    auto schedule = std::make_unique<Schedule>(PLENUM_TRY(parse_fault(hints.fault)));
    const Status injected = schedule->next(Operation::open);
    if (!injected.ok()) return Error{injected.error().code, "open " + path + ": " + injected.error().detail};
    auto file = PLENUM_TRY(below_->open(path, mode, hints));
    return std::make_unique<FaultyFile>(std::move(file), std::move(schedule));
  }

  Status remove(const std::string& path) override {
    if (below_ == nullptr) return Error{Code::BadName, "the device faulty needs another one below it: " + path};
    return below_->remove(path);
  }

  std::unique_ptr<Device> over(std::unique_ptr<Device> below) const override {
    return std::make_unique<FaultyDevice>(std::move(below));
  }

 private:
  std::unique_ptr<Device> below_;
};

}  // namespace

Result<Fault> parse_fault(std::string_view text) {
  Fault fault;
  for (;;) {
    const auto comma = text.find(',');
    const auto item = text.substr(0, comma);
    const auto equals = item.find('=');
    const auto value = equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
    if (!set_item(fault, item.substr(0, equals), value)) {
      return Error{Code::InfoValue, "hint plenum_fault: not understood: \"" + std::string(item) + "\""};
    }
    if (comma == std::string_view::npos) return fault;
    text.remove_prefix(comma + 1);
  }
}

std::unique_ptr<DeviceFile> make_faulty_file(std::unique_ptr<DeviceFile> below, const Fault& fault) {
  return std::make_unique<FaultyFile>(std::move(below), std::make_unique<Schedule>(fault));
}

std::unique_ptr<Device> make_faulty_device();
std::unique_ptr<Device> make_faulty_device() { return std::make_unique<FaultyDevice>(nullptr); }

}  // namespace plenum
