// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs on one file, by ranks that are threads, against a model of the file in memory.
//
//   file_fuzz [--cases N] [--seed S] [--seconds T]
//
// Runs N cases (default 200, or PLENUM_CASES), or as many as T seconds allow, with seeds S, S + 1, ... (default 1, or
// PLENUM_SEED). The first case that fails is printed with all its operations up to the failure, as short as leaving out
// its end makes it; the exit code is 1.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/thread_comm.hpp"
#include "support/file_model.hpp"
#include "support/watchdog.hpp"

namespace plenum::test {
namespace {

struct Options {
  std::int64_t cases = cases_for_test(200);
  std::uint64_t seed = seed_for_test();
  double seconds = 1e9;
};

// How the file of a case is reached.
std::string device_prefix(Random& random, Hints& hints) {
  if (chance(random, 70)) return "";
  hints.fault =
      "op=any,every=" + std::to_string(random.between(3, 40)) + ",delay=" + std::to_string(random.between(0, 300));
  return "faulty:posix:";
}

struct Case {
  Script script;
  std::string prefix;
  int ranks_per_node = 1;
};

Case make_case(std::uint64_t seed) {
  constexpr int kRanks[] = {1, 2, 3, 4, 7, 8};
  Random random(seed);
  const int ranks = kRanks[random.bits() % std::size(kRanks)];
  Case made{random_script(ranks, seed), "", static_cast<int>(random.between(1, ranks))};
  made.prefix = device_prefix(random, made.script.hints);
  return made;
}

std::vector<std::string> run_case(const Case& given, const std::string& path) {
  std::filesystem::remove(path);
  std::vector<ThreadGroup> groups;
  for (const Step& step : given.script.steps) {
    if (groups.empty() || step.kind == Step::Kind::reopen)
      groups.emplace_back(given.script.options.ranks, given.ranks_per_node);
  }
  std::mutex mutex;
  std::vector<std::string> failures;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < given.script.options.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto comm_of = [&groups, rank](int opening) {
        return groups[static_cast<std::size_t>(opening)].join(rank);
      };
      std::vector<std::string> mine = ScriptRunner(given.script, given.prefix + path, path, comm_of).run();
      const std::lock_guard lock(mutex);
      failures.insert(failures.end(), std::make_move_iterator(mine.begin()), std::make_move_iterator(mine.end()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::filesystem::remove(path);
  return failures;
}

// The same case without the steps after `last`.
Case cut(const Case& given, std::size_t last) {
  Case shorter = given;
  if (last < shorter.script.steps.size()) shorter.script.steps.resize(last);
  return shorter;
}

void report(const Case& given, std::vector<std::string> failures, const std::string& path) {
  Case shortest = given;
  for (std::size_t steps = given.script.steps.size(); steps > 0; --steps) {
    const Case shorter = cut(given, steps - 1);
    std::vector<std::string> found = run_case(shorter, path);
    if (found.empty()) break;
    shortest = shorter;
    failures = std::move(found);
  }
  std::printf("%sdevice: %s, %d ranks per node\n", listing(shortest.script).c_str(), given.prefix.c_str(),
              given.ranks_per_node);
  for (const std::string& failure : failures) std::printf("FAILED: %s\n", failure.c_str());
  std::printf("again: file_fuzz --cases 1 --seed %llu\n", static_cast<unsigned long long>(given.script.options.seed));
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view key = argv[i];
    if (key == "--cases") {
      options.cases = std::atoll(argv[i + 1]);
    } else if (key == "--seed") {
      options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (key == "--seconds") {
      options.seconds = std::atof(argv[i + 1]);
      options.cases = std::numeric_limits<std::int64_t>::max();
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

int run(const Options& options, const std::string& path) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  std::int64_t operations = 0;
  std::int64_t cases = 0;
  std::atomic<std::uint64_t> seed = options.seed;
  Watchdog watchdog(std::chrono::seconds(120),
                    [&] { return "again: file_fuzz --cases 1 --seed " + std::to_string(seed); });
  for (; cases < options.cases && elapsed() < options.seconds; ++cases, ++seed) {
    watchdog.pat();
    const Case given = make_case(seed);
    const std::vector<std::string> failures = run_case(given, path);
    operations += given.script.operations;
    if (failures.empty()) continue;
    report(given, failures, path);
    return 1;
  }
  std::printf("%lld cases, %lld operations, %.1f s: no difference\n", static_cast<long long>(cases),
              static_cast<long long>(operations), elapsed());
  return 0;
}

}  // namespace
}  // namespace plenum::test

int main(int argc, char** argv) {
  plenum::test::Options options;
  if (!plenum::test::parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: file_fuzz [--cases N] [--seed S] [--seconds T]\n");
    return 2;
  }
  std::string folder = std::filesystem::temp_directory_path() / "plenum_file_fuzz_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("mkdtemp");
    return 2;
  }
  const int result = plenum::test::run(options, folder + "/file");
  std::filesystem::remove_all(folder);
  return result;
}
