// SPDX-License-Identifier: BSD-3-Clause
#include "comm/self_comm.hpp"

#include <cstring>

#include "comm/shared_memory.hpp"

namespace plenum {

Status exchange_with_self(int rank, std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) {
  const Error mismatch{Code::Internal, "exchange: messages to oneself do not match"};
  auto next = incoming.begin();
  const auto skip_others = [&] {
    while (next != incoming.end() && (next->from != rank || next->bytes.empty())) ++next;
  };
  for (const Outgoing& message : outgoing) {
    if (message.to != rank || message.bytes.empty()) continue;
    skip_others();
    if (next == incoming.end() || next->bytes.size() != message.bytes.size()) return mismatch;
    std::memmove(next->bytes.data(), message.bytes.data(), message.bytes.size());
    ++next;
  }
  skip_others();
  if (next != incoming.end()) return mismatch;
  return {};
}

Operation SelfComm::allgather(ConstBytes mine, Bytes all) {
  if (!mine.empty()) std::memmove(all.data(), mine.data(), mine.size());
  return Status();
}

Operation SelfComm::exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) {
  return exchange_with_self(0, outgoing, incoming);
}

Operation SelfComm::deliver(std::span<const Outgoing> outgoing, std::vector<Letter>& inbox) {
  for (const Outgoing& message : outgoing) inbox.push_back({0, {message.bytes.begin(), message.bytes.end()}});
  return Status();
}

Result<std::unique_ptr<SharedSegment>> SelfComm::share(std::int64_t size) {
  std::unique_ptr<SharedSegment> segment = PLENUM_TRY(map_anonymous(size));
  return segment;
}

}  // namespace plenum
