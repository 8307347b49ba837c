// SPDX-License-Identifier: BSD-3-Clause
#include "device/device.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace plenum {

// device_table.inc has one line PLENUM_DEVICE(name) per device, in order of preference; the build writes it.
#define PLENUM_DEVICE(name) std::unique_ptr<Device> make_##name##_device();
#include "device_table.inc"
#undef PLENUM_DEVICE

namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Device> (*make)();
};

constexpr Entry kDevices[] = {
#define PLENUM_DEVICE(name) {#name, &make_##name##_device},
#include "device_table.inc"
#undef PLENUM_DEVICE
};

constexpr std::string_view kDefaultDevice = "posix";

// The file systems that ROMIO has a prefix for and that a path of the operating system leads to. Others of its prefixes
// (testfs, daos, gridftp, ...) name storage that posix could not reach under that path.
constexpr std::array<std::string_view, 12> kRomioPrefixes = {"ufs", "nfs",  "xfs",   "pfs",   "piofs",  "hfs",
                                                             "sfs", "pvfs", "pvfs2", "panfs", "lustre", "gpfs"};

std::unique_ptr<Device> make_device(std::string_view name) {
  if (std::find(kRomioPrefixes.begin(), kRomioPrefixes.end(), name) != kRomioPrefixes.end()) name = kDefaultDevice;
  for (const Entry& entry : kDevices) {
    if (entry.name == name) return entry.make();
  }
  return nullptr;
}

// Takes the prefix, without its colon, off the front of `name`; none if there is none.
std::optional<std::string_view> take_prefix(std::string_view& name) {
  const auto length = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
  if (length == std::string_view::npos || length < 2 || name[length] != ':') return std::nullopt;
  const auto prefix = name.substr(0, length);
  name.remove_prefix(length + 1);
  return prefix;
}

std::string list_of_devices() {
  std::string list;
  for (const Entry& entry : kDevices) list += (list.empty() ? "" : ", ") + std::string(entry.name);
  return list;
}

// The device that the prefixes at the front of `rest` name, which are taken off; `mistake` is the code of an unknown
// one. A device that goes over another one has that one's prefix after its own, or posix below it.
Result<std::unique_ptr<Device>> take_device(std::string_view& rest, Code mistake) {
  const auto prefix = take_prefix(rest);
  auto device = make_device(prefix.value_or(kDefaultDevice));
  if (device == nullptr) {
    return Error{mistake, "no device is called \"" + std::string(prefix.value_or(kDefaultDevice)) + "\" (there are " +
                              list_of_devices() + ")"};
  }
  if (!prefix) return device;
  if (device->over(make_device(kDefaultDevice)) == nullptr) return device;
  auto below = PLENUM_TRY(take_device(rest, mistake));
  return device->over(std::move(below));
}

Result<std::unique_ptr<Device>> device_of_hint(const std::string& hint) {
  const std::string prefix = hint.empty() || hint.ends_with(':') ? hint : hint + ":";
  std::string_view rest = prefix;
  auto device = take_device(rest, Code::InfoValue);
  if (!device.ok()) return Error{Code::InfoValue, "hint plenum_device=" + hint + ": " + device.error().detail};
  if (!rest.empty()) {
    return Error{Code::InfoValue, "hint plenum_device=" + hint + ": \"" + std::string(rest) + "\" is left over"};
  }
  return device;
}

}  // namespace

Result<RangeLock> DeviceFile::lock(ByteRange, Sharing) {
  return Error{Code::Unsupported, "this device has no byte range locks"};
}

std::unique_ptr<Device> Device::over(std::unique_ptr<Device>) const { return nullptr; }

Result<Target> resolve(const std::string& name, const Hints& hints) {
  if (name.find('\0') != std::string::npos) return Error{Code::BadName, "a file name cannot contain a zero byte"};
  std::string_view rest = name;
  std::string_view probe = name;
  auto device = take_prefix(probe) ? take_device(rest, Code::BadName) : device_of_hint(hints.device);
  if (!device.ok()) return Error{device.error().code, "\"" + name + "\": " + device.error().detail};
  if (rest.empty()) return Error{Code::BadName, "\"" + name + "\": the file name is empty"};
  return Target{std::move(device).value(), std::string(rest)};
}

std::vector<std::string_view> device_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kDevices) names.push_back(entry.name);
  return names;
}

}  // namespace plenum
