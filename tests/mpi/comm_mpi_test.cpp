// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <mpi.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/mpi_comm.hpp"
#include "comm/mpi_handle.hpp"
#include "support/comm_checks.hpp"

namespace plenum {
namespace {

using test::CommCheck;
using test::kCommChecks;

std::unique_ptr<Comm> world_comm(MpiCommOptions options = {}) {
  auto comm = make_mpi_comm(MPI_COMM_WORLD, options);
  EXPECT_TRUE(comm.ok()) << (comm.ok() ? "" : comm.error().detail);
  return comm.ok() ? std::move(comm).value() : nullptr;
}

// With parts of 7 bytes nearly every message is one that does not fit in one MPI call.
class MpiCommChecks : public testing::TestWithParam<std::tuple<std::int64_t, CommCheck>> {};

TEST_P(MpiCommChecks, holds) {
  const auto& [part_size, check] = GetParam();
  const auto comm = world_comm({part_size});
  ASSERT_NE(comm, nullptr);
  // MPICH reports failed messages to this one's handler, whatever communicator they were sent on.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check.run(*comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

std::string mpi_name(const testing::TestParamInfo<MpiCommChecks::ParamType>& test) {
  const auto& [part_size, check] = test.param;
  return std::string(part_size == 7 ? "in_parts_" : "whole_") + check.name;
}

INSTANTIATE_TEST_SUITE_P(, MpiCommChecks,
                         testing::Combine(testing::Values(MpiCommOptions().part_size, std::int64_t{7}),
                                          testing::ValuesIn(kCommChecks)),
                         mpi_name);

TEST(MpiComm, suspended_operations_interleave) {
  const auto first = world_comm();
  const auto second = world_comm();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  test::suspended_operations_interleave(*first, *second);
}

TEST(MpiComm, has_the_ranks_of_the_users_communicator) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MpiCommHandle reversed;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, reversed.out());
  int reversed_rank = 0;
  int reversed_size = 0;
  MPI_Comm_rank(reversed.get(), &reversed_rank);
  MPI_Comm_size(reversed.get(), &reversed_size);
  auto comm = make_mpi_comm(reversed.get());
  ASSERT_TRUE(comm.ok()) << comm.error().detail;
  EXPECT_EQ(comm.value()->rank(), reversed_rank);
  EXPECT_EQ(comm.value()->size(), reversed_size);
  int relation = MPI_UNEQUAL;
  MPI_Comm_compare(reversed.get(), native(*comm.value()), &relation);
  EXPECT_EQ(relation, MPI_CONGRUENT);
  test::random_exchanges_bring_what_was_sent(*comm.value());
}

TEST(MpiComm, null_and_intercommunicators_are_refused) {
  auto comm = make_mpi_comm(MPI_COMM_NULL);
  ASSERT_FALSE(comm.ok());
  EXPECT_EQ(comm.error().code, Code::Communicator);

  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1) return;
  MpiCommHandle half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, half.out());
  MpiCommHandle inter;
  MPI_Intercomm_create(half.get(), 0, MPI_COMM_WORLD, 1 - rank % 2, 0, inter.out());
  comm = make_mpi_comm(inter.get());
  ASSERT_FALSE(comm.ok());
  EXPECT_EQ(comm.error().code, Code::Communicator);
}

int copies_of_attribute = 0;

extern "C" int plenum_test_count_copy(MPI_Comm, int, void*, void*, void*, int* is_copied) {
  ++copies_of_attribute;
  *is_copied = 0;
  return MPI_SUCCESS;
}

TEST(MpiComm, the_programs_attributes_and_error_handler_are_left_alone) {
  MpiCommHandle user;
  MPI_Comm_dup(MPI_COMM_WORLD, user.out());
  MPI_Comm_set_errhandler(user.get(), MPI_ERRORS_ARE_FATAL);
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(plenum_test_count_copy, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  MPI_Comm_set_attr(user.get(), key, nullptr);
  {
    auto comm = make_mpi_comm(user.get());
    ASSERT_TRUE(comm.ok()) << comm.error().detail;
    EXPECT_EQ(copies_of_attribute, 0);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(native(*comm.value()), &handler);
    EXPECT_EQ(handler, MPI_ERRORS_RETURN);
  }
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(user.get(), &handler);
  EXPECT_EQ(handler, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_delete_attr(user.get(), key);
  MPI_Comm_free_keyval(&key);
}

// Placement is remembered with the user's communicator and its duplicates, and forgotten with it.
TEST(MpiComm, many_on_one_communicator_and_on_its_duplicates_agree_on_the_nodes) {
  MpiCommHandle duplicate;
  int nodes = 0;
  {
    MpiCommHandle user;
    MPI_Comm_dup(MPI_COMM_WORLD, user.out());
    for (int i = 0; i < 20; ++i) {
      const auto comm = make_mpi_comm(user.get());
      ASSERT_TRUE(comm.ok()) << comm.error().detail;
      test::nodes_are_numbered_by_their_lowest_rank(*comm.value());
      nodes = comm.value()->nodes();
    }
    MPI_Comm_dup(user.get(), duplicate.out());
  }
  const auto comm = make_mpi_comm(duplicate.get());
  ASSERT_TRUE(comm.ok()) << comm.error().detail;
  EXPECT_EQ(comm.value()->nodes(), nodes);
}

}  // namespace
}  // namespace plenum
