// SPDX-License-Identifier: BSD-3-Clause
#include "comm/mpi_comm.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "comm/mpi_handle.hpp"
#include "comm/mpi_requests.hpp"
#include "comm/nodes.hpp"
#include "comm/self_comm.hpp"
#include "comm/shared_memory.hpp"

namespace plenum {
namespace {

constexpr int kExchangeTag = 0;
constexpr std::array<int, 2> kDeliverTags{1, 2};

int as_count(std::size_t size) { return static_cast<int>(size); }  // of a part, which fits

// Calls use(part) for each part of at most `part_size` elements, in order.
template <class T, class Use>
void for_each_part(std::span<T> all, std::size_t part_size, Use use) {
  for (std::size_t at = 0; at < all.size(); at += part_size) use(all.subspan(at, std::min(part_size, all.size() - at)));
}

// Operations that are over when all their requests are.
class Requests final : public Pending {
 public:
  bool poll() override { return requests.test(); }
  Status outcome() override { return requests.outcome(); }

  MpiRequests requests;
};

// Messages whose receivers know nothing, after Hoefler, Siebert, Lumsdaine, "Scalable Communication Protocols for
// Dynamic Sparse Data Exchange" (PPoPP 2010), the algorithm NBX: senders enter a barrier once their synchronous
// messages have been taken, so when the barrier is over no message is left anywhere.
//
// A letter larger than a part is followed by further parts of the same sender until one is smaller than a part.
class Delivery final : public Pending {
 public:
  Delivery(MPI_Comm comm, int tag, std::size_t part_size, std::span<const Outgoing> outgoing,
           std::vector<Letter>& inbox)
      : comm_(comm), tag_(tag), part_size_(part_size), inbox_(inbox) {
    for (const Outgoing& letter : outgoing) send(letter);
  }

  // As for any other operation, what has begun is brought to its end: the senders wait for their letters to be taken.
  ~Delivery() override {
    if (has_ended_ || !mpi_is_alive()) return;
    for (Backoff backoff; !poll();) backoff.pause();
  }

  bool poll() override {
    has_ended_ = advance();
    return has_ended_;
  }

  Status outcome() override { return failure_; }

 private:
  struct Part {
    int from = 0;
    std::vector<std::byte> bytes;
    MpiRequests request;  // destroyed before the bytes it writes to
  };

  bool advance() {
    if (!failure_.ok()) return true;
    while (receive_one()) continue;
    if (!failure_.ok()) return true;
    if (barrier_.empty()) {
      if (!sends_.test()) return false;
      if (!note(sends_.outcome())) return true;
      barrier_.started("MPI_Ibarrier", PMPI_Ibarrier(comm_, barrier_.send()));
    }
    if (!barrier_.test()) return false;
    // Whatever was sent to this rank has been matched before the barrier ended, so no further receive can start here.
    const auto ended = [](const auto& part) { return part->request.test(); };
    if (!std::all_of(parts_.begin(), parts_.end(), ended)) return false;
    finish();
    return true;
  }

  void send(const Outgoing& letter) {
    const auto send_part = [&](ConstBytes part) {
      sends_.started("MPI_Issend",
                     PMPI_Issend(part.data(), as_count(part.size()), MPI_BYTE, letter.to, tag_, comm_, sends_.send()));
    };
    for_each_part(letter.bytes, part_size_, send_part);
    if (letter.bytes.size() % part_size_ == 0) send_part({});
  }

  bool receive_one() {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (!note(check_mpi("MPI_Improbe", PMPI_Improbe(MPI_ANY_SOURCE, tag_, comm_, &found, &message, &status))))
      return false;
    if (found == 0) return false;
    int size = 0;
    if (!note(check_mpi("MPI_Get_count", PMPI_Get_count(&status, MPI_BYTE, &size)))) return false;
    Part& part = *parts_.emplace_back(std::make_unique<Part>());
    part.from = status.MPI_SOURCE;
    part.bytes.resize(static_cast<std::size_t>(size));
    MPI_Request* const request = part.request.receive(part.bytes);
    part.request.started("MPI_Imrecv", PMPI_Imrecv(part.bytes.data(), size, MPI_BYTE, &message, request));
    return note(part.request.outcome());
  }

  void finish() {
    if (!note(barrier_.outcome())) return;
    for (const auto& part : parts_)
      if (!note(part->request.outcome())) return;
    // Parts of one sender were matched in the order they were sent.
    std::stable_sort(parts_.begin(), parts_.end(), [](const auto& a, const auto& b) { return a->from < b->from; });
    bool continues = false;
    for (const auto& part : parts_) {
      const bool is_last = part->bytes.size() < part_size_;
      if (continues) {
        std::vector<std::byte>& letter = inbox_.back().bytes;
        letter.insert(letter.end(), part->bytes.begin(), part->bytes.end());
      } else {
        inbox_.push_back({part->from, std::move(part->bytes)});
      }
      continues = !is_last;
    }
  }

  bool note(const Status& status) {
    if (failure_.ok()) failure_ = status;
    return failure_.ok();
  }

  MPI_Comm comm_;
  int tag_;
  std::size_t part_size_;
  std::vector<Letter>& inbox_;
  MpiRequests sends_;
  MpiRequests barrier_;
  std::vector<std::unique_ptr<Part>> parts_;
  bool has_ended_ = false;
  Status failure_;
};

class MpiComm final : public Comm {
 public:
  MpiComm(MpiCommHandle comm, int rank, int size, MpiCommOptions options)
      : comm_(std::move(comm)), rank_(rank), size_(size), part_size_(static_cast<std::size_t>(options.part_size)) {}

  // Collective. Takes the placement from `user`'s attribute, or finds it out and leaves it there.
  Status find_nodes(MPI_Comm user);

  MPI_Comm native() const { return comm_.get(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int nodes() const override { return nodes_->count; }
  int node_of(int rank) const override { return nodes_->node_of[static_cast<std::size_t>(rank)]; }

  Operation barrier() override;
  Operation allreduce(std::span<std::int64_t> values, Reduction reduction) override;
  Operation broadcast(Bytes bytes, int root) override;
  Operation allgather(ConstBytes mine, Bytes all) override;
  Operation exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) override;
  Operation deliver(std::span<const Outgoing> outgoing, std::vector<Letter>& inbox) override;
  Result<std::unique_ptr<SharedSegment>> share(std::int64_t size) override;

 private:
  Result<std::shared_ptr<const Nodes>> ask_for_nodes();
  void start_broadcast(MpiRequests& requests, Bytes bytes, int root);
  Result<SharedFile> open_node_file(std::int64_t size);

  MpiCommHandle comm_;
  int rank_;
  int size_;
  std::size_t part_size_;
  std::shared_ptr<const Nodes> nodes_;
  std::size_t deliveries_ = 0;
};

// The outcome at once if MPI refused or there was nothing to do; so a group of one costs no polling.
Operation operation(std::unique_ptr<Requests> requests) {
  if (!requests->requests.outcome().ok() || requests->requests.empty()) return requests->outcome();
  return Operation(std::move(requests));
}

MPI_Op mpi_op(Reduction reduction) {
  switch (reduction) {
    case Reduction::min:
      return MPI_MIN;
    case Reduction::max:
      return MPI_MAX;
    case Reduction::sum:
      return MPI_SUM;
  }
  return MPI_OP_NULL;
}

Operation MpiComm::barrier() {
  auto pending = std::make_unique<Requests>();
  MpiRequests& requests = pending->requests;
  if (size_ > 1) requests.started("MPI_Ibarrier", PMPI_Ibarrier(comm_.get(), requests.send()));
  return operation(std::move(pending));
}

Operation MpiComm::allreduce(std::span<std::int64_t> values, Reduction reduction) {
  auto pending = std::make_unique<Requests>();
  MpiRequests& requests = pending->requests;
  if (size_ == 1) return Status();
  const std::size_t part_elements = std::max<std::size_t>(part_size_ / sizeof(std::int64_t), 1);
  for_each_part(values, part_elements, [&](std::span<std::int64_t> part) {
    requests.started("MPI_Iallreduce", PMPI_Iallreduce(MPI_IN_PLACE, part.data(), as_count(part.size()), MPI_INT64_T,
                                                       mpi_op(reduction), comm_.get(), requests.send()));
  });
  return operation(std::move(pending));
}

void MpiComm::start_broadcast(MpiRequests& requests, Bytes bytes, int root) {
  for_each_part(bytes, part_size_, [&](Bytes part) {
    requests.started("MPI_Ibcast",
                     PMPI_Ibcast(part.data(), as_count(part.size()), MPI_BYTE, root, comm_.get(), requests.send()));
  });
}

Operation MpiComm::broadcast(Bytes bytes, int root) {
  auto pending = std::make_unique<Requests>();
  if (size_ > 1) start_broadcast(pending->requests, bytes, root);
  return operation(std::move(pending));
}

Operation MpiComm::allgather(ConstBytes mine, Bytes all) {
  if (mine.empty()) return Status();
  const auto place_of = [&](int rank) {
    return all.subspan(static_cast<std::size_t>(rank) * mine.size(), mine.size());
  };
  auto pending = std::make_unique<Requests>();
  MpiRequests& requests = pending->requests;
  if (all.size() <= part_size_ && size_ > 1) {
    const int count = as_count(mine.size());
    requests.started("MPI_Iallgather", PMPI_Iallgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE,
                                                       comm_.get(), requests.send()));
    return operation(std::move(pending));
  }
  // MPI libraries compute places in `all` in int, although its parts fit.
  std::memmove(place_of(rank_).data(), mine.data(), mine.size());
  for (int root = 0; root < size_ && size_ > 1; ++root) start_broadcast(requests, place_of(root), root);
  return operation(std::move(pending));
}

Operation MpiComm::exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) {
  const Status to_self = exchange_with_self(rank_, outgoing, incoming);
  if (!to_self.ok()) return to_self;
  auto pending = std::make_unique<Requests>();
  MpiRequests& requests = pending->requests;
  for (const Incoming& message : incoming) {
    if (message.from == rank_) continue;
    for_each_part(message.bytes, part_size_, [&](Bytes part) {
      requests.started("MPI_Irecv", PMPI_Irecv(part.data(), as_count(part.size()), MPI_BYTE, message.from, kExchangeTag,
                                               comm_.get(), requests.receive(part)));
    });
  }
  for (const Outgoing& message : outgoing) {
    if (message.to == rank_) continue;
    for_each_part(message.bytes, part_size_, [&](ConstBytes part) {
      requests.started("MPI_Isend", PMPI_Isend(part.data(), as_count(part.size()), MPI_BYTE, message.to, kExchangeTag,
                                               comm_.get(), requests.send()));
    });
  }
  return operation(std::move(pending));
}

Operation MpiComm::deliver(std::span<const Outgoing> outgoing, std::vector<Letter>& inbox) {
  // A rank that has left the barrier may begin the next call while others still look for messages of this one: the tags
  // keep them apart. The call after that cannot begin before all have left this one.
  const int tag = kDeliverTags[deliveries_++ % kDeliverTags.size()];
  return Operation(std::make_unique<Delivery>(comm_.get(), tag, part_size_, outgoing, inbox));
}

// The node's lowest rank creates the memory and tells the others where; those open it while its file is still open
// there.
Result<SharedFile> MpiComm::open_node_file(std::int64_t size) {
  std::vector<int> members;
  for (int rank = 0; rank < size_; ++rank)
    if (node_of(rank) == node_of(rank_)) members.push_back(rank);

  SharedFileAddress address;
  const Bytes address_bytes = std::as_writable_bytes(std::span(&address, 1));
  if (rank_ == members.front()) {
    Result<SharedFile> file = SharedFile::create(size);
    if (file.ok()) address = file.value().address();
    std::vector<Outgoing> outgoing;
    for (std::size_t i = 1; i < members.size(); ++i) outgoing.push_back({members[i], address_bytes});
    PLENUM_TRY(exchange(outgoing, {}).wait());
    return file;
  }
  const Incoming incoming{members.front(), address_bytes};
  PLENUM_TRY(exchange({}, {&incoming, 1}).wait());
  if (address.fd < 0) return Error{Code::Unsupported, "shared memory was not created"};  // the lowest rank tells why
  return SharedFile::open(address, size);
}

Result<std::unique_ptr<SharedSegment>> MpiComm::share(std::int64_t size) {
  std::unique_ptr<SharedSegment> segment;
  Status mine;
  const Result<SharedFile> file = open_node_file(size);
  if (!file.ok()) {
    mine = file.error();
  } else {
    auto mapped = file.value().map();
    if (mapped.ok()) {
      segment = std::move(mapped).value();
    } else {
      mine = std::move(mapped.error());
    }
  }
  // Not before all have mapped it, or failed to, may the file be closed.
  PLENUM_TRY(agree(*this, std::move(mine)).wait());
  return segment;
}

using NodesAttribute = std::shared_ptr<const Nodes>;

extern "C" int plenum_copy_nodes(MPI_Comm, int, void*, void* value, void* copy, int* is_copied) {
  *static_cast<void**>(copy) = new (std::nothrow) NodesAttribute(*static_cast<NodesAttribute*>(value));
  *is_copied = *static_cast<void**>(copy) != nullptr ? 1 : 0;
  return MPI_SUCCESS;
}

extern "C" int plenum_delete_nodes(MPI_Comm, int, void* value, void*) {
  delete static_cast<NodesAttribute*>(value);
  return MPI_SUCCESS;
}

// The key of the attribute, created at first use; MPI_KEYVAL_INVALID if MPI refuses, and then nothing is remembered.
int nodes_key() {
  static const int key = [] {
    int created = MPI_KEYVAL_INVALID;
    if (PMPI_Comm_create_keyval(plenum_copy_nodes, plenum_delete_nodes, &created, nullptr) != MPI_SUCCESS)
      created = MPI_KEYVAL_INVALID;
    return created;
  }();
  return key;
}

Status MpiComm::find_nodes(MPI_Comm user) {
  void* remembered = nullptr;
  int is_remembered = 0;
  if (nodes_key() != MPI_KEYVAL_INVALID &&
      PMPI_Comm_get_attr(user, nodes_key(), &remembered, &is_remembered) != MPI_SUCCESS)
    is_remembered = 0;
  std::int64_t all_remember = is_remembered;
  PLENUM_TRY(allreduce({&all_remember, 1}, Reduction::min).wait());
  if (all_remember != 0) {
    nodes_ = *static_cast<NodesAttribute*>(remembered);
    return {};
  }
  nodes_ = PLENUM_TRY(ask_for_nodes());
  if (nodes_key() == MPI_KEYVAL_INVALID) return {};
  auto attribute = std::make_unique<NodesAttribute>(nodes_);
  if (PMPI_Comm_set_attr(user, nodes_key(), attribute.get()) == MPI_SUCCESS) attribute.release();
  return {};
}

Result<std::shared_ptr<const Nodes>> MpiComm::ask_for_nodes() {
  MpiCommHandle node;
  PLENUM_TRY(check_mpi("MPI_Comm_split_type",
                       PMPI_Comm_split_type(comm_.get(), MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, node.out())));
  MpiGroupHandle node_group;
  MpiGroupHandle group;
  PLENUM_TRY(check_mpi("MPI_Comm_group", PMPI_Comm_group(node.get(), node_group.out())));
  PLENUM_TRY(check_mpi("MPI_Comm_group", PMPI_Comm_group(comm_.get(), group.out())));
  const int first = 0;
  int label = 0;  // the node's lowest rank
  PLENUM_TRY(check_mpi("MPI_Group_translate_ranks",
                       PMPI_Group_translate_ranks(node_group.get(), 1, &first, group.get(), &label)));
  std::vector<int> labels(static_cast<std::size_t>(size_));
  PLENUM_TRY(allgather(std::as_bytes(std::span(&label, 1)), std::as_writable_bytes(std::span(labels))).wait());
  return std::make_shared<const Nodes>(number_nodes(labels));
}

// Not MPI_Comm_dup: that would call the program's own attribute callbacks, and take over hints such as
// "messages may overtake each other" that do not hold for what is sent here.
Result<MpiCommHandle> duplicate(MPI_Comm user) {
  MpiGroupHandle group;
  PLENUM_TRY(check_mpi("MPI_Comm_group", PMPI_Comm_group(user, group.out())));
  MpiCommHandle copy;
  PLENUM_TRY(check_mpi("MPI_Comm_create", PMPI_Comm_create(user, group.get(), copy.out())));
  PLENUM_TRY(check_mpi("MPI_Comm_set_errhandler", PMPI_Comm_set_errhandler(copy.get(), MPI_ERRORS_RETURN)));
  return copy;
}

}  // namespace

Result<std::unique_ptr<Comm>> make_mpi_comm(MPI_Comm user, MpiCommOptions options) {
  if (user == MPI_COMM_NULL) return Error{Code::Communicator, "null communicator"};
  int is_inter = 0;
  PLENUM_TRY(check_mpi("MPI_Comm_test_inter", PMPI_Comm_test_inter(user, &is_inter)));
  if (is_inter != 0) return Error{Code::Communicator, "intercommunicator"};
  MpiCommHandle copy = PLENUM_TRY(duplicate(user));
  int rank = 0;
  int size = 0;
  PLENUM_TRY(check_mpi("MPI_Comm_rank", PMPI_Comm_rank(copy.get(), &rank)));
  PLENUM_TRY(check_mpi("MPI_Comm_size", PMPI_Comm_size(copy.get(), &size)));
  auto comm = std::make_unique<MpiComm>(std::move(copy), rank, size, options);
  PLENUM_TRY(comm->find_nodes(user));
  return std::unique_ptr<Comm>(std::move(comm));
}

MPI_Comm native(const Comm& comm) {
  const auto* mpi_comm = dynamic_cast<const MpiComm*>(&comm);
  return mpi_comm != nullptr ? mpi_comm->native() : MPI_COMM_NULL;
}

}  // namespace plenum
