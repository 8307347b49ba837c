// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>

#include "comm/comm.hpp"

namespace plenum {

// Ranks that are threads of this process, so that a collective algorithm can be tried and sanitized without MPI. Nodes
// are pretended: ranks of different nodes get different shared segments.
//
// What would be a hang under MPI ends with an error here: ranks that start different operations get Internal, and
// whoever waits for a rank that has left the group gets Communication.
class ThreadGroup {
 public:
  // `ranks` ranks on one node, or `ranks_per_node` consecutive ones on each.
  explicit ThreadGroup(int ranks) : ThreadGroup(ranks, ranks) {}
  ThreadGroup(int ranks, int ranks_per_node);

  // Any placement: ranks with the same label share a node [ranks].
  explicit ThreadGroup(std::span<const int> node_labels);

  // The communicator of one rank, to be used by one thread at a time; once per rank. Destroying it leaves the group.
  // It may outlive the ThreadGroup.
  std::unique_ptr<Comm> join(int rank);

  struct State;  // what the ranks share; not for users of this class

 private:
  std::shared_ptr<State> state_;
};

}  // namespace plenum
