// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace plenum {

// Which way the bytes of an access go: from the file to memory, or from memory to the file.
enum class Direction { read, write };

}  // namespace plenum
