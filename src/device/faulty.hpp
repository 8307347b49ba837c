// SPDX-License-Identifier: BSD-3-Clause
//
// The faulty device goes over another one ("faulty:posix:/a", "faulty:/a") and makes chosen operations on a file go
// wrong as the hint plenum_fault says. Without that hint it changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "device/device.hpp"

namespace plenum {

// Which operations on a file go wrong, and how.
struct Fault {
  enum class Operation { any, open, read, write, size, resize, reserve, sync, lock, close };
  enum class Kind {
    error,        // the operation fails with errno_value, and the device below is not asked (close: asked all the same)
    short_moves,  // a read meets an end of file in the middle of what it asks for; a write stores the first half of its
                  // bytes and fails with errno_value, as on a disk that is filling up; other operations are left alone
    delay,        // the operation begins delay_us late, and is done
  };

  Operation operation = Operation::any;  // those that count; `any`: all of them, the opening included
  std::int64_t first = 1;                // the first that goes wrong, counted from 1 in each opening of a file
  std::int64_t every = 1;                // and then each so-manieth after it; 0: that one only
  Kind kind = Kind::error;
  int errno_value = 5;        // EIO
  std::int64_t delay_us = 0;  // [microseconds]
};

// The syntax of the hint plenum_fault, items separated by commas:
//   op=read|write|size|resize|reserve|sync|lock|open|close|any     default any
//   nth=N       the N-th of these operations only                  default: every one
//   every=N     the N-th, 2N-th, ...
//   error=NAME  the errno of the failure, such as ENOSPC           default EIO
//   short       Kind::short_moves
//   delay=N     Kind::delay, in microseconds
// Empty text, too, is an error: InfoValue, which quotes the item.
Result<Fault> parse_fault(std::string_view text);

// `below` with its operations going wrong as `fault` says; for tests. The opening has happened and is not counted.
std::unique_ptr<DeviceFile> make_faulty_file(std::unique_ptr<DeviceFile> below, const Fault& fault);

}  // namespace plenum
