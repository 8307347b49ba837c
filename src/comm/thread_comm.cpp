// SPDX-License-Identifier: BSD-3-Clause
#include "comm/thread_comm.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "comm/nodes.hpp"
#include "comm/self_comm.hpp"
#include "comm/shared_memory.hpp"

namespace plenum {
namespace {

enum class Kind { barrier, allreduce, broadcast, allgather, deliver, share };

// What a rank says it is calling. All ranks must say the same.
struct Call {
  Kind kind = Kind::barrier;
  std::size_t size = 0;
  int detail = 0;  // root or reduction
  friend bool operator==(const Call&, const Call&) = default;
};

// One collective operation, from the first rank's arrival to the last one's leaving. Everything is copied in and out,
// so that a rank may leave, or drop its operation, without the others noticing.
struct Meeting {
  Call call;
  int arrived = 0;
  int left = 0;
  Status verdict;
  std::vector<std::int64_t> values;                        // allreduce
  std::vector<std::byte> bytes;                            // broadcast, allgather
  std::map<int, std::vector<Letter>> letters;              // deliver: by receiver
  std::map<int, std::shared_ptr<SharedSegment>> segments;  // share: by node
};

// Messages from one rank to another, in order.
struct Mailbox {
  std::deque<std::vector<std::byte>> messages;
  int unwanted = 0;  // of the next to come: their receives were dropped
};

std::int64_t combine(std::int64_t a, std::int64_t b, Reduction reduction) {
  switch (reduction) {
    case Reduction::min:
      return std::min(a, b);
    case Reduction::max:
      return std::max(a, b);
    case Reduction::sum:  // wraps, as MPI's does
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  return 0;
}

}  // namespace

struct ThreadGroup::State {
  explicit State(Nodes placement)
      : nodes(std::move(placement)), ranks(static_cast<int>(nodes.node_of.size())), started(nodes.node_of.size()) {}

  const Nodes nodes;
  const int ranks;

  std::mutex mutex;                                  // guards what follows
  std::vector<std::int64_t> started;                 // collective operations each rank has begun [ranks]
  std::vector<int> gone;                             // ranks that have left
  std::map<std::int64_t, Meeting> meetings;          // by number of the operation
  std::map<std::pair<int, int>, Mailbox> mailboxes;  // by (sender, receiver)
};

namespace {

using State = ThreadGroup::State;

// One rank's part in a collective operation: gives its contribution at once, and takes the result when all have come.
class Collective final : public Pending {
 public:
  using Action = std::function<void(Meeting&)>;

  Collective(std::shared_ptr<State> state, int rank, Call call, const Action& give, Action take)
      : state_(std::move(state)), rank_(rank), take_(std::move(take)) {
    const std::lock_guard lock(state_->mutex);
    number_ = state_->started[static_cast<std::size_t>(rank)]++;
    Meeting& meeting = state_->meetings[number_];
    if (meeting.arrived++ == 0) meeting.call = call;
    if (meeting.call != call) {
      meeting.verdict = Error{Code::Internal, "ranks of one group call different collective operations"};
    } else {
      give(meeting);
    }
  }

  ~Collective() override {
    const std::lock_guard lock(state_->mutex);
    leave();
  }

  bool poll() override {
    const std::lock_guard lock(state_->mutex);
    Meeting& meeting = state_->meetings.at(number_);
    if (meeting.verdict.ok() && !complete(meeting)) {
      if (!hopeless(meeting)) return false;
      meeting.verdict = Error{Code::Communication, "a rank has left the group"};
    }
    if (meeting.verdict.ok()) take_(meeting);
    outcome_ = meeting.verdict;
    leave();
    return true;
  }

  Status outcome() override { return outcome_; }

 private:
  // As under MPI, a broadcast waits for its root only, and the root for nobody.
  bool complete(const Meeting& meeting) const {
    return meeting.call.kind == Kind::broadcast ? has_come(meeting.call.detail) : meeting.arrived == state_->ranks;
  }

  bool hopeless(const Meeting& meeting) const {
    return std::any_of(state_->gone.begin(), state_->gone.end(), [&](int rank) {
      const bool awaited = meeting.call.kind != Kind::broadcast || meeting.call.detail == rank;
      return awaited && !has_come(rank);
    });
  }

  bool has_come(int rank) const { return state_->started[static_cast<std::size_t>(rank)] > number_; }

  void leave() {
    if (std::exchange(has_left_, true)) return;
    const auto meeting = state_->meetings.find(number_);
    if (++meeting->second.left == state_->ranks) state_->meetings.erase(meeting);
  }

  std::shared_ptr<State> state_;
  int rank_;
  Action take_;
  std::int64_t number_ = 0;
  bool has_left_ = false;
  Status outcome_;
};

// Messages are copied into the receivers' mailboxes at once; what is left to wait for is one's own.
class Exchange final : public Pending {
 public:
  Exchange(std::shared_ptr<State> state, int rank, std::span<const Outgoing> outgoing,
           std::span<const Incoming> incoming)
      : state_(std::move(state)), rank_(rank) {
    for (const Incoming& message : incoming)
      if (message.from != rank && !message.bytes.empty()) missing_.push_back(message);
    const std::lock_guard lock(state_->mutex);
    for (const Outgoing& message : outgoing)
      if (message.to != rank && !message.bytes.empty()) send(state_->mailboxes[{rank, message.to}], message.bytes);
  }

  ~Exchange() override {
    const std::lock_guard lock(state_->mutex);
    for (const Incoming& message : missing_) {
      Mailbox& mailbox = state_->mailboxes[{message.from, rank_}];
      if (mailbox.messages.empty()) {
        ++mailbox.unwanted;
      } else {
        mailbox.messages.pop_front();
      }
    }
  }

  bool poll() override {
    const std::lock_guard lock(state_->mutex);
    std::erase_if(missing_, [this](const Incoming& message) { return receive(message); });
    return missing_.empty() || !outcome_.ok();
  }

  Status outcome() override { return outcome_; }

 private:
  static void send(Mailbox& mailbox, ConstBytes bytes) {
    if (mailbox.unwanted > 0) {
      --mailbox.unwanted;
    } else {
      mailbox.messages.emplace_back(bytes.begin(), bytes.end());
    }
  }

  bool receive(const Incoming& message) {
    Mailbox& mailbox = state_->mailboxes[{message.from, rank_}];
    if (mailbox.messages.empty()) {
      if (std::find(state_->gone.begin(), state_->gone.end(), message.from) != state_->gone.end())
        outcome_ = Error{Code::Communication, "exchange: rank " + std::to_string(message.from) + " has left the group"};
      return false;
    }
    const std::vector<std::byte> bytes = std::move(mailbox.messages.front());
    mailbox.messages.pop_front();
    if (bytes.size() == message.bytes.size()) {
      std::memcpy(message.bytes.data(), bytes.data(), bytes.size());
    } else {
      outcome_ = Error{Code::Internal, "exchange: " + std::to_string(bytes.size()) + " bytes from rank " +
                                           std::to_string(message.from) + ", expected " +
                                           std::to_string(message.bytes.size())};
    }
    return true;
  }

  std::shared_ptr<State> state_;
  int rank_;
  std::vector<Incoming> missing_;
  Status outcome_;
};

// One rank's hold on the memory of its pretended node.
class NodeSegment final : public SharedSegment {
 public:
  explicit NodeSegment(std::shared_ptr<SharedSegment> segment) : segment_(std::move(segment)) {}
  Bytes bytes() override { return segment_->bytes(); }

 private:
  std::shared_ptr<SharedSegment> segment_;
};

class ThreadComm final : public Comm {
 public:
  ThreadComm(std::shared_ptr<State> state, int rank) : state_(std::move(state)), rank_(rank) {}

  ~ThreadComm() override {
    const std::lock_guard lock(state_->mutex);
    state_->gone.push_back(rank_);
  }

  int rank() const override { return rank_; }
  int size() const override { return state_->ranks; }
  int nodes() const override { return state_->nodes.count; }
  int node_of(int rank) const override { return state_->nodes.node_of[static_cast<std::size_t>(rank)]; }

  Operation barrier() override;
  Operation allreduce(std::span<std::int64_t> values, Reduction reduction) override;
  Operation broadcast(Bytes bytes, int root) override;
  Operation allgather(ConstBytes mine, Bytes all) override;
  Operation exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) override;
  Operation deliver(std::span<const Outgoing> outgoing, std::vector<Letter>& inbox) override;
  Result<std::unique_ptr<SharedSegment>> share(std::int64_t size) override;

 private:
  Operation meet(Call call, const Collective::Action& give, Collective::Action take) {
    return Operation(std::make_unique<Collective>(state_, rank_, call, give, std::move(take)));
  }

  std::shared_ptr<State> state_;
  int rank_;
};

Operation ThreadComm::barrier() {
  return meet(
      {Kind::barrier}, [](Meeting&) {}, [](Meeting&) {});
}

Operation ThreadComm::allreduce(std::span<std::int64_t> values, Reduction reduction) {
  const auto give = [&](Meeting& meeting) {
    if (meeting.arrived == 1) {
      meeting.values.assign(values.begin(), values.end());
      return;
    }
    std::transform(values.begin(), values.end(), meeting.values.begin(), meeting.values.begin(),
                   [&](std::int64_t a, std::int64_t b) { return combine(a, b, reduction); });
  };
  const auto take = [values](Meeting& meeting) {
    std::copy(meeting.values.begin(), meeting.values.end(), values.begin());
  };
  return meet({Kind::allreduce, values.size(), static_cast<int>(reduction)}, give, take);
}

Operation ThreadComm::broadcast(Bytes bytes, int root) {
  const auto give = [&](Meeting& meeting) {
    if (rank_ == root) meeting.bytes.assign(bytes.begin(), bytes.end());
  };
  const auto take = [bytes, is_root = rank_ == root](Meeting& meeting) {
    if (!is_root) std::copy(meeting.bytes.begin(), meeting.bytes.end(), bytes.begin());
  };
  return meet({Kind::broadcast, bytes.size(), root}, give, take);
}

Operation ThreadComm::allgather(ConstBytes mine, Bytes all) {
  const auto give = [&](Meeting& meeting) {
    meeting.bytes.resize(all.size());
    const auto at = static_cast<std::size_t>(rank_) * mine.size();
    std::copy(mine.begin(), mine.end(), meeting.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  };
  const auto take = [all](Meeting& meeting) { std::copy(meeting.bytes.begin(), meeting.bytes.end(), all.begin()); };
  return meet({Kind::allgather, mine.size()}, give, take);
}

Operation ThreadComm::exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) {
  const Status to_self = exchange_with_self(rank_, outgoing, incoming);
  if (!to_self.ok()) return to_self;
  return Operation(std::make_unique<Exchange>(state_, rank_, outgoing, incoming));
}

Operation ThreadComm::deliver(std::span<const Outgoing> outgoing, std::vector<Letter>& inbox) {
  const auto give = [&](Meeting& meeting) {
    for (const Outgoing& message : outgoing)
      meeting.letters[message.to].push_back({rank_, {message.bytes.begin(), message.bytes.end()}});
  };
  const auto take = [&inbox, rank = rank_](Meeting& meeting) {
    std::vector<Letter>& mine = meeting.letters[rank];
    std::stable_sort(mine.begin(), mine.end(), [](const Letter& a, const Letter& b) { return a.from < b.from; });
    std::move(mine.begin(), mine.end(), std::back_inserter(inbox));
  };
  return meet({Kind::deliver}, give, take);
}

Result<std::unique_ptr<SharedSegment>> ThreadComm::share(std::int64_t size) {
  const int node = node_of(rank_);
  std::unique_ptr<SharedSegment> mine;
  const auto give = [&](Meeting& meeting) {
    std::shared_ptr<SharedSegment>& segment = meeting.segments[node];
    if (segment != nullptr || !meeting.verdict.ok()) return;
    auto mapped = map_anonymous(size);
    if (mapped.ok()) {
      segment = std::move(mapped).value();
    } else {
      meeting.verdict = std::move(mapped.error());
    }
  };
  const auto take = [&](Meeting& meeting) { mine = std::make_unique<NodeSegment>(meeting.segments[node]); };
  PLENUM_TRY(meet({Kind::share, static_cast<std::size_t>(size)}, give, take).wait());
  return mine;
}

Nodes consecutive_nodes(int ranks, int ranks_per_node) {
  std::vector<int> labels;
  for (int rank = 0; rank < ranks; ++rank) labels.push_back(rank / ranks_per_node);
  return number_nodes(labels);
}

}  // namespace

ThreadGroup::ThreadGroup(int ranks, int ranks_per_node)
    : state_(std::make_shared<State>(consecutive_nodes(ranks, ranks_per_node))) {}

ThreadGroup::ThreadGroup(std::span<const int> node_labels)
    : state_(std::make_shared<State>(number_nodes(node_labels))) {}

std::unique_ptr<Comm> ThreadGroup::join(int rank) { return std::make_unique<ThreadComm>(state_, rank); }

}  // namespace plenum
