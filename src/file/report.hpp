// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/result.hpp"
#include "base/task.hpp"

namespace plenum {

class Comm;
class File;

// Appends one line of JSON to the file `path`, which says what all ranks did with `file`:
//   {"path": str, "device": str, "file_system": str, "ranks": int, "strategies": [{"operation": "read"|"write",
//    "collective": bool, "strategy": str, "reason": str, "calls": int, "bytes": int}, ...]}
// Calls and bytes are sums over the ranks. Collective; one rank writes, in one system call, so that lines of programs
// that end at the same time do not mix.
Task<Status> append_report(const File& file, Comm& comm, const std::string& path);

}  // namespace plenum
