// SPDX-License-Identifier: BSD-3-Clause
//
// One process does the I/O, the others exchange their bytes with it through a bounded buffer, rank after rank: the
// "single PE with message passing" of C. Ding and Y. He's study of parallel I/O on the Cray T3E.
#include <algorithm>

#include "strategy/cost.hpp"
#include "strategy/direct.hpp"
#include "strategy/strategy.hpp"

namespace plenum {

namespace {

constexpr int kRoot = 0;

std::optional<Estimate> estimate(const Shape& shape, const Environment& environment, bool collective) {
  if (!collective) return std::nullopt;
  // Reads are cut off at the end of the file beforehand, which takes an order and a size.
  if (shape.direction == Direction::read && !(shape.ordered && environment.traits.seekable)) return std::nullopt;
  if (!environment.traits.seekable) return Estimate{0, "the target takes bytes from one process only"};
  const Toggle buffering = shape.direction == Direction::read ? environment.hints.cb_read : environment.hints.cb_write;
  if (buffering == Toggle::disable) return std::nullopt;
  const double bytes = static_cast<double>(shape.bytes);
  const double seconds = static_cast<double>(shape.runs) * cost::kDeviceCall + bytes * cost::kDeviceByte +
                         bytes * cost::kMessageByte + static_cast<double>(shape.active) * 2 * cost::kMessage +
                         2 * cost::kCollective;
  return Estimate{seconds, "very little data: through one rank"};
}

// A contiguous buffer as the memory side of an access.
Access buffer_access(Direction direction, std::byte* buffer, const Slice& file) {
  return {direction, buffer, {Layout::bytes(file.size()), 0, 0, file.size()}, file};
}

Error became_shorter() { return {Code::Io, "the file became shorter while it was read"}; }

// Reads or writes `file` from or to `buffer`, all of it or an Error.
Status root_transfer(DeviceFile& device_file, Direction direction, std::byte* buffer, const Slice& file) {
  const std::int64_t moved = PLENUM_TRY(transfer_pieces(device_file, buffer_access(direction, buffer, file)));
  if (moved < file.size()) return became_shorter();
  return {};
}

// What another rank accesses.
struct Client {
  int rank;
  Slice file;
};

// Tells the root what the other ranks access: `clients` in order of rank, there only.
Task<Status> collect(Comm& comm, Slice mine, std::vector<Client>& clients) {
  std::vector<std::byte> description;
  std::vector<Outgoing> outgoing;
  if (comm.rank() != kRoot && !mine.empty()) {
    append_slice(mine, description);
    outgoing.push_back({kRoot, description});
  }
  std::vector<Letter> letters;
  PLENUM_CO_TRY(co_await comm.deliver(outgoing, letters));
  for (const Letter& letter : letters) {
    ConstBytes bytes = letter.bytes;
    Result<Slice> file = read_slice(bytes);
    if (!file.ok()) co_return std::move(file.error());
    clients.push_back({letter.from, std::move(file.value())});
  }
  co_return Status{};
}

// The buffer of one rank: no larger than what passes through it, so that root and client still cut an access alike.
Result<Bytes> allocate(const Hints& hints, std::int64_t own, const std::vector<Client>& clients, Scratch& scratch) {
  std::int64_t largest = std::max<std::int64_t>(1, own);
  for (const Client& client : clients) largest = std::max(largest, client.file.size());
  const std::int64_t size = std::min(largest, std::max<std::int64_t>(1, hints.cb_buffer_size));
  std::byte* const buffer = PLENUM_TRY(scratch.get(0, size));
  return Bytes(buffer, static_cast<std::size_t>(size));
}

// The root's half of one other rank's access, a bufferful at a time. A failure of the device is remembered in `status`,
// and the rest of the bytes still change hands, so that nobody waits for ever. The Result is that of the communication.
Task<Status> serve(Environment environment, Direction direction, Client client, Bytes buffer, Status& status) {
  const std::int64_t step = static_cast<std::int64_t>(buffer.size());
  for (std::int64_t done = 0; done < client.file.size(); done += step) {
    const std::int64_t size = std::min(step, client.file.size() - done);
    const Bytes chunk = buffer.first(static_cast<std::size_t>(size));
    const Incoming incoming{client.rank, chunk};
    const Outgoing outgoing{client.rank, chunk};
    if (direction == Direction::write) PLENUM_CO_TRY(co_await environment.comm.exchange({}, {&incoming, 1}));
    if (status.ok()) status = root_transfer(environment.file, direction, chunk.data(), client.file.part(done, size));
    if (direction == Direction::read) PLENUM_CO_TRY(co_await environment.comm.exchange({&outgoing, 1}, {}));
  }
  co_return Status{};
}

// Any other rank's half.
Task<Status> hand_over(Environment environment, Access access, Bytes buffer) {
  const std::int64_t step = static_cast<std::int64_t>(buffer.size());
  for (std::int64_t done = 0; done < access.size(); done += step) {
    const std::int64_t size = std::min(step, access.size() - done);
    const Bytes chunk = buffer.first(static_cast<std::size_t>(size));
    const Slice memory = access.memory.part(done, size);
    const Incoming incoming{kRoot, chunk};
    const Outgoing outgoing{kRoot, chunk};
    if (access.direction == Direction::write) {
      pack(memory, access.buffer, chunk.data());
      PLENUM_CO_TRY(co_await environment.comm.exchange({&outgoing, 1}, {}));
    } else {
      PLENUM_CO_TRY(co_await environment.comm.exchange({}, {&incoming, 1}));
      unpack(memory, chunk.data(), access.buffer);
    }
  }
  co_return Status{};
}

// The root's work: every rank's access in order of rank, its own without any message.
Task<Status> serve_all(Environment environment, Access access, Bytes buffer, const std::vector<Client>& clients) {
  Status status;
  if (!access.file.empty()) {
    const Result<std::int64_t> own = transfer_pieces(environment.file, access);
    if (!own.ok()) {
      status = own.error();
    } else if (own.value() < access.size()) {
      status = became_shorter();
    }
  }
  for (const Client& client : clients)
    PLENUM_CO_TRY(co_await serve(environment, access.direction, client, buffer, status));
  co_return std::move(status);
}

Task<Status> run_all(Environment environment, Access access, Shape, Scratch& scratch) {
  Comm& comm = environment.comm;
  const bool root = comm.rank() == kRoot;
  std::vector<Client> clients;
  Status prepared = co_await collect(comm, access.file, clients);
  const Result<Bytes> buffer = allocate(environment.hints, root ? 0 : access.size(), clients, scratch);
  if (prepared.ok() && !buffer.ok()) prepared = buffer.error();
  PLENUM_CO_TRY(co_await agree(comm, std::move(prepared)));

  Status status;
  if (root) {
    status = co_await serve_all(environment, access, buffer.value(), clients);
  } else {
    status = co_await hand_over(environment, access, buffer.value());
  }
  co_return co_await agree(comm, std::move(status));
}

}  // namespace

const Strategy& funnel_strategy() {
  static const Strategy strategy{"funnel", estimate, nullptr, run_all};
  return strategy;
}

}  // namespace plenum
