// SPDX-License-Identifier: BSD-3-Clause
#include "comm/nodes.hpp"

#include <unordered_map>

namespace plenum {

Nodes number_nodes(std::span<const int> labels) {
  Nodes nodes;
  nodes.node_of.reserve(labels.size());
  std::unordered_map<int, int> number_of;
  for (const int label : labels) {
    const auto [at, is_new] = number_of.try_emplace(label, nodes.count);
    if (is_new) ++nodes.count;
    nodes.node_of.push_back(at->second);
  }
  return nodes;
}

}  // namespace plenum
