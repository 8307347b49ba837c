// SPDX-License-Identifier: BSD-3-Clause
//
// What every Comm must do, whoever implements it: each check is run by all ranks of a group of any size.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "comm/comm.hpp"

namespace plenum::test {

using ByteVector = std::vector<std::byte>;

// Bytes that tell who sent them to whom, and when.
inline ByteVector message(std::int64_t size, int from, int to, int round) {
  std::mt19937 random(static_cast<unsigned>(from) * 7919u + static_cast<unsigned>(to) * 104729u +
                      static_cast<unsigned>(round) * 15485863u);
  ByteVector bytes(static_cast<std::size_t>(size));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

inline void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().detail); }

inline std::int64_t random_size(std::mt19937& random) {
  constexpr std::int64_t kSizes[] = {0, 0, 1, 2, 7, 8, 49, 640, 4999};
  return kSizes[random() % std::size(kSizes)];
}

inline void nobody_passes_a_barrier_before_all_have_come(Comm& comm) {
  // A counter in memory that the ranks of a node share.
  auto segment = comm.share(sizeof(std::int64_t));
  ASSERT_TRUE(segment.ok()) << segment.error().detail;
  const std::atomic_ref<std::int64_t> come(*reinterpret_cast<std::int64_t*>(segment.value()->bytes().data()));
  std::int64_t node_ranks = 0;
  for (int rank = 0; rank < comm.size(); ++rank) node_ranks += comm.node_of(rank) == comm.node_of(comm.rank()) ? 1 : 0;
  for (int round = 1; round <= 50; ++round) {
    come.fetch_add(1);
    expect_ok(comm.barrier().wait());
    EXPECT_GE(come.load(), round * node_ranks);
  }
}

inline void allreduce_combines_element_by_element(Comm& comm) {
  for (const std::int64_t count : {0, 1, 3, 1000}) {
    std::vector<std::int64_t> least(static_cast<std::size_t>(count));
    std::vector<std::int64_t> greatest = least;
    std::vector<std::int64_t> total = least;
    constexpr std::int64_t kBig = std::int64_t{1} << 40;
    for (std::int64_t i = 0; i < count; ++i)
      least[static_cast<std::size_t>(i)] = greatest[static_cast<std::size_t>(i)] = total[static_cast<std::size_t>(i)] =
          (comm.rank() + i) * kBig;
    expect_ok(comm.allreduce(least, Reduction::min).wait());
    expect_ok(comm.allreduce(greatest, Reduction::max).wait());
    expect_ok(comm.allreduce(total, Reduction::sum).wait());
    const std::int64_t size = comm.size();
    for (std::int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(least[static_cast<std::size_t>(i)], i * kBig);
      EXPECT_EQ(greatest[static_cast<std::size_t>(i)], (size - 1 + i) * kBig);
      EXPECT_EQ(total[static_cast<std::size_t>(i)], (size * (size - 1) / 2 + size * i) * kBig);
    }
  }
  std::int64_t extreme = comm.rank() == 0 ? std::numeric_limits<std::int64_t>::min() : 1;
  expect_ok(comm.allreduce({&extreme, 1}, Reduction::min).wait());
  EXPECT_EQ(extreme, std::numeric_limits<std::int64_t>::min());
}

inline void broadcast_reaches_everyone_from_every_root(Comm& comm) {
  for (int root = 0; root < comm.size(); ++root) {
    for (const std::int64_t size : {0, 1, 7, 8, 15, 4999}) {
      const ByteVector expected = message(size, root, 0, static_cast<int>(size));
      ByteVector bytes(static_cast<std::size_t>(size));
      if (comm.rank() == root) bytes = expected;
      expect_ok(comm.broadcast(bytes, root).wait());
      EXPECT_EQ(bytes, expected);
    }
  }
}

inline void allgather_puts_each_rank_in_its_place(Comm& comm) {
  for (const std::int64_t size : {0, 1, 5, 8, 1234}) {
    ByteVector all(static_cast<std::size_t>(size * comm.size()));
    const ByteVector mine = message(size, comm.rank(), 0, 0);
    expect_ok(comm.allgather(mine, all).wait());
    ByteVector expected;
    for (int rank = 0; rank < comm.size(); ++rank) {
      const ByteVector theirs = message(size, rank, 0, 0);
      expected.insert(expected.end(), theirs.begin(), theirs.end());
    }
    EXPECT_EQ(all, expected);
  }
}

// Every rank draws the same random numbers, so each knows what all the others send.
inline void random_exchanges_bring_what_was_sent(Comm& comm) {
  std::mt19937 random(20240607);
  const int me = comm.rank();
  for (int round = 0; round < 40; ++round) {
    std::vector<ByteVector> sent;
    std::vector<ByteVector> received;
    std::vector<ByteVector> expected;
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    sent.reserve(1000);
    received.reserve(1000);
    for (int repeat = 0; repeat < 2; ++repeat) {  // two messages for some pairs, which must stay in order
      for (int from = 0; from < comm.size(); ++from) {
        for (int to = 0; to < comm.size(); ++to) {
          const bool is_sent = random() % 2 == 0;
          const std::int64_t size = random_size(random);
          if (!is_sent) continue;
          const ByteVector bytes = message(size, from, to, 2 * round + repeat);
          if (from == me) outgoing.push_back({to, sent.emplace_back(bytes)});
          if (to != me) continue;
          expected.push_back(bytes);
          incoming.push_back({from, received.emplace_back(bytes.size())});
        }
      }
    }
    if (outgoing.empty() && incoming.empty()) continue;  // a rank without any need need not call
    expect_ok(comm.exchange(outgoing, incoming).wait());
    EXPECT_EQ(received, expected) << "round " << round;
  }
}

inline void an_exchange_synchronises_nobody_else(Comm& comm) {
  // Only neighbours meet, and in a chain: rank r answers r - 1 only after r + 1 has answered it.
  const int me = comm.rank();
  const int last = comm.size() - 1;
  std::int64_t sum = me;
  const Bytes bytes = std::as_writable_bytes(std::span(&sum, 1));
  std::int64_t theirs = 0;
  if (me < last) {
    const Incoming from_next{me + 1, std::as_writable_bytes(std::span(&theirs, 1))};
    expect_ok(comm.exchange({}, {&from_next, 1}).wait());
    sum += theirs;
  }
  if (me > 0) {
    const Outgoing to_previous{me - 1, bytes};
    expect_ok(comm.exchange({&to_previous, 1}, {}).wait());
  }
  EXPECT_EQ(sum, std::int64_t{last} * (last + 1) / 2 - std::int64_t{me} * (me - 1) / 2);
}

inline void a_message_shorter_than_expected_is_an_error(Comm& comm) {
  const int me = comm.rank();
  const int next = (me + 1) % comm.size();
  const int previous = (me + comm.size() - 1) % comm.size();
  ByteVector out(5);
  ByteVector in(6);
  const Outgoing outgoing{next, out};
  const Incoming incoming{previous, in};
  const Status status = comm.exchange({&outgoing, 1}, {&incoming, 1}).wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::Internal);
}

inline void a_message_longer_than_expected_is_an_error(Comm& comm) {
  const int me = comm.rank();
  ByteVector out(6);
  ByteVector in(5);
  const Outgoing outgoing{(me + 1) % comm.size(), out};
  const Incoming incoming{(me + comm.size() - 1) % comm.size(), in};
  const Status status = comm.exchange({&outgoing, 1}, {&incoming, 1}).wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::Internal);
}

// Many in a row without any other synchronisation, so that a fast rank's next letters meet a slow rank's last ones.
inline void letters_arrive_in_the_delivery_they_were_sent_in(Comm& comm) {
  std::mt19937 random(42);
  const int me = comm.rank();
  for (int round = 0; round < 150; ++round) {
    std::vector<ByteVector> sent;
    std::vector<Outgoing> outgoing;
    std::vector<Letter> expected;
    sent.reserve(static_cast<std::size_t>(comm.size()));
    for (int from = 0; from < comm.size(); ++from) {
      for (int to = 0; to < comm.size(); ++to) {
        const bool is_sent = random() % 3 == 0;
        const std::int64_t size = random_size(random);
        if (!is_sent) continue;
        ByteVector bytes = message(size, from, to, round);
        if (from == me) outgoing.push_back({to, sent.emplace_back(bytes)});
        if (to == me) expected.push_back({from, std::move(bytes)});
      }
    }
    std::vector<Letter> inbox;
    inbox.push_back({-1, {}});  // what is there already stays
    expect_ok(comm.deliver(outgoing, inbox).wait());
    ASSERT_EQ(inbox.size(), expected.size() + 1) << "round " << round;
    EXPECT_EQ(inbox[0].from, -1);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(inbox[i + 1].from, expected[i].from) << "round " << round;
      EXPECT_EQ(inbox[i + 1].bytes, expected[i].bytes) << "round " << round;
    }
  }
}

inline void everyone_gets_the_error_of_the_lowest_rank_that_failed(Comm& comm) {
  expect_ok(agree(comm, {}).wait());
  for (int lowest = 0; lowest < comm.size(); ++lowest) {
    for (const bool others_fail_too : {false, true}) {
      Status mine;
      if (others_fail_too && comm.rank() > lowest) mine = Error{Code::Quota, "another"};
      if (comm.rank() == lowest) mine = Error{Code::NoSpace, "pwrite: " + std::string(500, 'x')};
      const Status status = agree(comm, mine).wait();
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, Code::NoSpace);
      EXPECT_EQ(status.error().detail, "rank " + std::to_string(lowest) + ": pwrite: " + std::string(500, 'x'));
    }
  }
  expect_ok(agree(comm, {}).wait());
}

inline void a_rank_is_named_once_however_many_agreements_follow(Comm& comm) {
  const int last = comm.size() - 1;
  Status status;
  if (comm.rank() == last) status = Error{Code::Io, "pwrite failed"};
  status = agree(comm, std::move(status)).wait();
  ASSERT_FALSE(status.ok());
  status =
      agree(comm, Error{status.error().code, "/scratch/a rank: crank 7: at byte 5, " + status.error().detail}).wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::Io);
  EXPECT_EQ(status.error().detail,
            "/scratch/a rank: crank 7: at byte 5, rank " + std::to_string(last) + ": pwrite failed");

  status = agree(comm, Error{Code::Io, "frank 7: nobody is named"}).wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().detail, "rank 0: frank 7: nobody is named");

  status = agree(comm, comm.rank() == last ? Status(Error{Code::Io, ""}) : Status()).wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().detail, "rank " + std::to_string(last) + ": " + std::string(text_of(Code::Io)));
}

inline void a_value_that_differs_on_any_rank_is_noticed(Comm& comm) {
  for (const std::size_t size : {0u, 1u, 8u, 9u, 1000u}) {
    ByteVector value(size, std::byte{7});
    expect_ok(agree_same(comm, "amode", value).wait());
    for (int odd = 0; odd < comm.size() && comm.size() > 1; ++odd) {
      for (const bool is_longer : {false, true}) {
        ByteVector mine = value;
        if (comm.rank() == odd && is_longer) mine.push_back(std::byte{0});
        if (comm.rank() == odd && !is_longer && size > 0) mine[size / 2] = std::byte{8};
        const Status status = agree_same(comm, "amode", mine).wait();
        if (size == 0 && !is_longer) {
          expect_ok(status);
          continue;
        }
        ASSERT_FALSE(status.ok()) << size << " bytes, rank " << odd;
        EXPECT_EQ(status.error().code, Code::NotSame);
        const int named = odd == 0 ? 1 : odd;
        EXPECT_EQ(status.error().detail, "rank " + std::to_string(named) + ": amode differs from that of rank 0");
      }
    }
  }
}

inline void nodes_are_numbered_by_their_lowest_rank(Comm& comm) {
  ASSERT_GE(comm.nodes(), 1);
  int seen = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    ASSERT_LE(comm.node_of(rank), seen);
    if (comm.node_of(rank) == seen) ++seen;
  }
  EXPECT_EQ(seen, comm.nodes());
}

inline void a_node_and_nobody_else_shares_a_segment(Comm& comm) {
  for (const std::int64_t size : {0, 1, 4096, 100001}) {
    auto shared = comm.share(size * comm.size());
    ASSERT_TRUE(shared.ok()) << shared.error().detail;
    const Bytes bytes = shared.value()->bytes();
    ASSERT_EQ(std::ssize(bytes), size * comm.size());
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; }));
    expect_ok(comm.barrier().wait());
    const auto place_of = [&](int rank) {
      return bytes.subspan(static_cast<std::size_t>(rank * size), static_cast<std::size_t>(size));
    };
    const ByteVector mine = message(size, comm.rank(), 0, 0);
    std::copy(mine.begin(), mine.end(), place_of(comm.rank()).begin());
    expect_ok(comm.barrier().wait());
    for (int rank = 0; rank < comm.size(); ++rank) {
      const bool is_here = comm.node_of(rank) == comm.node_of(comm.rank());
      const ByteVector expected = is_here ? message(size, rank, 0, 0) : ByteVector(static_cast<std::size_t>(size));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), place_of(rank).begin())) << "rank " << rank;
    }
  }
}

inline void a_segment_that_cannot_be_had_fails_on_every_rank(Comm& comm) {
  for (const std::int64_t size : {std::int64_t{-1}, std::int64_t{1} << 62}) {
    const auto segment = comm.share(size);
    ASSERT_FALSE(segment.ok());
    const auto code = static_cast<std::int64_t>(segment.error().code);
    std::int64_t least = code;
    expect_ok(comm.allreduce({&least, 1}, Reduction::min).wait());
    EXPECT_EQ(code, least);
    EXPECT_FALSE(segment.error().detail.empty());
  }
}

inline void a_dropped_operation_leaves_the_others_in_order(Comm& comm) {
  const int me = comm.rank();
  const ByteVector out(100, std::byte{1});
  ByteVector in(100);
  ByteVector all(static_cast<std::size_t>(comm.size()) * 100);
  std::vector<Letter> inbox;
  std::int64_t value = 1;
  const Outgoing outgoing{(me + 1) % comm.size(), out};
  const Incoming incoming{(me + comm.size() - 1) % comm.size(), in};
  for (int round = 0; round < 10; ++round) {
    (void)comm.barrier();
    (void)comm.allreduce({&value, 1}, Reduction::sum);
    (void)comm.broadcast(in, comm.size() - 1);
    (void)comm.allgather(out, all);
    (void)comm.exchange({&outgoing, 1}, {&incoming, 1});
    (void)comm.deliver({&outgoing, 1}, inbox);
    // The memory is the caller's again.
    std::fill(in.begin(), in.end(), std::byte{2});
    value = 2;
    expect_ok(comm.barrier().wait());
    EXPECT_EQ(in, ByteVector(100, std::byte{2}));
    EXPECT_EQ(value, 2);
  }
  random_exchanges_bring_what_was_sent(comm);
  letters_arrive_in_the_delivery_they_were_sent_in(comm);
  allreduce_combines_element_by_element(comm);
}

// One of each, one after another, as a strategy would.
inline Task<Status> round_of_everything(Comm& comm, int round) {
  const int me = comm.rank();
  const int size = comm.size();
  std::int64_t sum = me + round;
  const std::span<std::int64_t> values(&sum, 1);
  PLENUM_CO_TRY(co_await comm.allreduce(values, Reduction::sum));
  EXPECT_EQ(sum, std::int64_t{size} * (size - 1) / 2 + std::int64_t{size} * round);

  const int root = round % size;
  const ByteVector expected = message(333, root, 0, round);
  ByteVector bytes = me == root ? expected : ByteVector(333);
  PLENUM_CO_TRY(co_await comm.broadcast(bytes, root));
  EXPECT_EQ(bytes, expected);

  const int next = (me + 1 + round % 2) % size;
  const int previous = (me + 2 * size - 1 - round % 2) % size;
  const ByteVector out = message(1000, me, next, round);
  ByteVector in(1000);
  const Outgoing outgoing{next, out};
  const Incoming incoming{previous, in};
  PLENUM_CO_TRY(co_await comm.exchange(std::span(&outgoing, 1), std::span(&incoming, 1)));
  EXPECT_EQ(in, message(1000, previous, me, round));

  std::vector<Letter> inbox;
  PLENUM_CO_TRY(co_await comm.deliver(std::span(&outgoing, 1), inbox));
  EXPECT_EQ(inbox.size(), 1u);
  if (inbox.size() == 1) {
    EXPECT_EQ(inbox[0].from, previous);
    EXPECT_EQ(inbox[0].bytes, in);
  }

  Status mine;
  if (me == root) mine = Error{Code::Io, "round " + std::to_string(round)};
  const Status agreed = co_await agree(comm, std::move(mine));
  EXPECT_FALSE(agreed.ok());
  if (!agreed.ok()) {
    EXPECT_EQ(agreed.error().detail, "rank " + std::to_string(root) + ": round " + std::to_string(round));
  }
  co_return co_await comm.barrier();
}

inline Task<Status> rounds_of_everything(Comm& comm, int rounds) {
  for (int round = 0; round < rounds; ++round) PLENUM_CO_TRY(co_await round_of_everything(comm, round));
  co_return Status();
}

// Two suspended computations on two groups with the same ranks; each rank advances them in an order of its own.
inline void suspended_operations_interleave(Comm& first, Comm& second) {
  Task<Status> tasks[] = {rounds_of_everything(first, 30), rounds_of_everything(second, 20)};
  bool ended[] = {false, false};
  std::mt19937 random(static_cast<unsigned>(first.rank()));
  for (Backoff backoff; !ended[0] || !ended[1];) {
    const std::size_t one = random() % 2;
    if (!ended[one]) ended[one] = tasks[one].advance();
    backoff.pause();
  }
  expect_ok(tasks[0].take());
  expect_ok(tasks[1].take());
}

struct CommCheck {
  const char* name;
  void (*run)(Comm& comm);
};

inline constexpr CommCheck kCommChecks[] = {
#define PLENUM_CHECK(function) \
  { #function, function }
    PLENUM_CHECK(nobody_passes_a_barrier_before_all_have_come),
    PLENUM_CHECK(allreduce_combines_element_by_element),
    PLENUM_CHECK(broadcast_reaches_everyone_from_every_root),
    PLENUM_CHECK(allgather_puts_each_rank_in_its_place),
    PLENUM_CHECK(random_exchanges_bring_what_was_sent),
    PLENUM_CHECK(an_exchange_synchronises_nobody_else),
    PLENUM_CHECK(a_message_shorter_than_expected_is_an_error),
    PLENUM_CHECK(a_message_longer_than_expected_is_an_error),
    PLENUM_CHECK(letters_arrive_in_the_delivery_they_were_sent_in),
    PLENUM_CHECK(everyone_gets_the_error_of_the_lowest_rank_that_failed),
    PLENUM_CHECK(a_rank_is_named_once_however_many_agreements_follow),
    PLENUM_CHECK(a_value_that_differs_on_any_rank_is_noticed),
    PLENUM_CHECK(nodes_are_numbered_by_their_lowest_rank),
    PLENUM_CHECK(a_node_and_nobody_else_shares_a_segment),
    PLENUM_CHECK(a_segment_that_cannot_be_had_fails_on_every_rank),
    PLENUM_CHECK(a_dropped_operation_leaves_the_others_in_order),
#undef PLENUM_CHECK
};

inline void PrintTo(const CommCheck& check, std::ostream* out) { *out << check.name; }

}  // namespace plenum::test
