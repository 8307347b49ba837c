// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

namespace plenum {

// Which ranks of a group share a node.
struct Nodes {
  int count = 0;
  std::vector<int> node_of;  // [ranks]
};

// Numbers the nodes 0, 1, ... in order of their lowest rank. `labels` has any value per rank [ranks]; ranks with the
// same one share a node.
Nodes number_nodes(std::span<const int> labels);

}  // namespace plenum
