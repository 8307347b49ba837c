// SPDX-License-Identifier: BSD-3-Clause
//
// What the core needs from MPI: a group of ranks that can agree, combine and exchange. Three implementations: MPI
// (mpi_comm.hpp), one process alone (self_comm.hpp), and the threads of one process (thread_comm.hpp), so that every
// collective algorithm is an ordinary unit test.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_range.hpp"
#include "base/result.hpp"
#include "base/task.hpp"

namespace plenum {

enum class Reduction { min, max, sum };

struct Outgoing {
  int to = 0;
  ConstBytes bytes;
};

struct Incoming {
  int from = 0;
  Bytes bytes;
};

struct Letter {
  int from = 0;
  std::vector<std::byte> bytes;
};

// Memory that all ranks of one node see at their own addresses; zero at first. Freed when the last rank has dropped it
// or died: it has no name in any file system.
class SharedSegment {
 public:
  virtual ~SharedSegment() = default;
  virtual Bytes bytes() = 0;
};

// A group of ranks. Every method that returns an Operation is collective over the group: each rank calls the same
// methods in the same order, and completes one before it starts the next, unless the method says otherwise. Spans and
// what they point to must stay in place until the operation has ended. Waiting never spins: see Backoff. An operation
// that is dropped before its end still does this rank's part, and nothing changes for the others; over MPI that may
// block until they do theirs.
//
// Thread safety: one thread at a time.
class Comm {
 public:
  virtual ~Comm() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Ranks that can share memory have the same node number; nodes are numbered 0, 1, ... in order of their lowest rank.
  virtual int nodes() const = 0;
  virtual int node_of(int rank) const = 0;

  virtual Operation barrier() = 0;

  // Combines element by element; every rank gets the result in place.
  virtual Operation allreduce(std::span<std::int64_t> values, Reduction reduction) = 0;

  // All ranks give `bytes` of the same size.
  virtual Operation broadcast(Bytes bytes, int root) = 0;

  // Rank r's `mine` lands at all[r * mine.size()]; the same size on all ranks.
  virtual Operation allgather(ConstBytes mine, Bytes all) = 0;

  // Point-to-point messages whose receivers know senders and sizes. Not a synchronisation: it ends when this rank's own
  // messages have gone and come, and a rank without any need not call it. Between two ranks messages arrive in the
  // order of the calls. Sizes of any 64-bit value; messages of zero bytes are not sent. A message to oneself is
  // allowed; it is sent and received in one call. Errors: Internal if a message has not the size its receiver expects.
  virtual Operation exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) = 0;

  // Messages whose receivers know nothing beforehand; appended to `inbox`, sorted by sender. At most one per pair of
  // ranks; one of zero bytes arrives too. The cost grows with this rank's messages and the logarithm of the group, not
  // with the group.
  virtual Operation deliver(std::span<const Outgoing> outgoing, std::vector<Letter>& inbox) = 0;

  // Collective; each node gets its own segment of `size` bytes. Errors are the same on all ranks.
  virtual Result<std::unique_ptr<SharedSegment>> share(std::int64_t size) = 0;
};

// Ends a collective operation: Ok if every rank's `mine` is; otherwise every rank gets the error of the lowest rank
// that failed, with that rank's number in the text. Collective.
Task<Status> agree(Comm& comm, Status mine);

// Error NotSame, on every rank, unless `value` is the same on all of them; `what` names it in the text. Collective.
Task<Status> agree_same(Comm& comm, std::string_view what, ConstBytes value);

}  // namespace plenum
