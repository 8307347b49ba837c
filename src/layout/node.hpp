// SPDX-License-Identifier: BSD-3-Clause
//
// The nodes that layouts are made of: construction in normal form (neighbours merged, regular lists turned into
// repetitions) and queries. For the files of this folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/layout.hpp"

namespace plenum::detail {

struct PlacedNode {
  NodePtr node;
  std::int64_t at = 0;
};

// All nodes have data, but for this one.
const NodePtr& empty_node();

NodePtr run_node(std::int64_t size);

// count > 0.
NodePtr repeat_node(std::int64_t count, std::int64_t stride, NodePtr child);

// Block i: copies[i] > 0 copies of `child`, `stride` apart, the first at offsets[i]. Equal counts are stored once, and
// equal counts at equal distances not at all.
PlacedNode blocks_node(std::vector<std::int64_t> offsets, std::vector<std::int64_t> copies, std::int64_t stride,
                       NodePtr child);

// The run [offset, offset + size) as the next of a list: lengthens the last one if that ends where this begins.
void append_run(std::vector<std::int64_t>& offsets, std::vector<std::int64_t>& sizes, std::int64_t offset,
                std::int64_t size);

// A list made by append_run.
PlacedNode runs_node(std::vector<std::int64_t> offsets, std::vector<std::int64_t> sizes);

// Two children or more.
NodePtr join_node(std::vector<std::int64_t> offsets, std::vector<NodePtr> children);

// Whether nodes of these parts stay within Layout::kReach. To be asked before making one of unchecked numbers.
bool copies_fit(const Node& child, std::int64_t count, std::int64_t stride, std::int64_t at);
bool blocks_fit(const std::vector<std::int64_t>& offsets, const std::vector<std::int64_t>& copies, std::int64_t stride,
                const Node& child);
bool parts_fit(const std::vector<std::int64_t>& offsets, const std::vector<NodePtr>& children);

// The block or child that holds stream byte `byte`.
std::size_t part_at(const Node& node, std::int64_t byte);

// Data bytes at offsets below `offset`.
std::int64_t bytes_below(const Node& node, std::int64_t offset);

}  // namespace plenum::detail
