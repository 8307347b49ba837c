// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <bit>
#include <cstring>

#include "comm/comm.hpp"

namespace plenum {
namespace {

// True if an agreement further in has named the rank already: "rank 3: " stands somewhere in the text.
bool names_rank(std::string_view text) {
  constexpr std::string_view kWord = "rank ";
  for (auto at = text.find(kWord); at != std::string_view::npos; at = text.find(kWord, at + 1)) {
    const auto digits = at + kWord.size();
    const auto end = text.find_first_not_of("0123456789", digits);
    const bool begins_word = at == 0 || text[at - 1] == ' ';
    if (begins_word && end != std::string_view::npos && end > digits && text[end] == ':') return true;
  }
  return false;
}

std::string text_with_rank(const Error& error, int rank) {
  const std::string text = error.detail.empty() ? std::string(text_of(error.code)) : error.detail;
  return names_rank(text) ? text : "rank " + std::to_string(rank) + ": " + text;
}

// Every rank gets the error of `rank`, which alone gives one in `mine`.
Task<Status> spread_error(Comm& comm, int rank, Status mine) {
  std::array<std::int64_t, 2> header{};
  std::string text;
  if (comm.rank() == rank) {
    text = text_with_rank(mine.error(), rank);
    header = {static_cast<std::int64_t>(mine.error().code), static_cast<std::int64_t>(text.size())};
  }
  const Bytes header_bytes = std::as_writable_bytes(std::span(header));
  PLENUM_CO_TRY(co_await comm.broadcast(header_bytes, rank));
  text.resize(static_cast<std::size_t>(header[1]));
  const Bytes text_bytes = std::as_writable_bytes(std::span(text));
  PLENUM_CO_TRY(co_await comm.broadcast(text_bytes, rank));
  co_return Error{static_cast<Code>(header[0]), std::move(text)};
}

using Fingerprint = std::array<std::uint64_t, 2>;

// Tells values apart: exactly up to eight bytes, and by 128 mixed bits beyond.
Fingerprint fingerprint(ConstBytes value) {
  if (value.size() <= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    if (!value.empty()) std::memcpy(&word, value.data(), value.size());
    return {word, value.size()};
  }
  Fingerprint mixed{0x9e3779b97f4a7c15u ^ value.size(), 0xc2b2ae3d27d4eb4fu};
  for (const std::byte byte : value) {
    const auto next = static_cast<std::uint64_t>(byte);
    mixed[0] = std::rotl((mixed[0] ^ next) * 0xff51afd7ed558ccdu, 29);
    mixed[1] = std::rotl((mixed[1] + next) * 0xc4ceb9fe1a85ec53u, 31) ^ mixed[0];
  }
  return mixed;
}

}  // namespace

Task<Status> agree(Comm& comm, Status mine) {
  std::int64_t lowest_failed = mine.ok() ? comm.size() : comm.rank();
  const std::span<std::int64_t> combined(&lowest_failed, 1);
  PLENUM_CO_TRY(co_await comm.allreduce(combined, Reduction::min));
  if (lowest_failed == comm.size()) co_return Status();
  co_return co_await spread_error(comm, static_cast<int>(lowest_failed), std::move(mine));
}

Task<Status> agree_same(Comm& comm, std::string_view what, ConstBytes value) {
  // The minimum of ~x is ~ of the maximum of x: one reduction tells whether the least and the greatest are the same.
  const Fingerprint mine = fingerprint(value);
  std::array<std::int64_t, 4> extremes{std::bit_cast<std::int64_t>(mine[0]), std::bit_cast<std::int64_t>(~mine[0]),
                                       std::bit_cast<std::int64_t>(mine[1]), std::bit_cast<std::int64_t>(~mine[1])};
  const std::span<std::int64_t> combined(extremes);
  PLENUM_CO_TRY(co_await comm.allreduce(combined, Reduction::min));
  if (extremes[0] == ~extremes[1] && extremes[2] == ~extremes[3]) co_return Status();

  Fingerprint first = mine;
  const Bytes first_bytes = std::as_writable_bytes(std::span(first));
  PLENUM_CO_TRY(co_await comm.broadcast(first_bytes, 0));
  Status verdict;
  if (first != mine) verdict = Error{Code::NotSame, std::string(what) + " differs from that of rank 0"};
  co_return co_await agree(comm, std::move(verdict));
}

}  // namespace plenum
