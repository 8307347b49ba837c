// SPDX-License-Identifier: BSD-3-Clause
//
// What does it cost to go through Plenum, compared with the same system calls made by hand?
//
// Programs I and II of R. Thakur, W. Gropp, E. Lusk, "An Abstract-Device Interface for Implementing Portable
// Parallel-I/O Interfaces", 1996, section 5.1. Each process writes 1 MiB and reads it back, ten times: to a file of its
// own (I), or to a common file in which the data lie in order of process rank (II). The ways:
//
//   direct   open, pwrite, pread, close                         what the others are compared with
//   again    the same once more                                 how far ratios stray on this machine without any cause
//   adio     ADIO_WriteContig, ADIO_ReadContig                   device posix, strategy direct
//   mpiio    MPI_File_write_at, MPI_File_read_at through Plenum  if the drop-in library is preloaded or linked
//   peer     the same through the MPI library's own MPI-IO
//
// All ways have their files open at the same time in the same processes, and take turns, in changing order, to write
// one MiB and read it back: a step. A step is compared with the same step of `direct`, a moment before or after, and
// the ratio that is reported is the median of all these ratios, so that a process that loses its core for a while
// spoils a few steps and not the result. What is read is checked in every step, untimed.
//
//   adio_overhead [--dir DIRECTORY]... [--bytes N] [--times N] [--repetitions N] [--json FILE]
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "plenum/adio.h"

namespace {

int rank = 0;
int ranks = 1;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "adio_overhead: rank %d: %s\n", rank, what.c_str());
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::abort();
}

struct Options {
  std::vector<std::string> directories;
  std::int64_t bytes = 1 << 20;  // of one write or read
  int times = 10;
  int repetitions = 41;
  std::string json;
};

// ---- The ways. An instance is one open file of one process.

class Way {
 public:
  virtual ~Way() = default;
  virtual void open(MPI_Comm comm, const std::string& path) = 0;
  virtual void write(const char* memory, std::int64_t size, std::int64_t offset) = 0;
  virtual void read(char* memory, std::int64_t size, std::int64_t offset) = 0;
  virtual void close() = 0;
};

class Direct final : public Way {
 public:
  void open(MPI_Comm, const std::string& path) override {
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) fail(path + ": open: " + std::strerror(errno));
  }
  void write(const char* memory, std::int64_t size, std::int64_t offset) override {
    while (size > 0) {
      const ssize_t done = pwrite(fd_, memory, static_cast<std::size_t>(size), offset);
      if (done < 0 && errno != EINTR) fail(std::string("pwrite: ") + std::strerror(errno));
      advance(std::max<ssize_t>(done, 0), memory, size, offset);
    }
  }
  void read(char* memory, std::int64_t size, std::int64_t offset) override {
    while (size > 0) {
      const ssize_t done = pread(fd_, memory, static_cast<std::size_t>(size), offset);
      if (done == 0) fail("pread: the file is too short");
      if (done < 0 && errno != EINTR) fail(std::string("pread: ") + std::strerror(errno));
      advance(std::max<ssize_t>(done, 0), memory, size, offset);
    }
  }
  void close() override { ::close(fd_); }

 private:
  template <class Memory>
  static void advance(ssize_t done, Memory& memory, std::int64_t& size, std::int64_t& offset) {
    memory += done;
    size -= done;
    offset += done;
  }

  int fd_ = -1;
};

class Adio final : public Way {
 public:
  void open(MPI_Comm comm, const std::string& path) override {
    static ADIO_Hints* const hints = [] {
      ADIO_Hints* made = ADIO_Hints_create(MPI_INFO_NULL, nullptr);
      ADIO_Hints_set(made, "plenum_strategy", "direct", nullptr);
      return made;
    }();
    char device[] = "posix";
    fd_ = ADIO_Open(comm, path.c_str(), device, ADIO_CREATE | ADIO_RDWR, 0, MPI_BYTE, MPI_BYTE, ADIO_IOMODE_NULL, hints,
                    ADIO_PERM_NULL, &error_);
    check();
  }
  void write(const char* memory, std::int64_t size, std::int64_t offset) override {
    ADIO_WriteContig_c(fd_, memory, size, ADIO_EXPLICIT_OFFSET, offset, &status_, &error_);
    check();
  }
  void read(char* memory, std::int64_t size, std::int64_t offset) override {
    ADIO_ReadContig_c(fd_, memory, size, ADIO_EXPLICIT_OFFSET, offset, &status_, &error_);
    check();
  }
  void close() override {
    ADIO_Close(fd_, &error_);
    check();
  }

 private:
  void check() const {
    if (error_ != MPI_SUCCESS) fail(ADIO_Error_string(error_));
  }

  ADIO_File fd_ = ADIO_FILE_NULL;
  ADIO_Status status_;
  int error_ = MPI_SUCCESS;
};

// The functions of one implementation of MPI-IO.
struct MpiIo {
  decltype(&MPI_File_open) open = nullptr;
  decltype(&MPI_File_write_at) write_at = nullptr;
  decltype(&MPI_File_read_at) read_at = nullptr;
  decltype(&MPI_File_close) close = nullptr;
};

class MpiFile final : public Way {
 public:
  MpiFile(const MpiIo& mpi, MPI_Info info) : mpi_(mpi), info_(info) {}

  void open(MPI_Comm comm, const std::string& path) override {
    check("open", mpi_.open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info_, &file_));
  }
  void write(const char* memory, std::int64_t size, std::int64_t offset) override {
    check("write", mpi_.write_at(file_, offset, memory, static_cast<int>(size), MPI_BYTE, &status_));
  }
  void read(char* memory, std::int64_t size, std::int64_t offset) override {
    check("read", mpi_.read_at(file_, offset, memory, static_cast<int>(size), MPI_BYTE, &status_));
  }
  void close() override { check("close", mpi_.close(&file_)); }

 private:
  static void check(const char* what, int error) {
    if (error != MPI_SUCCESS) fail(std::string("MPI_File_") + what + ": error " + std::to_string(error));
  }

  const MpiIo& mpi_;
  MPI_Info info_;
  MPI_File file_ = MPI_FILE_NULL;
  MPI_Status status_;
};

template <class Function>
Function symbol(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) fail(std::string("the MPI library has no ") + name);
  return reinterpret_cast<Function>(found);
}

// The MPI library's own functions, whatever has been put in front of them: PMPI_Barrier is nobody else's.
MpiIo own_mpi_io() {
  Dl_info facts;
  if (dladdr(reinterpret_cast<void*>(&PMPI_Barrier), &facts) == 0) fail("cannot find the MPI library");
  void* const library = dlopen(facts.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) fail(std::string("cannot find the MPI library: ") + dlerror());
  return {symbol<decltype(&MPI_File_open)>(library, "MPI_File_open"),
          symbol<decltype(&MPI_File_write_at)>(library, "MPI_File_write_at"),
          symbol<decltype(&MPI_File_read_at)>(library, "MPI_File_read_at"),
          symbol<decltype(&MPI_File_close)>(library, "MPI_File_close")};
}

const MpiIo& visible_mpi_io() {
  static const MpiIo mpi{&MPI_File_open, &MPI_File_write_at, &MPI_File_read_at, &MPI_File_close};
  return mpi;
}

// Whether the MPI library's functions work while others are in front of them. MPICH's close calls its own MPI_File
// functions by name, and so reaches those of whoever has been preloaded.
bool works(const MpiIo& mpi) {
  char path[] = "/tmp/plenum_bench.XXXXXX";
  const int descriptor = mkstemp(path);
  if (descriptor < 0) return false;
  ::close(descriptor);
  MPI_File file = MPI_FILE_NULL;
  const bool ok = mpi.open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS &&
                  mpi.close(&file) == MPI_SUCCESS;
  unlink(path);
  return ok;
}

struct NamedWay {
  const char* name;
  std::unique_ptr<Way> way;
};

// The first is what the others are compared with.
std::vector<NamedWay> all_ways() {
  static const MpiIo own = own_mpi_io();
  MPI_Info direct = MPI_INFO_NULL;
  MPI_Info_create(&direct);
  MPI_Info_set(direct, "plenum_strategy", "direct");
  std::vector<NamedWay> ways;
  ways.push_back({"direct", std::make_unique<Direct>()});
  ways.push_back({"again", std::make_unique<Direct>()});
  ways.push_back({"adio", std::make_unique<Adio>()});
  if (own.open != visible_mpi_io().open) ways.push_back({"mpiio", std::make_unique<MpiFile>(visible_mpi_io(), direct)});
  if (works(own)) ways.push_back({"peer", std::make_unique<MpiFile>(own, MPI_INFO_NULL)});
  return ways;
}

// ---- A program

struct Case {
  std::string directory;
  bool common;  // Program II
  bool fresh;   // the file is new in every repetition; else it is there, and in memory
  const char* program() const { return common ? "II" : "I"; }
  const char* file() const { return fresh ? "new" : "old"; }
};

// What has been measured of one way, on this process; [s] each.
struct Measured {
  std::string name;
  std::vector<double> steps;       // of each repetition in turn
  std::vector<double> cpu;         // the same, as time in which the process was running
  std::vector<double> open_close;  // of each repetition
};

// Sleeps, because a process that waits must not take a core from one that works.
void wait_for_all() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int ended = 0; ended == 0;) {
    MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
    if (ended == 0) usleep(5);
  }
}

double cpu_time() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double seconds_for(Work&& work) {
  const double begin = MPI_Wtime();
  work();
  return MPI_Wtime() - begin;
}

class Program {
 public:
  Program(const Options& options, const Case& what, std::vector<NamedWay>& ways)
      : options_(options),
        what_(what),
        ways_(ways),
        written_(static_cast<std::size_t>(options.bytes)),
        read_(static_cast<std::size_t>(options.bytes)) {
    int pid = static_cast<int>(getpid());
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (const NamedWay& way : ways) {
      paths_.push_back(what.directory + "/plenum_overhead." + std::to_string(pid) + "." + way.name +
                       (what.common ? "" : "." + std::to_string(rank)));
      results_.push_back({way.name, {}, {}, {}});
    }
  }
  ~Program() { remove_files(); }

  std::vector<Measured> measure() {
    constexpr int kWarmUps = 2;
    for (int repetition = -kWarmUps; repetition < options_.repetitions; ++repetition) {
      if (repetition == 0) {
        for (Measured& result : results_) result = {result.name, {}, {}, {}};
      }
      repeat();
    }
    return results_;
  }

 private:
  void repeat() {
    if (what_.fresh) remove_files();
    std::vector<double> open_close(ways_.size());
    for_each_way([&](std::size_t i) {
      wait_for_all();
      open_close[i] =
          seconds_for([&] { ways_[i].way->open(what_.common ? MPI_COMM_WORLD : MPI_COMM_SELF, paths_[i]); });
    });
    wait_for_all();
    for (int step = 0; step < options_.times; ++step) {
      for_each_way([&](std::size_t i) { take_step(*ways_[i].way, step, results_[i]); });
    }
    for_each_way([&](std::size_t i) {
      wait_for_all();
      open_close[i] += seconds_for([&] { ways_[i].way->close(); });
      results_[i].open_close.push_back(open_close[i]);
    });
  }

  // Every way takes every place in the order, and has the one before it now behind it, now ahead.
  template <class Visit>
  void for_each_way(Visit&& visit) {
    const std::size_t count = ways_.size();
    for (std::size_t i = 0; i < count; ++i) visit((turn_ / 2 + (turn_ % 2 == 0 ? i : count - 1 - i)) % count);
    ++turn_;
  }

  void take_step(Way& way, int step, Measured& result) {
    ++mark_;
    for (std::size_t i = 0; i < written_.size(); i += 512)
      written_[i] = static_cast<char>(mark_ + static_cast<int>(i / 512));
    const std::int64_t offset = (what_.common ? std::int64_t{step} * ranks + rank : step) * options_.bytes;
    const double cpu = cpu_time();
    result.steps.push_back(seconds_for([&] {
      way.write(written_.data(), options_.bytes, offset);
      way.read(read_.data(), options_.bytes, offset);
    }));
    result.cpu.push_back(cpu_time() - cpu);
    if (read_ != written_) fail("what was read is not what was written");
  }

  void remove_files() {
    wait_for_all();
    for (const std::string& path : paths_) {
      if (!what_.common || rank == 0) unlink(path.c_str());
    }
    wait_for_all();
  }

  const Options& options_;
  const Case& what_;
  std::vector<NamedWay>& ways_;
  std::vector<std::string> paths_;
  std::vector<char> written_;
  std::vector<char> read_;
  std::vector<Measured> results_;
  std::size_t turn_ = 0;
  int mark_ = 0;
};

// ---- Statistics

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

struct Interval {
  double low, middle, high;
};

// The median with the 95 % confidence interval that order statistics give: it assumes nothing about the distribution.
Interval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  const double reach = 1.96 * std::sqrt(n) / 2;
  const auto at = [&](double index) { return values[static_cast<std::size_t>(std::clamp(index, 0.0, n - 1))]; };
  return {at(std::floor(n / 2 - reach)), median(values), at(std::ceil(n / 2 + reach) - 1)};
}

std::vector<double> ratios(const std::vector<double>& values, const std::vector<double>& to) {
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = values[i] / to[i];
  return result;
}

// The values of all processes, one process after the other, on rank 0.
std::vector<double> gather(const std::vector<double>& mine) {
  const int count = static_cast<int>(mine.size());
  std::vector<double> all(rank == 0 ? mine.size() * static_cast<std::size_t>(ranks) : 0);
  MPI_Gather(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

// One way in one case, on rank 0.
struct Row {
  std::string name;
  std::vector<double> program;  // [s] of each repetition: all its steps, on the slowest process
  double step = 0;              // [s] median
  double open_close = 0;        // [s] median
  Interval ratio{};             // of steps to those of `direct`
  Interval cpu_ratio{};         // the same of the time in which the process was running
  double open_close_ratio = 0;
};

std::vector<double> program_times(const Options& options, const std::vector<double>& steps) {
  const auto repetitions = static_cast<std::size_t>(options.repetitions);
  const auto times = static_cast<std::size_t>(options.times);
  std::vector<double> slowest(repetitions, 0);
  for (std::size_t first = 0; first < steps.size(); first += times) {
    double sum = 0;
    for (std::size_t i = 0; i < times; ++i) sum += steps[first + i];
    double& most = slowest[first / times % repetitions];
    most = std::max(most, sum);
  }
  return slowest;
}

std::vector<Row> evaluate(const Options& options, const std::vector<Measured>& measured) {
  std::vector<Row> rows;
  std::vector<double> direct_steps;
  std::vector<double> direct_cpu;
  std::vector<double> direct_open_close;
  for (const Measured& way : measured) {
    const std::vector<double> steps = gather(way.steps);
    const std::vector<double> cpu = gather(way.cpu);
    const std::vector<double> open_close = gather(way.open_close);
    if (rank != 0) continue;
    if (rows.empty()) {
      direct_steps = steps;
      direct_cpu = cpu;
      direct_open_close = open_close;
    }
    rows.push_back({way.name, program_times(options, steps), median(steps), median(open_close),
                    median_interval(ratios(steps, direct_steps)), median_interval(ratios(cpu, direct_cpu)),
                    median(ratios(open_close, direct_open_close))});
  }
  return rows;
}

// ---- Output

void print_table(const Options& options, const Case& what, const std::vector<Row>& rows) {
  std::printf("\nProgram %s, %s file in %s: %d processes, %d x %lld bytes written and read back, %d repetitions\n",
              what.program(), what.file(), what.directory.c_str(), ranks, options.times,
              static_cast<long long>(options.bytes), options.repetitions);
  std::printf("  %-7s %27s   %9s   %-25s   %-25s %12s\n", "", "program [ms]", "step [us]", "step / direct's",
              "its cpu time / direct's", "open + close");
  std::printf("  %-7s %9s %8s %8s   %9s   %-8s %-16s   %-8s %-16s %12s\n", "way", "median", "min", "max", "median",
              "median", "95 %", "median", "95 %", "[us] median");
  for (const Row& row : rows) {
    const auto [least, most] = std::minmax_element(row.program.begin(), row.program.end());
    std::printf("  %-7s %9.3f %8.3f %8.3f   %9.1f   %-8.4f [%.4f, %.4f]   %-8.4f [%.4f, %.4f] %12.1f\n",
                row.name.c_str(), 1e3 * median(row.program), 1e3 * *least, 1e3 * *most, 1e6 * row.step,
                row.ratio.middle, row.ratio.low, row.ratio.high, row.cpu_ratio.middle, row.cpu_ratio.low,
                row.cpu_ratio.high, 1e6 * row.open_close);
  }
  std::fflush(stdout);
}

std::string numbers(const std::vector<double>& values) {
  std::string text = "[";
  char one[32];
  for (const double value : values) {
    std::snprintf(one, sizeof one, "%s%.9g", text.size() > 1 ? ", " : "", value);
    text += one;
  }
  return text + "]";
}

std::string json_of(const Options& options, const Case& what, const std::vector<Row>& rows) {
  std::string text = std::string("    {\"program\": \"") + what.program() + "\", \"file\": \"" + what.file() +
                     "\", \"directory\": \"" + what.directory + "\", \"ranks\": " + std::to_string(ranks) +
                     ", \"bytes\": " + std::to_string(options.bytes) + ", \"times\": " + std::to_string(options.times) +
                     ", \"repetitions\": " + std::to_string(options.repetitions) + ", \"ways\": {";
  for (const Row& row : rows) {
    text += std::string(&row == &rows.front() ? "" : ",") + "\n      \"" + row.name +
            "\": {\"ratio\": " + numbers({row.ratio.low, row.ratio.middle, row.ratio.high}) +
            ", \"cpu_ratio\": " + numbers({row.cpu_ratio.low, row.cpu_ratio.middle, row.cpu_ratio.high}) +
            ", \"step_s\": " + numbers({row.step}) + ", \"open_close_s\": " + numbers({row.open_close}) +
            ", \"open_close_ratio\": " + numbers({row.open_close_ratio}) +
            ",\n        \"program_s\": " + numbers(row.program) + "}";
  }
  return text + "}}";
}

bool parse(int argc, char** argv, Options& options) {
  const auto number = [](const char* text, std::int64_t least, std::int64_t most) -> std::int64_t {
    char* end = nullptr;
    const long long value = std::strtoll(text, &end, 10);
    return *text != '\0' && *end == '\0' && value >= least && value <= most ? value : 0;
  };
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) return false;
    const char* const value = argv[i + 1];
    constexpr std::int64_t kMost = 1 << 30;
    bool known = true;
    if (name == "--dir")
      options.directories.emplace_back(value);
    else if (name == "--bytes")
      known = (options.bytes = number(value, 1, kMost)) > 0;
    else if (name == "--times")
      known = (options.times = static_cast<int>(number(value, 1, 1 << 20))) > 0;
    else if (name == "--repetitions")
      known = (options.repetitions = static_cast<int>(number(value, 1, 1 << 20))) > 0;
    else if (name == "--json")
      options.json = value;
    else
      known = false;
    if (!known) return false;
  }
  if (options.directories.empty()) options.directories = {"/dev/shm", "."};
  return true;
}

void run(const Options& options) {
  std::vector<NamedWay> ways = all_ways();
  std::string json;
  for (const std::string& directory : options.directories) {
    for (const bool common : {false, true}) {
      for (const bool fresh : {false, true}) {
        const Case what{directory, common, fresh};
        const std::vector<Row> rows = evaluate(options, Program(options, what, ways).measure());
        if (rank != 0) continue;
        print_table(options, what, rows);
        json += (json.empty() ? "" : ",\n") + json_of(options, what, rows);
      }
    }
  }
  if (rank != 0 || options.json.empty()) return;
  std::FILE* const file = std::fopen(options.json.c_str(), "w");
  if (file == nullptr) fail(options.json + ": " + std::strerror(errno));
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  std::string version(library, std::strcspn(library, ",\n"));
  std::replace(version.begin(), version.end(), '\t', ' ');
  std::fprintf(file, "{\"mpi\": \"%s\",\n  \"cases\": [\n%s\n  ]\n}\n", version.c_str(), json.c_str());
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options;
  const bool ok = parse(argc, argv, options);
  if (ok) {
    run(options);
  } else if (rank == 0) {
    std::fputs("usage: adio_overhead [--dir DIRECTORY]... [--bytes N] [--times N] [--repetitions N] [--json FILE]\n",
               stderr);
  }
  MPI_Finalize();
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
