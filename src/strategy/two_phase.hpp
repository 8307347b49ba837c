// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "strategy/strategy.hpp"

namespace plenum {

// Aggregators own parts of the file, the file domains; pieces are exchanged with them, and they read and write in large
// blocks. See two_phase.cpp.
const Strategy& two_phase_strategy();

// The plan of a two-phase access: computed by every rank alike, without communication.
namespace two_phase {

// Splits `range` into one contiguous file domain per aggregator. Domains are in order, cover `range` exactly, and inner
// borders fall on multiples of `unit` [bytes, >= 1]. Trailing domains may be empty.
//
// Source: R. Thakur, A. Choudhary, "An Extended Two-Phase Method for Accessing Sections of Out-of-Core Arrays",
// Scientific Programming 5(4), 1996; aligned borders after W. Liao, A. Choudhary, SC 2008.
std::vector<ByteRange> file_domains(ByteRange range, std::int64_t aggregators, std::int64_t unit);

// The ranks that read and write for the others, dealt over the nodes in turn: `wanted` of them, or a few per node if it
// is 0. `per_node` limits those of one node; 0 does not.
std::vector<int> aggregators(const Comm& comm, std::int64_t wanted, std::int64_t per_node);

// The number in "*:N" of hint cb_config_list; 0 if it sets no limit.
std::int64_t per_node_limit(std::string_view cb_config_list);

// The window of round `round` of a domain: rounds cut the file at multiples of `size`, so that windows stay aligned.
ByteRange window(ByteRange domain, std::int64_t round, std::int64_t size);

// The round in which the byte at `offset` of a domain moves.
std::int64_t round_of(ByteRange domain, std::int64_t offset, std::int64_t size);

}  // namespace two_phase

}  // namespace plenum
