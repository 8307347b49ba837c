// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "comm/comm.hpp"

namespace plenum {

// A group of one rank, for programs without MPI. Every operation ends at once.
class SelfComm final : public Comm {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int nodes() const override { return 1; }
  int node_of(int) const override { return 0; }

  Operation barrier() override { return Status(); }
  Operation allreduce(std::span<std::int64_t>, Reduction) override { return Status(); }
  Operation broadcast(Bytes, int) override { return Status(); }
  Operation allgather(ConstBytes mine, Bytes all) override;
  Operation exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) override;
  Operation deliver(std::span<const Outgoing> outgoing, std::vector<Letter>& inbox) override;
  Result<std::unique_ptr<SharedSegment>> share(std::int64_t size) override;
};

// The part of Comm::exchange that stays on `rank`: copies the messages it sends to itself, in order. Local.
// Errors: Internal if they do not match.
Status exchange_with_self(int rank, std::span<const Outgoing> outgoing, std::span<const Incoming> incoming);

}  // namespace plenum
