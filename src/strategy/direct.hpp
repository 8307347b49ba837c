// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "strategy/strategy.hpp"

namespace plenum {

// Every rank does its own transfers, in batches; noncontiguous memory of a contiguous file range goes through a buffer.
const Strategy& direct_strategy();

// The transfers of `access` one after another, without any choice: what other strategies use for their own pieces.
Result<std::int64_t> transfer_pieces(DeviceFile& file, const Access& access);

}  // namespace plenum
