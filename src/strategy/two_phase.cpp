// SPDX-License-Identifier: BSD-3-Clause
//
// Two-phase collective access. The file range of all ranks is split into domains, one per aggregator. Every rank sends
// the aggregators a compact description of what it accesses in their domains, once; from then on both sides can tell
// the contents of every message by themselves, and messages are nothing but data. Then, a bufferful of each domain at a
// time: ranks and aggregators exchange, and the aggregators read or write.
//
// After J. del Rosario, R. Bordawekar, A. Choudhary, "Improved Parallel I/O via a Two-Phase Runtime Access Strategy",
// 1993, and ROMIO's extended two-phase method; descriptions instead of piece lists after A. Ching et al., "Efficient
// Structured Data Access in Parallel File Systems", 2003. Holes between pieces are never rewritten, so no other writer
// can lose bytes.
#include "strategy/two_phase.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "strategy/cost.hpp"
#include "strategy/coverage.hpp"

namespace plenum {

namespace two_phase {

std::vector<ByteRange> file_domains(ByteRange range, std::int64_t aggregators, std::int64_t unit) {
  const std::int64_t share = ceil_div(range.size(), aggregators);
  std::vector<ByteRange> domains;
  std::int64_t begin = range.begin;
  for (std::int64_t i = 1; i <= aggregators; ++i) {
    const std::int64_t ideal = i == aggregators ? range.end : std::min(range.end, range.begin + i * share);
    const std::int64_t aligned = i == aggregators ? ideal : ceil_div(ideal, unit) * unit;
    const std::int64_t end = std::clamp(aligned, begin, range.end);
    domains.push_back({begin, end});
    begin = end;
  }
  return domains;
}

std::vector<int> aggregators(const Comm& comm, std::int64_t wanted, std::int64_t per_node) {
  constexpr std::int64_t kDefaultPerNode = 4;
  const std::int64_t limit = per_node > 0 ? per_node : wanted > 0 ? comm.size() : kDefaultPerNode;
  std::vector<std::vector<int>> nodes(static_cast<std::size_t>(comm.nodes()));
  for (int rank = 0; rank < comm.size(); ++rank) nodes[static_cast<std::size_t>(comm.node_of(rank))].push_back(rank);
  std::vector<int> chosen;
  for (std::int64_t turn = 0; turn < limit; ++turn) {
    const std::size_t before = chosen.size();
    for (const std::vector<int>& ranks : nodes) {
      if (turn >= static_cast<std::int64_t>(ranks.size())) continue;
      if (wanted > 0 && static_cast<std::int64_t>(chosen.size()) == wanted) return chosen;
      chosen.push_back(ranks[static_cast<std::size_t>(turn)]);
    }
    if (chosen.size() == before) break;
  }
  return chosen;
}

std::int64_t per_node_limit(std::string_view cb_config_list) {
  std::int64_t limit = 0;
  if (cb_config_list.starts_with("*:"))
    std::from_chars(cb_config_list.data() + 2, cb_config_list.data() + cb_config_list.size(), limit);
  return limit;
}

ByteRange window(ByteRange domain, std::int64_t round, std::int64_t size) {
  const std::int64_t begin = (domain.begin / size + round) * size;
  return intersect(domain, {begin, begin + size});
}

std::int64_t round_of(ByteRange domain, std::int64_t offset, std::int64_t size) {
  return offset / size - domain.begin / size;
}

}  // namespace two_phase

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Runs closer than this are read together, holes included; and so is a whole window of which one byte in so many is
// needed.
constexpr std::int64_t kReadGap = 64 << 10;
constexpr std::int64_t kReadDensity = 4;

// Which scratch buffer is for what.
enum Buffers : std::size_t { kWindow, kCoverage, kOutgoing, kIncoming };

// What one rank accesses in one domain, and how far it has come. Both its owner and the aggregator keep one and move
// them alike; that is why no message needs a header.
class Share {
 public:
  Share(int peer, ByteRange domain, std::int64_t window_size, Slice slice)
      : peer_(peer), domain_(domain), window_size_(window_size), slice_(std::move(slice)), at_(slice_.begin) {
    find_round();
  }

  int peer() const { return peer_; }
  const Slice& slice() const { return slice_; }

  // The next round in which it has bytes; kNever after the last.
  std::int64_t round() const { return round_; }

  // Its bytes of that round, and on to the next one.
  Slice take() {
    const ByteRange window = two_phase::window(domain_, round_, window_size_);
    Slice part = slice_;
    part.begin = at_;
    part.end = std::clamp(slice_.layout.bytes_below(window.end - slice_.origin), at_, slice_.end);
    at_ = part.end;
    find_round();
    return part;
  }

 private:
  void find_round() {
    if (at_ == slice_.end) {
      round_ = kNever;
      return;
    }
    Cursor next(slice_.layout, slice_.origin);
    next.seek(at_);
    round_ = two_phase::round_of(domain_, next.run().offset, window_size_);
  }

  int peer_;
  ByteRange domain_;
  std::int64_t window_size_;
  Slice slice_;
  std::int64_t at_;
  std::int64_t round_ = 0;
};

std::int64_t next_round(const std::vector<Share>& shares) {
  std::int64_t round = kNever;
  for (const Share& share : shares) round = std::min(round, share.round());
  return round;
}

// If the slice is one run, where it lies.
std::optional<std::int64_t> single_run(const Slice& slice) {
  const Run run = slice.cursor().run();
  if (run.size < slice.size()) return std::nullopt;
  return run.offset;
}

// The most bytes that all shares together take in one round.
std::int64_t largest_round(std::vector<Share> shares) {
  std::int64_t largest = 0;
  for (std::int64_t round = next_round(shares); round != kNever; round = next_round(shares)) {
    std::int64_t bytes = 0;
    for (Share& share : shares) {
      if (share.round() == round) bytes += share.take().size();
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

// One message of a round: packed bytes, or the very place where they belong.
struct Parcel {
  Slice part;                  // in the user's memory or in the window
  std::byte* base = nullptr;   // what its offsets count from
  std::byte* bytes = nullptr;  // what the message holds
  bool packed = false;
  int peer = 0;

  Bytes message() const { return {bytes, static_cast<std::size_t>(part.size())}; }
};

// Hands out parts of a scratch buffer to the parcels of one round.
class Packer {
 public:
  explicit Packer(std::byte* buffer) : at_(buffer) {}

  Parcel parcel(int peer, Slice part, std::byte* base) {
    if (const auto offset = single_run(part)) return {std::move(part), base, base + *offset, false, peer};
    std::byte* const bytes = at_;
    at_ += part.size();
    return {std::move(part), base, bytes, true, peer};
  }

 private:
  std::byte* at_;
};

// What parcels take of a window: from the first to the last byte, and the sum of their sizes.
struct Needed {
  ByteRange range;
  std::int64_t bytes = 0;
};

Needed needed_by(const std::vector<Parcel>& parcels) {
  Needed needed{parcels.front().part.bounds(), 0};
  for (const Parcel& parcel : parcels) {
    const ByteRange bounds = parcel.part.bounds();
    needed.range = {std::min(needed.range.begin, bounds.begin), std::max(needed.range.end, bounds.end)};
    needed.bytes += parcel.part.size();
  }
  return needed;
}

// One rank's part in one two-phase access.
class TwoPhase {
 public:
  TwoPhase(Environment environment, Access access, const Shape& shape, Scratch& scratch)
      : environment_(environment), access_(std::move(access)), shape_(shape), scratch_(scratch) {}

  Task<Status> run();

 private:
  void plan();
  Task<Status> describe();
  Status allocate();
  Task<Status> exchange_and_access();

  std::vector<Parcel> member_parcels(std::int64_t round, Packer& packer);
  std::vector<Parcel> window_parcels(std::int64_t round, Packer& packer);
  Task<Status> write_round(std::int64_t round);
  Task<Status> read_round(std::int64_t round);
  Task<Status> transfer_parcels(std::vector<Parcel> outgoing, std::vector<Parcel> incoming);
  Status write_window(std::int64_t round, const std::vector<Parcel>& parcels);
  Status read_window(std::int64_t round, const std::vector<Parcel>& parcels);
  Status read_transfers(Transfers transfers);
  template <class Visit>
  void for_each_batch(std::int64_t round, const std::vector<Parcel>& parcels, std::int64_t gap, Visit&& visit);

  Environment environment_;
  Access access_;
  Shape shape_;
  Scratch& scratch_;
  std::int64_t window_size_ = 0;
  std::vector<int> aggregators_;
  std::vector<ByteRange> domains_;
  ByteRange domain_;             // this rank's own, if it is an aggregator
  std::vector<Share> mine_;      // what this rank accesses, by domain
  std::vector<Share> others_;    // what the ranks access in this rank's domain
  std::byte* window_ = nullptr;  // one round of this rank's domain
  std::uint64_t* coverage_ = nullptr;
  std::byte* outgoing_ = nullptr;
  std::byte* incoming_ = nullptr;
  Status device_status_;  // the first failure of this rank's device file; the exchange goes on without it
};

void TwoPhase::plan() {
  const Hints& hints = environment_.hints;
  const Traits& traits = environment_.traits;
  const std::int64_t unit = std::max({std::int64_t{1}, traits.preferred_unit, traits.stripe_unit});
  window_size_ = std::max(unit, std::min(hints.cb_buffer_size, Layout::kReach) / unit * unit);
  aggregators_ =
      two_phase::aggregators(environment_.comm, hints.cb_nodes, two_phase::per_node_limit(hints.cb_config_list));
  domains_ = two_phase::file_domains(shape_.range, static_cast<std::int64_t>(aggregators_.size()), unit);
  for (std::size_t i = 0; i < domains_.size(); ++i) {
    if (aggregators_[i] == environment_.comm.rank()) domain_ = domains_[i];
    if (access_.file.empty()) continue;
    Slice inside = access_.file.within(domains_[i]);
    if (!inside.empty()) mine_.emplace_back(aggregators_[i], domains_[i], window_size_, std::move(inside));
  }
}

// Tells the aggregators what this rank accesses in their domains.
Task<Status> TwoPhase::describe() {
  std::vector<std::vector<std::byte>> descriptions(mine_.size());
  std::vector<Outgoing> outgoing;
  for (std::size_t i = 0; i < mine_.size(); ++i) {
    append_slice(mine_[i].slice(), descriptions[i]);
    outgoing.push_back({mine_[i].peer(), descriptions[i]});
  }
  std::vector<Letter> letters;
  PLENUM_CO_TRY(co_await environment_.comm.deliver(outgoing, letters));
  for (const Letter& letter : letters) {
    ConstBytes description = letter.bytes;
    Result<Slice> slice = read_slice(description);
    if (!slice.ok()) co_return std::move(slice.error());
    others_.emplace_back(letter.from, domain_, window_size_, std::move(slice.value()));
  }
  co_return Status{};
}

// All memory that the rounds will need: a rank that fails here can still say so.
Status TwoPhase::allocate() {
  const std::int64_t window = std::min(window_size_, domain_.size());
  window_ = PLENUM_TRY(scratch_.get(kWindow, window));
  const std::int64_t words = Coverage::words_for(window) * static_cast<std::int64_t>(sizeof(std::uint64_t));
  coverage_ = reinterpret_cast<std::uint64_t*>(PLENUM_TRY(scratch_.get(kCoverage, words)));
  const bool write = access_.direction == Direction::write;
  outgoing_ = PLENUM_TRY(scratch_.get(kOutgoing, largest_round(write ? mine_ : others_)));
  incoming_ = PLENUM_TRY(scratch_.get(kIncoming, largest_round(write ? others_ : mine_)));
  return {};
}

// This rank's parts of round `round`, one per aggregator concerned.
std::vector<Parcel> TwoPhase::member_parcels(std::int64_t round, Packer& packer) {
  std::vector<Parcel> parcels;
  for (Share& share : mine_) {
    if (share.round() != round) continue;
    const Slice part = share.take();
    const Slice memory = access_.memory.part(part.begin - access_.file.begin, part.size());
    parcels.push_back(packer.parcel(share.peer(), memory, access_.buffer));
  }
  return parcels;
}

// The ranks' parts of round `round` of this rank's domain, placed in the window.
std::vector<Parcel> TwoPhase::window_parcels(std::int64_t round, Packer& packer) {
  const std::int64_t begin = two_phase::window(domain_, round, window_size_).begin;
  std::vector<Parcel> parcels;
  for (Share& share : others_) {
    if (share.round() != round) continue;
    Slice part = share.take();
    part.origin -= begin;
    parcels.push_back(packer.parcel(share.peer(), std::move(part), window_));
  }
  return parcels;
}

Task<Status> TwoPhase::transfer_parcels(std::vector<Parcel> outgoing, std::vector<Parcel> incoming) {
  std::vector<Outgoing> out;
  for (const Parcel& parcel : outgoing) {
    if (parcel.packed) pack(parcel.part, parcel.base, parcel.bytes);
    out.push_back({parcel.peer, parcel.message()});
  }
  std::vector<Incoming> in;
  for (const Parcel& parcel : incoming) in.push_back({parcel.peer, parcel.message()});
  PLENUM_CO_TRY(co_await environment_.comm.exchange(out, in));
  for (const Parcel& parcel : incoming) {
    if (parcel.packed) unpack(parcel.part, parcel.bytes, parcel.base);
  }
  co_return Status{};
}

// Calls visit(Transfers) with what the parcels need of the file in round `round`, a batch at a time.
template <class Visit>
void TwoPhase::for_each_batch(std::int64_t round, const std::vector<Parcel>& parcels, std::int64_t gap, Visit&& visit) {
  const std::int64_t begin = two_phase::window(domain_, round, window_size_).begin;
  const ByteRange needed = needed_by(parcels).range;
  Coverage coverage(coverage_, needed.size());
  for (const Parcel& parcel : parcels) {
    Slice part = parcel.part;
    part.origin -= needed.begin;
    coverage.mark(part);
  }
  std::array<Transfer, 512> batch;
  std::size_t used = 0;
  coverage.for_each_run(gap, [&](ByteRange run) {
    const std::int64_t at = needed.begin + run.begin;
    batch[used++] = {begin + at, window_ + at, run.size()};
    if (used == batch.size()) {
      visit(Transfers(batch.data(), used));
      used = 0;
    }
  });
  if (used > 0) visit(Transfers(batch.data(), used));
}

Status TwoPhase::write_window(std::int64_t round, const std::vector<Parcel>& parcels) {
  if (parcels.empty()) return {};
  Status status;
  for_each_batch(round, parcels, 1, [&](Transfers batch) {
    if (status.ok()) status = environment_.file.write(batch);
  });
  return status;
}

Status TwoPhase::read_transfers(Transfers transfers) {
  std::int64_t wanted = 0;
  for (const Transfer& transfer : transfers) wanted += transfer.size;
  const std::int64_t got = PLENUM_TRY(environment_.file.read(transfers));
  if (got < wanted) return Error{Code::Io, "the file became shorter while it was read"};
  return {};
}

Status TwoPhase::read_window(std::int64_t round, const std::vector<Parcel>& parcels) {
  if (parcels.empty()) return {};
  const Needed needed = needed_by(parcels);
  if (needed.bytes >= needed.range.size() / kReadDensity) {
    const std::int64_t begin = two_phase::window(domain_, round, window_size_).begin;
    const Transfer all{begin + needed.range.begin, window_ + needed.range.begin, needed.range.size()};
    return read_transfers({&all, 1});
  }
  Status status;
  for_each_batch(round, parcels, kReadGap, [&](Transfers batch) {
    if (status.ok()) status = read_transfers(batch);
  });
  return status;
}

Task<Status> TwoPhase::write_round(std::int64_t round) {
  Packer to_send(outgoing_);
  Packer to_receive(incoming_);
  std::vector<Parcel> incoming = window_parcels(round, to_receive);
  PLENUM_CO_TRY(co_await transfer_parcels(member_parcels(round, to_send), incoming));
  if (device_status_.ok()) device_status_ = write_window(round, incoming);
  co_return Status{};
}

Task<Status> TwoPhase::read_round(std::int64_t round) {
  Packer to_send(outgoing_);
  Packer to_receive(incoming_);
  std::vector<Parcel> outgoing = window_parcels(round, to_send);
  if (device_status_.ok()) device_status_ = read_window(round, outgoing);
  co_return co_await transfer_parcels(std::move(outgoing), member_parcels(round, to_receive));
}

// Rounds need no common clock: a rank takes part in those that concern it, in order, and each message finds the
// receiver that has come to the same round.
Task<Status> TwoPhase::exchange_and_access() {
  for (;;) {
    const std::int64_t round = std::min(next_round(mine_), next_round(others_));
    if (round == kNever) co_return Status{};
    if (access_.direction == Direction::write) {
      PLENUM_CO_TRY(co_await write_round(round));
    } else {
      PLENUM_CO_TRY(co_await read_round(round));
    }
  }
}

Task<Status> TwoPhase::run() {
  plan();
  Status prepared = co_await describe();
  if (prepared.ok()) prepared = allocate();
  PLENUM_CO_TRY(co_await agree(environment_.comm, std::move(prepared)));
  Status status = co_await exchange_and_access();
  if (status.ok()) status = std::move(device_status_);
  co_return co_await agree(environment_.comm, std::move(status));
}

Task<Status> run_all(Environment environment, Access access, Shape shape, Scratch& scratch) {
  TwoPhase two_phase(environment, std::move(access), shape, scratch);
  co_return co_await two_phase.run();
}

std::optional<Estimate> estimate(const Shape& shape, const Environment& environment, bool collective) {
  const Hints& hints = environment.hints;
  const Toggle buffering = shape.direction == Direction::read ? hints.cb_read : hints.cb_write;
  if (!collective || !shape.ordered || !environment.traits.seekable || buffering == Toggle::disable)
    return std::nullopt;
  if (buffering == Toggle::enable) return Estimate{0, "hint romio_cb_read or romio_cb_write=enable"};
  const double ranks = static_cast<double>(shape.ranks);
  const double workers = std::min(ranks, 4.0 * environment.comm.nodes());
  const double bytes = static_cast<double>(shape.bytes);
  const double span = static_cast<double>(std::min(shape.span, shape.range.size()));
  const double device = shape.direction == Direction::read ? std::min(span, 2 * bytes) : bytes;
  const double seconds = 3 * cost::kCollective + 2 * cost::kMessage * workers +
                         bytes * (cost::kMessageByte + 2 * cost::kCopyByte) / workers +
                         2 * static_cast<double>(shape.runs) * cost::kPiece / workers +
                         device * cost::kDeviceByte / workers;
  return Estimate{seconds, "interleaved small runs: through aggregators"};
}

}  // namespace

const Strategy& two_phase_strategy() {
  static const Strategy strategy{"two_phase", estimate, nullptr, run_all};
  return strategy;
}

}  // namespace plenum
