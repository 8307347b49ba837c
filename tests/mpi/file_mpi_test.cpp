// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs on one file under real MPI, against a model of the file in memory. PLENUM_CASES and PLENUM_SEED say
// how many, and which.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "comm/mpi_comm.hpp"
#include "support/file_model.hpp"
#include "support/watchdog.hpp"

namespace plenum::test {
namespace {

constexpr std::int64_t kCases = 200;

std::unique_ptr<Comm> world() {
  auto comm = make_mpi_comm(MPI_COMM_WORLD);
  if (comm.ok()) return std::move(comm.value());
  ADD_FAILURE() << comm.error().detail;
  return nullptr;
}

// A folder of its own, the same on all ranks.
std::string shared_folder(Comm& comm) {
  std::string folder = std::filesystem::temp_directory_path() / "plenum_file_mpi_XXXXXX";
  if (comm.rank() == 0 && mkdtemp(folder.data()) == nullptr) folder.clear();
  EXPECT_TRUE(comm.broadcast(std::as_writable_bytes(std::span(folder)), 0).wait().ok());
  return folder;
}

TEST(FileUnderMpi, random_programs_do_to_the_file_what_they_do_to_the_model) {
  const auto comm = world();
  ASSERT_NE(comm, nullptr);
  const std::string folder = shared_folder(*comm);
  ASSERT_FALSE(folder.empty());
  const std::string path = folder + "/file";
  std::atomic<std::uint64_t> seed = seed_for_test();
  Watchdog watchdog(std::chrono::seconds(120), [&] { return "seed " + std::to_string(seed); });
  std::int64_t failed = 0;
  for (std::int64_t left = cases_for_test(kCases); left > 0 && failed == 0; --left, ++seed) {
    const Script script = random_script(comm->size(), seed);
    const std::vector<std::string> failures = ScriptRunner(script, path, path, [](int) { return world(); }).run();
    failed = std::ssize(failures);
    ASSERT_TRUE(comm->allreduce({&failed, 1}, Reduction::max).wait().ok());
    if (failed > 0 && comm->rank() == 0) ADD_FAILURE() << listing(script);
    for (const std::string& failure : failures) ADD_FAILURE() << "seed " << seed << ": " << failure;
    if (comm->rank() == 0) std::filesystem::remove(path);
    ASSERT_TRUE(comm->barrier().wait().ok());
    watchdog.pat();
  }
  if (comm->rank() == 0) std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plenum::test
