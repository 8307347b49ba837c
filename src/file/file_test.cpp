// SPDX-License-Identifier: BSD-3-Clause
#include "file/file.hpp"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "comm/self_comm.hpp"
#include "comm/thread_comm.hpp"
#include "support/on_ranks.hpp"

namespace plenum {
namespace {

using test::on_ranks;

constexpr AccessMode kReadWrite = {.read = true, .write = true, .create = true};
constexpr AccessMode kRead = {.read = true};
constexpr AccessMode kWrite = {.write = true};

constexpr Position individual() { return {}; }
constexpr Position in_view(std::int64_t etypes) { return {Position::Kind::in_view, etypes}; }
constexpr Position absolute(std::int64_t bytes) { return {Position::Kind::absolute, bytes}; }

using OpenResult = Result<std::shared_ptr<File>>;

// A rank of a group that opens files: each opening takes a communicator of its own.
struct Rank {
  Comm& comm;  // for the test's own use
  std::vector<ThreadGroup>& openings;
  std::size_t used = 0;

  int rank() const { return comm.rank(); }
  int size() const { return comm.size(); }
  std::unique_ptr<Comm> join() { return openings.at(used++).join(comm.rank()); }
  void barrier() { ASSERT_TRUE(comm.barrier().wait().ok()); }
};

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string name = std::filesystem::temp_directory_path() / "plenum_file_XXXXXX";
    folder_ = mkdtemp(name.data()) != nullptr ? name : std::string();
    std::filesystem::permissions(folder_, std::filesystem::perms::all);
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "file") const { return folder_ + "/" + name; }

  std::string content(const std::string& name = "file") const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void make(const std::string& text, const std::string& name = "file") const {
    std::ofstream(path(name), std::ios::binary) << text;
  }

  bool exists(const std::string& name = "file") const { return std::filesystem::exists(path(name)); }

  // One process alone.
  OpenResult open(const AccessMode& mode, const Hints& hints = {}, const std::string& prefix = "") const {
    return File::open(std::make_unique<SelfComm>(), prefix + path(), mode, hints);
  }
  std::shared_ptr<File> opened(const AccessMode& mode = kReadWrite, const Hints& hints = {},
                               const std::string& prefix = "") const {
    OpenResult file = open(mode, hints, prefix);
    EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().detail);
    return file.ok() ? file.value() : nullptr;
  }

  // `body` on each rank.
  static void group(int ranks, const std::function<void(Rank&)>& body) {
    std::vector<ThreadGroup> openings;
    for (int i = 0; i < 8; ++i) openings.emplace_back(ranks, 2);
    on_ranks(ranks, [&](Comm& comm) {
      Rank rank{comm, openings};
      body(rank);
    });
  }

  // `operation` on each rank must fail with `code`, and with the same text everywhere. Returns that.
  static std::string agreed_failure(int ranks, Code code, const std::function<Status(Rank&)>& operation) {
    std::vector<std::string> texts(static_cast<std::size_t>(ranks));
    group(ranks, [&](Rank& rank) {
      const Status status = operation(rank);
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, code) << status.error().detail;
      texts[static_cast<std::size_t>(rank.rank())] = status.error().detail;
    });
    for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
    return texts[0];
  }

  // The same for opening path().
  std::string agreed_open_failure(
      int ranks, Code code, const std::function<Result<AccessMode>(int)>& mode,
      const std::function<Hints(int)>& hints = [](int) { return Hints(); }) const {
    return agreed_failure(ranks, code, [&](Rank& rank) -> Status {
      OpenResult file = File::open(rank.join(), path(), mode(rank.rank()), hints(rank.rank()));
      if (!file.ok()) return file.error();
      return {};
    });
  }

 private:
  std::string folder_;
};

void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().detail); }

template <class T>
void expect_error(const Result<T>& result, Code code, std::initializer_list<std::string> parts = {}) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().detail;
  for (const std::string& part : parts)
    EXPECT_NE(result.error().detail.find(part), std::string::npos) << part << " in: " << result.error().detail;
}

template <class T>
void expect_value(const Result<T>& result, const T& value) {
  ASSERT_TRUE(result.ok()) << result.error().detail;
  EXPECT_EQ(result.value(), value);
}

Memory memory_of(std::string& text) {
  Result<Memory> memory = Memory::of(text.data(), std::ssize(text), Layout::bytes(1));
  EXPECT_TRUE(memory.ok());
  return memory.value();
}

// By either of the two ways, which must not differ: texts of even length as bytes, others as described memory.
Result<std::int64_t> transfer(File& file, Direction direction, Position position, std::string& text) {
  if (text.size() % 2 != 0) return file.transfer(direction, position, memory_of(text));
  return file.transfer_bytes(direction, position, std::as_writable_bytes(std::span(text)));
}

Result<std::int64_t> write(File& file, Position position, std::string text) {
  return transfer(file, Direction::write, position, text);
}

// What a read of `size` bytes brings; unread bytes stay '?'.
std::string read(File& file, Position position, std::int64_t size) {
  std::string text(static_cast<std::size_t>(size), '?');
  const Result<std::int64_t> got = transfer(file, Direction::read, position, text);
  if (!got.ok()) return got.error().detail;
  EXPECT_EQ(got.value(), static_cast<std::int64_t>(text.find_last_not_of('?') + 1));
  return text;
}

// Every second pair of bytes: ab..cd..ef..
View view_of_pairs(std::int64_t displacement = 0) {
  return {displacement, Layout::bytes(2), Layout::bytes(2).resized(0, 4)};
}

Error no_memory() { return {Code::Buffer, "the buffer is a null pointer"}; }

// -- Opening

TEST_F(FileTest, only_a_mode_with_create_creates) {
  expect_error(open(kRead), Code::NotFound, {path(), "open", "rank 0", "No such file"});
  expect_error(open({.read = true, .write = true}), Code::NotFound);
  EXPECT_FALSE(exists());
  ASSERT_NE(opened(), nullptr);
  EXPECT_TRUE(exists());
  EXPECT_NE(opened(kRead), nullptr);
}

TEST_F(FileTest, exclusive_creation_succeeds_once_on_all_ranks) {
  constexpr AccessMode kNew = {.read = true, .write = true, .create = true, .exclusive = true};
  group(4, [&](Rank& rank) {
    OpenResult first = File::open(rank.join(), path(), kNew, {});
    ASSERT_TRUE(first.ok()) << first.error().detail;
    expect_ok(first.value()->close());
    const OpenResult second = File::open(rank.join(), path(), kNew, {});
    expect_error(second, Code::Exists, {path(), "open", "rank 0"});
  });
}

TEST_F(FileTest, an_existing_file_is_opened_as_it_is) {
  make("content");
  group(3, [&](Rank& rank) {
    OpenResult file = File::open(rank.join(), path(), kReadWrite, {});
    ASSERT_TRUE(file.ok());
    expect_value(file.value()->size(), std::int64_t{7});
    EXPECT_EQ(file.value()->position(), 0);
  });
  EXPECT_EQ(content(), "content");
}

TEST_F(FileTest, what_is_not_a_file_cannot_be_opened) {
  make("");
  const auto open_at = [&](const std::string& name, const AccessMode& mode) {
    return File::open(std::make_unique<SelfComm>(), name, mode, {});
  };
  expect_error(open_at(path("."), kRead), Code::IsDirectory);
  expect_error(open_at(path("."), kReadWrite), Code::IsDirectory);
  expect_error(open_at(path("file/below"), kReadWrite), Code::NotFound, {"Not a directory"});
  expect_error(open_at(path("missing/below"), kReadWrite), Code::NotFound);
  expect_error(open_at("nothing:" + path(), kRead), Code::BadName, {"nothing"});
  expect_error(open_at(path(std::string(5000, 'x')), kReadWrite), Code::BadName);
}

TEST_F(FileTest, no_permission_on_one_rank_is_an_error_on_all) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else for a moment";
  make("secret");
  chmod(path().c_str(), 0600);
  const std::string text = agreed_failure(3, Code::Access, [&](Rank& rank) -> Status {
    // Of this thread alone.
    if (rank.rank() == 2) setfsuid(65534);
    const OpenResult file = File::open(rank.join(), path(), AccessMode{.read = true, .write = true}, {});
    if (rank.rank() == 2) setfsuid(0);
    if (!file.ok()) return file.error();
    return {};
  });
  EXPECT_NE(text.find("rank 2: "), std::string::npos) << text;
  EXPECT_EQ(content(), "secret");
}

TEST_F(FileTest, a_file_system_without_writing_is_read_only) {
  const char* const kName = "/sys/kernel/uevent_seqnum";
  if (::access(kName, W_OK) == 0 || errno != EROFS) GTEST_SKIP() << "no read-only file system here";
  expect_error(File::open(std::make_unique<SelfComm>(), kName, kReadWrite, {}), Code::ReadOnly);
}

TEST_F(FileTest, modes_that_make_no_sense_are_refused) {
  make("");
  for (const AccessMode& mode :
       {AccessMode{}, AccessMode{.read = true, .create = true}, AccessMode{.read = true, .exclusive = true},
        AccessMode{.read = true, .write = true, .sequential = true}}) {
    expect_error(open(mode), Code::BadMode, {path(), "open", "rank 0"});
  }
  EXPECT_NE(opened({.write = true, .exclusive = true}), nullptr);
  EXPECT_NE(opened({.read = true, .sequential = true}), nullptr);
}

TEST_F(FileTest, a_mode_that_differs_is_reported_everywhere_with_both_values) {
  make("");
  for (int odd = 0; odd < 3; ++odd) {
    const std::string text = agreed_open_failure(3, Code::NotSame, [&](int rank) -> Result<AccessMode> {
      return rank == odd ? kRead : AccessMode{.read = true, .write = true};
    });
    EXPECT_NE(
        text.find(odd == 0 ? "mode=read|write, but access mode=read on" : "mode=read, but access mode=read|write on"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find(odd == 0 ? "rank 1: " : "rank " + std::to_string(odd) + ": "), std::string::npos) << text;
  }
}

TEST_F(FileTest, a_hint_that_differs_is_reported_everywhere_with_both_values) {
  const auto mode = [](int) { return Result<AccessMode>(kReadWrite); };
  std::string text = agreed_open_failure(4, Code::NotSame, mode, [](int rank) {
    Hints hints;
    hints.cb_nodes = rank == 3 ? 3 : 2;
    return hints;
  });
  EXPECT_NE(text.find("rank 3: cb_nodes=3, but cb_nodes=2 on rank 0"), std::string::npos) << text;
  text = agreed_open_failure(2, Code::NotSame, mode, [](int rank) {
    Hints hints;
    if (rank == 1) hints.file_permissions = 0600;
    return hints;
  });
  EXPECT_NE(text.find("rank 1: file_perm=600, but file_perm not set on rank 0"), std::string::npos) << text;
  EXPECT_FALSE(exists());
}

TEST_F(FileTest, a_device_that_differs_is_noticed) {
  const std::string text = agreed_failure(2, Code::NotSame, [&](Rank& rank) -> Status {
    // The text names the file, which must be the same for that to be.
    const OpenResult file = File::open(rank.join(), (rank.rank() == 0 ? "posix:" : "null:") + path(), kReadWrite, {});
    if (file.ok()) return {};
    return Error{file.error().code, file.error().detail.substr(file.error().detail.find("open"))};
  });
  EXPECT_NE(text.find("device=null, but device=posix on rank 0"), std::string::npos) << text;
}

TEST_F(FileTest, an_error_of_the_caller_on_one_rank_is_an_error_on_all) {
  const std::string text = agreed_open_failure(3, Code::InfoValue, [](int rank) -> Result<AccessMode> {
    if (rank == 1) return Error{Code::InfoValue, "hint no good"};
    return kReadWrite;
  });
  EXPECT_EQ(text, path() + ": open: rank 1: hint no good");
  EXPECT_FALSE(exists());
}

TEST_F(FileTest, an_unknown_strategy_is_refused) {
  Hints hints;
  hints.strategy = "wishful";
  expect_error(open(kReadWrite, hints), Code::InfoValue, {"plenum_strategy=wishful"});
}

TEST_F(FileTest, file_permissions_come_from_the_hint) {
  Hints hints;
  hints.file_permissions = 0640;
  ASSERT_NE(opened(kReadWrite, hints), nullptr);
  struct stat status = {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(status.st_mode & 0777, 0640u & ~mask);
}

TEST_F(FileTest, append_begins_at_the_end_on_every_rank) {
  make("12345");
  group(3, [&](Rank& rank) {
    AccessMode mode = kReadWrite;
    mode.append = true;
    OpenResult file = File::open(rank.join(), path(), mode, {});
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file.value()->position(), 5);
    rank.barrier();
    if (rank.rank() == 1) expect_value(write(*file.value(), individual(), "67"), std::int64_t{2});
  });
  EXPECT_EQ(content(), "1234567");
}

// -- Closing and removing

TEST_F(FileTest, closing_removes_the_file_if_the_mode_says_so) {
  for (const bool remove : {false, true}) {
    group(3, [&](Rank& rank) {
      AccessMode mode = kReadWrite;
      mode.delete_on_close = remove;
      OpenResult file = File::open(rank.join(), path(), mode, {});
      ASSERT_TRUE(file.ok());
      rank.barrier();
      EXPECT_TRUE(exists());
      rank.barrier();
      expect_ok(file.value()->close());
      EXPECT_EQ(exists(), !remove);
    });
  }
}

TEST_F(FileTest, a_file_that_cannot_be_removed_is_an_error_on_all_ranks) {
  const std::string text = agreed_failure(3, Code::NotFound, [&](Rank& rank) -> Status {
    AccessMode mode = kReadWrite;
    mode.delete_on_close = true;
    OpenResult file = File::open(rank.join(), path(), mode, {});
    if (!file.ok()) return file.error();
    rank.barrier();
    if (rank.rank() == 1) std::filesystem::remove(path());
    rank.barrier();
    return file.value()->close();
  });
  EXPECT_NE(text.find(": close: rank 0: "), std::string::npos) << text;
}

TEST_F(FileTest, what_closing_reveals_on_one_rank_is_an_error_on_all) {
  const std::string text = agreed_failure(3, Code::Quota, [&](Rank& rank) -> Status {
    Hints hints;
    hints.fault = "op=close,error=EDQUOT";
    OpenResult file = File::open(rank.join(), "faulty:" + path(), kReadWrite, hints);
    if (!file.ok()) return file.error();
    return file.value()->close();
  });
  EXPECT_NE(text.find(": close: rank 0: "), std::string::npos) << text;
}

TEST_F(FileTest, bytes_go_where_described_memory_goes) {
  const std::shared_ptr<File> file = opened();
  const View views[] = {{}, {3, Layout::bytes(2), Layout::bytes(4)}, view_of_pairs(5)};
  for (const View& view : views) {
    expect_ok(file->set_view(view));
    for (const auto kind : {Position::Kind::in_view, Position::Kind::individual, Position::Kind::absolute}) {
      for (const std::int64_t offset : {0, 7}) {
        expect_ok(file->resize(0));
        expect_ok(file->seek(offset, Whence::set));
        expect_value(write(*file, {kind, offset}, "abcdefgh"), std::int64_t{8});
        const std::string as_bytes = content();
        const std::int64_t pointer = file->position();
        expect_ok(file->resize(0));
        expect_ok(file->seek(offset, Whence::set));
        std::string text = "abcdefgh";
        expect_value(file->transfer(Direction::write, {kind, offset}, memory_of(text)), std::int64_t{8});
        EXPECT_EQ(as_bytes, content());
        EXPECT_EQ(pointer, file->position());
      }
    }
  }
  expect_error(write(*file, {Position::Kind::in_view, -1}, "ab"), Code::Argument, {path()});
  expect_error(file->transfer_bytes(Direction::write, {}, Bytes(static_cast<std::byte*>(nullptr), 2)), Code::Buffer);
}

TEST_F(FileTest, a_closed_file_answers_with_an_error) {
  const auto file = opened();
  expect_ok(file->close());
  expect_error(write(*file, individual(), "x"), Code::BadHandle, {path()});
  expect_error(file->size(), Code::BadHandle);
  expect_error(file->seek(0, Whence::end), Code::BadHandle);
  expect_error(file->close_alone(), Code::BadHandle);
}

TEST_F(FileTest, one_rank_can_close_alone) {
  group(2, [&](Rank& rank) {
    AccessMode mode = kReadWrite;
    mode.delete_on_close = true;
    OpenResult file = File::open(rank.join(), path(), mode, {});
    ASSERT_TRUE(file.ok());
    rank.barrier();
    if (rank.rank() == 1) expect_ok(file.value()->close_alone());
    EXPECT_TRUE(exists());
    rank.barrier();
    if (rank.rank() == 0) expect_ok(file.value()->close_alone());
  });
  EXPECT_FALSE(exists());
}

TEST_F(FileTest, remove_takes_prefixes_and_names_the_file_in_errors) {
  make("x");
  expect_ok(File::remove("posix:" + path(), {}));
  EXPECT_FALSE(exists());
  expect_error(File::remove(path(), {}), Code::NotFound, {path(), "delete"});
  expect_error(File::remove("nothing:" + path(), {}), Code::BadName, {"delete"});
}

// -- Views

TEST_F(FileTest, views_that_the_standard_forbids_are_refused) {
  const auto file = opened();
  const Layout two = Layout::bytes(2);
  const auto refused = [&](View view, Code code, const std::string& why) {
    expect_ok(file->set_view(View{7, Layout::bytes(1), Layout::bytes(1)}));
    expect_error(file->set_view(std::move(view)), code, {path(), "set_view", "rank 0", why});
    EXPECT_EQ(file->view().displacement, 7);  // the one before stays
  };
  refused({-1, two, two}, Code::Argument, "-1 is negative");
  refused({std::numeric_limits<std::int64_t>::max(), two, two}, Code::TooLarge, "displacement");
  refused({0, two, Layout::bytes(3)}, Code::Type, "3 bytes are no whole number of etypes of 2");
  refused({0, Layout(), two}, Code::Type, "etype has no bytes");
  refused({0, two, Layout::repeat(2, -2, two)}, Code::Type, "");
  const std::int64_t backwards[] = {4, 0};
  refused({0, two, Layout::indexed_block(1, backwards, two)}, Code::Type, "goes backwards");
  const std::int64_t negative[] = {-4, 0};
  refused({0, two, Layout::indexed_block(1, negative, two)}, Code::Type, "negative displacement");
  refused({0, two, Layout::repeat(2, 1, two)}, Code::Type, "overlaps itself");
  refused({0, two, two.resized(0, 0)}, Code::Type, "extent is not positive");
}

TEST_F(FileTest, a_filetype_may_overlap_itself_where_nothing_is_written) {
  make("abcdef");
  const auto file = opened(kRead);
  expect_ok(file->set_view(View{0, Layout::bytes(1), Layout::repeat(3, 1, Layout::bytes(2))}));
  EXPECT_EQ(read(*file, individual(), 8), "abbccdef");
}

TEST_F(FileTest, etypes_must_have_one_extent_and_errors_of_one_rank_are_everybodys) {
  make("");
  const auto set = [&](const std::function<Result<View>(int)>& view) {
    return [&, view](Rank& rank) -> Status {
      OpenResult file = File::open(rank.join(), path(), kReadWrite, {});
      if (!file.ok()) return file.error();
      return file.value()->set_view(view(rank.rank()));
    };
  };
  std::string text = agreed_failure(3, Code::NotSame, set([](int rank) -> Result<View> {
                                      const Layout etype = Layout::bytes(rank == 2 ? 8 : 4);
                                      return View{0, etype, etype};
                                    }));
  EXPECT_NE(text.find("rank 2: extent of the etype=8, but extent of the etype=4 on rank 0"), std::string::npos) << text;
  text = agreed_failure(3, Code::Type, set([](int rank) -> Result<View> {
                          if (rank == 1) return Error{Code::Type, "not committed"};
                          return View{};
                        }));
  EXPECT_EQ(text, path() + ": set_view: rank 1: not committed");
}

TEST_F(FileTest, a_view_without_bytes_takes_part_with_nothing) {
  const auto file = opened();
  expect_ok(file->set_view(View{0, Layout::bytes(1), Layout()}));
  std::string text;
  expect_value(file->transfer_all(Direction::write, individual(), memory_of(text)), std::int64_t{0});
  expect_error(write(*file, individual(), "x"), Code::Type, {"no bytes"});
  expect_ok(file->seek(0, Whence::end));
  EXPECT_EQ(file->position(), 0);
}

TEST_F(FileTest, each_rank_writes_its_part_of_one_pattern) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    std::filesystem::remove(path());
    group(ranks, [&](Rank& rank) {
      OpenResult file = File::open(rank.join(), path(), kReadWrite, {});
      ASSERT_TRUE(file.ok());
      const Layout mine = Layout::bytes(3).resized(0, 3 * rank.size());
      expect_ok(file.value()->set_view(View{2 + 3 * rank.rank(), Layout::bytes(3), mine}));
      std::string text;
      for (char block = 'a'; block < 'k'; ++block) text += std::string(2, block) + static_cast<char>('0' + rank.rank());
      expect_value(file.value()->transfer_all(Direction::write, individual(), memory_of(text)), std::int64_t{30});
      EXPECT_EQ(file.value()->position(), 10);
      expect_ok(file.value()->close());
    });
    std::string expected(2, '\0');
    for (char block = 'a'; block < 'k'; ++block) {
      for (int rank = 0; rank < ranks; ++rank) expected += std::string(2, block) + static_cast<char>('0' + rank);
    }
    EXPECT_EQ(content(), expected);
  }
}

// -- Pointers and positions

TEST_F(FileTest, the_pointer_moves_by_what_was_asked_for) {
  make("abcdefghij");
  const auto file = opened();
  expect_ok(file->set_view(view_of_pairs()));
  EXPECT_EQ(read(*file, individual(), 4), "abef");
  EXPECT_EQ(file->position(), 2);
  EXPECT_EQ(read(*file, individual(), 6), "ij????");  // also beyond the end
  EXPECT_EQ(file->position(), 5);
  EXPECT_EQ(read(*file, in_view(0), 2), "ab");
  EXPECT_EQ(read(*file, absolute(1), 3), "bcd");
  EXPECT_EQ(file->position(), 5);
  expect_ok(file->set_view(View{}));
  EXPECT_EQ(file->position(), 0);
}

TEST_F(FileTest, seek_counts_etypes_from_everywhere) {
  make("abcdefghij");
  const auto file = opened();
  expect_ok(file->set_view(view_of_pairs(1)));
  expect_ok(file->seek(2, Whence::set));
  EXPECT_EQ(file->position(), 2);
  expect_ok(file->seek(-1, Whence::current));
  EXPECT_EQ(file->position(), 1);
  expect_ok(file->seek(5, Whence::current));
  EXPECT_EQ(file->position(), 6);
  expect_error(file->seek(-7, Whence::current), Code::Argument, {path(), "seek", "rank 0", "-7"});
  expect_error(file->seek(std::numeric_limits<std::int64_t>::max(), Whence::current), Code::Argument);
  EXPECT_EQ(file->position(), 6);
}

TEST_F(FileTest, the_end_of_a_view_with_holes_is_the_first_etype_beyond_the_file) {
  const auto file = opened();
  expect_ok(file->set_view(view_of_pairs(1)));  // pairs at 1, 5, 9, ...
  const std::pair<std::int64_t, std::int64_t> ends[] = {{0, 0}, {1, 0}, {2, 1}, {3, 1}, {5, 1},
                                                        {6, 2}, {7, 2}, {9, 2}, {10, 3}};
  for (const auto& [size, etypes] : ends) {
    expect_ok(file->resize(size));
    expect_ok(file->seek(0, Whence::end));
    EXPECT_EQ(file->position(), etypes) << size;
    expect_ok(file->seek(3, Whence::end));
    EXPECT_EQ(file->position(), etypes + 3) << size;
  }
}

TEST_F(FileTest, the_end_of_a_view_whose_tiles_interleave_is_found) {
  make("0123456");
  const auto file = opened(kRead);
  const std::int64_t places[] = {0, 5};
  // Tile k has bytes 2k and 2k + 5; the first one beyond byte 6 is that of tile 1.
  expect_ok(
      file->set_view(View{0, Layout::bytes(1), Layout::indexed_block(1, places, Layout::bytes(1)).resized(0, 2)}));
  expect_ok(file->seek(0, Whence::end));
  EXPECT_EQ(file->position(), 3);
  EXPECT_EQ(read(*file, in_view(0), 3), "052");
}

TEST_F(FileTest, byte_offsets_follow_the_view) {
  const auto file = opened();
  expect_ok(file->set_view(view_of_pairs(3)));
  expect_value(file->byte_offset(0), std::int64_t{3});
  expect_value(file->byte_offset(5), std::int64_t{23});
  expect_error(file->byte_offset(-1), Code::Argument, {path(), "rank 0"});
  expect_error(file->byte_offset(std::numeric_limits<std::int64_t>::max()), Code::TooLarge);
}

TEST_F(FileTest, threads_of_one_process_share_the_pointer_without_overlap) {
  const auto file = opened();
  constexpr int kThreads = 4;
  constexpr int kWrites = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kWrites; ++i)
        EXPECT_TRUE(write(*file, individual(), std::string(3, static_cast<char>('a' + t))).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(file->position(), 3 * kThreads * kWrites);
  const std::string text = content();
  ASSERT_EQ(text.size(), 3u * kThreads * kWrites);
  for (std::size_t i = 0; i < text.size(); i += 3) EXPECT_EQ(text.substr(i, 3), std::string(3, text[i]));
  for (int t = 0; t < kThreads; ++t) EXPECT_EQ(std::count(text.begin(), text.end(), 'a' + t), 3 * kWrites);
}

// -- Data access

TEST_F(FileTest, reads_stop_at_the_end_of_the_file_and_leave_the_rest_of_memory_alone) {
  make("abcdef");
  for (const char* strategy : {"", "direct", "sieve", "funnel", "two_phase"}) {
    group(3, [&](Rank& rank) {
      Hints hints;
      hints.strategy = strategy;
      OpenResult opened = File::open(rank.join(), path(), kRead, hints);
      ASSERT_TRUE(opened.ok());
      File& file = *opened.value();
      EXPECT_EQ(read(file, in_view(4), 4), "ef??");
      EXPECT_EQ(read(file, in_view(6), 4), "????");
      EXPECT_EQ(read(file, in_view(600), 4), "????");
      // Ranks begin at 1, 4 and 7.
      std::string text = "????";
      const std::int64_t at = 1 + 3 * rank.rank();
      const std::int64_t there = std::clamp<std::int64_t>(6 - at, 0, 4);
      expect_value(file.transfer_all(Direction::read, in_view(at), memory_of(text)), there);
      EXPECT_EQ(text, std::string("abcdef??????").substr(static_cast<std::size_t>(at), 4));
    });
  }
}

TEST_F(FileTest, accesses_that_the_mode_or_the_view_forbids_are_refused) {
  make("abcdef");
  std::string text = "xyz";
  const auto reader = opened(kRead);
  expect_error(write(*reader, individual(), "x"), Code::ReadOnly, {path(), "write", "rank 0"});
  const auto writer = opened(kWrite);
  expect_error(writer->transfer(Direction::read, individual(), memory_of(text)), Code::Access,
               {path(), "read", "rank 0"});
  expect_error(writer->start(Direction::read, individual(), memory_of(text)), Code::Access);
  expect_error(writer->start_all(Direction::read, individual(), memory_of(text))->wait(), Code::Access,
               {path(), "read"});
  const auto both = opened();
  expect_error(write(*both, in_view(-1), "x"), Code::Argument, {"-1"});
  expect_error(write(*both, absolute(-1), "x"), Code::Argument, {"-1"});
  expect_error(write(*both, in_view(std::numeric_limits<std::int64_t>::max()), "x"), Code::TooLarge);
  expect_ok(both->set_view(view_of_pairs()));
  expect_error(write(*both, individual(), "x"), Code::Type, {"1 bytes", "etypes of 2"});
  expect_error(write(*both, in_view(std::int64_t{1} << 62), "xx"), Code::TooLarge);
  EXPECT_EQ(both->position(), 0);
  const auto sequential = opened({.write = true, .sequential = true});
  expect_error(write(*sequential, individual(), "x"), Code::Unsupported);
  expect_error(sequential->seek(0, Whence::set), Code::Unsupported);
  expect_error(sequential->resize(0), Code::Unsupported);
  EXPECT_EQ(content(), "abcdef");
}

TEST_F(FileTest, memory_is_checked) {
  std::string text = "abcd";
  expect_error(Memory::of(text.data(), -1, Layout::bytes(1)), Code::Count, {"-1"});
  expect_error(Memory::of(nullptr, 1, Layout::bytes(1)), Code::Buffer);
  EXPECT_TRUE(Memory::of(nullptr, 0, Layout::bytes(1)).ok());
  EXPECT_TRUE(Memory::of(nullptr, 7, Layout()).ok());
  expect_error(Memory::of(text.data(), std::int64_t{1} << 61, Layout::bytes(8)), Code::TooLarge);
  // Placed absolutely, as with MPI_BOTTOM.
  const auto address = reinterpret_cast<std::int64_t>(text.data());
  const Result<Memory> bottom =
      Memory::of(nullptr, 1, Layout::join(std::span(&address, 1), std::vector{Layout::bytes(4)}));
  ASSERT_TRUE(bottom.ok());
  expect_value(opened()->transfer(Direction::write, individual(), bottom.value()), std::int64_t{4});
  EXPECT_EQ(content(), "abcd");
}

TEST_F(FileTest, noncontiguous_memory_goes_to_a_noncontiguous_view) {
  const auto file = opened();
  expect_ok(file->set_view(view_of_pairs(1)));
  std::string text = "a.b.c.d.";
  const Result<Memory> memory = Memory::of(text.data(), 4, Layout::bytes(1).resized(0, 2));
  ASSERT_TRUE(memory.ok());
  expect_value(file->transfer(Direction::write, individual(), memory.value()), std::int64_t{4});
  EXPECT_EQ(content(), std::string("\0ab\0\0cd", 7));
  std::string back = "........";
  const Result<Memory> there = Memory::of(back.data(), 4, Layout::bytes(1).resized(0, 2));
  expect_value(file->transfer(Direction::read, in_view(0), there.value()), std::int64_t{4});
  EXPECT_EQ(back, text);
}

TEST_F(FileTest, a_bad_argument_on_one_rank_fails_the_collective_access_and_moves_nothing) {
  make("......");
  for (const bool atomic : {false, true}) {
    for (const bool nonblocking : {false, true}) {
      const std::string text = agreed_failure(3, Code::Buffer, [&](Rank& rank) -> Status {
        OpenResult file = File::open(rank.join(), path(), kReadWrite, {});
        if (!file.ok()) return file.error();
        expect_ok(file.value()->set_atomic(atomic));
        std::string mine = "xy";
        Result<Memory> memory = memory_of(mine);
        if (rank.rank() == 1) memory = no_memory();
        const Position position = in_view(2 * rank.rank());
        const Result<std::int64_t> moved =
            nonblocking ? file.value()->start_all(Direction::write, position, std::move(memory))->wait()
                        : file.value()->transfer_all(Direction::write, position, std::move(memory));
        // The file is as good as before.
        expect_ok(file.value()->sync());
        if (!moved.ok()) return moved.error();
        return {};
      });
      EXPECT_EQ(text, path() + ": collective write: rank 1: the buffer is a null pointer");
      EXPECT_EQ(content(), "......");
    }
  }
}

TEST_F(FileTest, a_device_that_fails_on_one_rank_fails_the_collective_access) {
  for (const bool atomic : {false, true}) {
    const std::string text = agreed_failure(3, Code::NoSpace, [&](Rank& rank) -> Status {
      Hints hints;
      hints.fault = "op=write,nth=1,error=ENOSPC";
      hints.strategy = "direct";
      OpenResult file = File::open(rank.join(), "faulty:" + path(), kReadWrite, hints);
      if (!file.ok()) return file.error();
      expect_ok(file.value()->set_atomic(atomic));
      std::string mine = rank.rank() == 2 ? "xy" : "";
      const auto moved = file.value()->transfer_all(Direction::write, in_view(0), memory_of(mine));
      if (!moved.ok()) return moved.error();
      return {};
    });
    EXPECT_TRUE(text.starts_with("faulty:" + path() + ": collective write: rank 2: ")) << text;
  }
}

// Every n-th call of the device fails. Nobody may hang, all ranks must see the same outcome of a collective call, and
// what succeeded must have been done.
TEST_F(FileTest, no_failure_of_the_device_hangs_or_gets_lost) {
  constexpr int kRanks = 3;
  for (int every = 1; every <= 20; ++every) {
    for (const char* strategy : {"direct", "funnel", "two_phase", ""}) {
      std::filesystem::remove(path());
      group(kRanks, [&](Rank& rank) {
        Hints hints;
        hints.fault = "op=any,every=" + std::to_string(every) + ",error=EIO";
        hints.strategy = strategy;
        const auto all_ok = [&](const auto& result) {
          std::int64_t oks[] = {result.ok() ? 1 : 0, result.ok() ? -1 : 0};
          EXPECT_TRUE(rank.comm.allreduce(oks, Reduction::min).wait().ok());
          EXPECT_TRUE(oks[0] == 1 || oks[1] == 0) << "every " << every << " " << strategy;
          if (!result.ok()) expect_error(result, Code::Io);
          return oks[0] == 1;
        };
        OpenResult opened = File::open(rank.join(), "faulty:" + path(), kReadWrite, hints);
        if (!all_ok(opened)) return;
        File& file = *opened.value();
        for (char round = 'a'; round < 'g'; ++round) {
          std::string text(5, static_cast<char>(round + 10 * rank.rank()));
          const bool written = all_ok(file.transfer_all(Direction::write, in_view(5 * rank.rank()), memory_of(text)));
          std::string next(5, '?');
          const Position theirs = in_view(5 * ((rank.rank() + 1) % kRanks));
          const auto request = file.start_all(Direction::read, theirs, memory_of(next));
          if (all_ok(request->wait()) && written) {
            EXPECT_EQ(next, std::string(5, static_cast<char>(round + 10 * ((rank.rank() + 1) % kRanks))));
          }
          const bool grown = all_ok(file.resize(15 + round - 'a'));
          rank.barrier();
          EXPECT_TRUE(!grown || std::ssize(content()) == 15 + round - 'a') << "every " << every;
          rank.barrier();
          all_ok(file.sync());
        }
        all_ok(file.close());
      });
    }
  }
}

TEST_F(FileTest, an_independent_failure_says_where_and_who) {
  Hints hints;
  hints.fault = "op=write,error=EIO";
  const auto file = opened(kReadWrite, hints, "faulty:");
  expect_error(write(*file, in_view(12), "abc"), Code::Io, {path(), "write of 3 bytes at byte 12", "rank 0: "});
}

// -- Sizes, sync, atomicity

TEST_F(FileTest, sizes_are_set_by_all_together) {
  make("abcdef");
  group(3, [&](Rank& rank) {
    OpenResult file = File::open(rank.join(), path(), kReadWrite, {});
    ASSERT_TRUE(file.ok());
    expect_ok(file.value()->resize(4));
    expect_value(file.value()->size(), std::int64_t{4});
    expect_ok(file.value()->reserve(2));
    expect_value(file.value()->size(), std::int64_t{4});
    expect_ok(file.value()->reserve(8));
    expect_value(file.value()->size(), std::int64_t{8});
    expect_ok(file.value()->resize(9));
  });
  EXPECT_EQ(content(), std::string("abcd\0\0\0\0\0", 9));
}

TEST_F(FileTest, sizes_that_differ_or_cannot_be_are_errors_on_all_ranks) {
  make("abcdef");
  const auto with_file = [&](const AccessMode& mode, const std::function<Status(File&, int)>& body) {
    return [&, mode, body](Rank& rank) -> Status {
      OpenResult file = File::open(rank.join(), path(), mode, {});
      if (!file.ok()) return file.error();
      return body(*file.value(), rank.rank());
    };
  };
  constexpr AccessMode kBoth = {.read = true, .write = true};
  std::string text = agreed_failure(
      3, Code::NotSame, with_file(kBoth, [](File& file, int rank) { return file.reserve(rank == 1 ? 10 : 20); }));
  EXPECT_NE(text.find("rank 1: size=10, but size=20 on rank 0"), std::string::npos) << text;
  text = agreed_failure(3, Code::Argument,
                        with_file(kBoth, [](File& file, int rank) { return file.resize(rank == 2 ? -1 : 0); }));
  EXPECT_NE(text.find("rank 2: size -1 is negative"), std::string::npos) << text;
  text = agreed_failure(2, Code::ReadOnly, with_file(kRead, [](File& file, int) { return file.resize(0); }));
  EXPECT_NE(text.find(path() + ": set_size"), std::string::npos) << text;
  EXPECT_EQ(content(), "abcdef");
}

TEST_F(FileTest, sync_reports_on_all_ranks_and_only_what_was_written) {
  group(3, [&](Rank& rank) {
    Hints hints;
    hints.fault = "op=sync,error=EIO";
    OpenResult opened = File::open(rank.join(), "faulty:" + path(), kReadWrite, hints);
    ASSERT_TRUE(opened.ok());
    File& file = *opened.value();
    expect_ok(file.sync());  // nothing to do yet
    if (rank.rank() == 1) expect_value(write(file, in_view(0), "x"), std::int64_t{1});
    expect_error(file.sync(), Code::Io, {path(), "sync", "rank 1: "});
    expect_error(file.sync(), Code::Io);  // what is not durable stays so
    if (rank.rank() == 1) {
      expect_error(file.flush(), Code::Io, {"flush", "rank 1: "});
    } else {
      expect_ok(file.flush());
    }
  });
}

TEST_F(FileTest, a_new_size_is_made_durable_too) {
  Hints hints;
  hints.fault = "op=sync,error=EIO";
  const auto file = opened(kReadWrite, hints, "faulty:");
  expect_ok(file->resize(10));
  expect_error(file->sync(), Code::Io);
}

TEST_F(FileTest, atomic_mode_needs_all_ranks_and_locks) {
  const std::string text = agreed_failure(2, Code::NotSame, [&](Rank& rank) -> Status {
    OpenResult file = File::open(rank.join(), path(), kReadWrite, {});
    if (!file.ok()) return file.error();
    const Status status = file.value()->set_atomic(rank.rank() == 1);
    EXPECT_FALSE(file.value()->atomic());
    return status;
  });
  EXPECT_NE(text.find("rank 1: atomicity flag=true, but atomicity flag=false on rank 0"), std::string::npos) << text;
  const auto file = opened(kReadWrite, {}, "null:");
  expect_error(file->set_atomic(true), Code::Unsupported, {"null"});
  expect_ok(file->set_atomic(false));
}

// Writers fill overlapping combs with a letter of their own each; nobody may ever see two letters.
TEST_F(FileTest, atomic_accesses_are_all_or_nothing) {
  constexpr int kRanks = 4;
  constexpr std::int64_t kTeeth = 50;
  make(std::string(4 * kTeeth, '-'));
  group(kRanks, [&](Rank& rank) {
    OpenResult opened = File::open(rank.join(), path(), kReadWrite, {});
    ASSERT_TRUE(opened.ok());
    File& file = *opened.value();
    expect_ok(file.set_view(view_of_pairs()));
    expect_ok(file.set_atomic(true));
    const auto one_thread = [&](char letter) {
      for (int i = 0; i < 30; ++i) {
        EXPECT_TRUE(write(file, in_view(0), std::string(2 * kTeeth, letter)).ok());
        std::string seen(2 * kTeeth, '?');
        EXPECT_TRUE(file.transfer(Direction::read, in_view(0), memory_of(seen)).ok());
        EXPECT_EQ(seen, std::string(seen.size(), seen[0]));
      }
    };
    std::thread other(one_thread, static_cast<char>('A' + rank.rank()));
    one_thread(static_cast<char>('a' + rank.rank()));
    other.join();
    std::string mine(2 * kTeeth, static_cast<char>('0' + rank.rank()));
    expect_value(file.transfer_all(Direction::write, in_view(0), memory_of(mine)), 2 * kTeeth);
    std::string seen(2 * kTeeth, '?');
    expect_value(file.transfer_all(Direction::read, in_view(0), memory_of(seen)), 2 * kTeeth);
    EXPECT_EQ(seen, std::string(seen.size(), seen[0]));
  });
  const std::string text = content();
  for (std::size_t i = 0; i < text.size(); ++i) EXPECT_EQ(text[i], i % 4 < 2 ? text[0] : '-');
}

// -- Hints, info, report

TEST_F(FileTest, hints_may_change_but_not_where_the_file_is) {
  group(3, [&](Rank& rank) {
    OpenResult opened = File::open(rank.join(), path(), kReadWrite, {});
    ASSERT_TRUE(opened.ok());
    File& file = *opened.value();
    Hints hints;
    hints.cb_nodes = 2;
    hints.device = "null";
    hints.striping_unit = 12345;
    expect_ok(file.set_hints(hints));
    EXPECT_EQ(file.hints().cb_nodes, 2);
    EXPECT_EQ(file.hints().device, "");
    EXPECT_EQ(file.hints().striping_unit, 0);
    hints.cb_nodes = rank.rank() == 2 ? 1 : 2;
    expect_error(file.set_hints(hints), Code::NotSame, {path(), "rank 2: cb_nodes=1, but cb_nodes=2 on rank 0"});
    EXPECT_EQ(file.hints().cb_nodes, 2);
    hints = {};
    hints.strategy = "wishful";
    expect_error(file.set_hints(hints), Code::InfoValue);
  });
}

std::map<std::string, std::string> info_of(const File& file) {
  const auto pairs = file.info();
  const std::map<std::string, std::string> info(pairs.begin(), pairs.end());
  EXPECT_EQ(info.size(), pairs.size()) << "a key stands there twice";
  return info;
}

TEST_F(FileTest, info_says_what_is_in_effect) {
  Hints hints;
  hints.cb_buffer_size = 4711;
  const auto file = opened(kReadWrite, hints);
  auto info = info_of(*file);
  EXPECT_EQ(info["cb_buffer_size"], "4711");
  EXPECT_EQ(info["plenum_device"], "posix");
  EXPECT_EQ(info["filename"], path());
  EXPECT_FALSE(info["plenum_file_system"].empty());
  EXPECT_EQ(info["romio_filesystem_type"], info["plenum_file_system"]);
  EXPECT_FALSE(info.contains("plenum_strategies"));
  expect_ok(file->set_hints({}));
  write(*file, individual(), "abc").ok();
  info = info_of(*file);
  EXPECT_EQ(info["cb_buffer_size"], std::to_string(Hints().cb_buffer_size));
  EXPECT_EQ(info["filename"], path());
  EXPECT_TRUE(info["plenum_strategies"].starts_with("write direct (")) << info["plenum_strategies"];
}

TEST_F(FileTest, the_report_sums_over_ranks) {
  for (int opening = 0; opening < 2; ++opening) {
    group(4, [&](Rank& rank) {
      Hints hints;
      hints.report = path("report");
      hints.strategy = "two_phase";
      OpenResult opened = File::open(rank.join(), path(), kReadWrite, hints);
      ASSERT_TRUE(opened.ok());
      File& file = *opened.value();
      std::string text(10, 'x');
      for (int i = 0; i < 3; ++i)
        expect_value(file.transfer_all(Direction::write, in_view(10 * rank.rank()), memory_of(text)), std::int64_t{10});
      if (rank.rank() == 2) expect_value(write(file, in_view(5), "abcde"), std::int64_t{5});
      expect_ok(file.close());
    });
  }
  std::ifstream in(path("report"));
  std::string line;
  int lines = 0;
  for (; std::getline(in, line); ++lines) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["path"], path());
    EXPECT_EQ(json["device"], "posix");
    EXPECT_EQ(json["ranks"], 4);
    std::int64_t collective_calls = 0;
    std::int64_t collective_bytes = 0;
    for (const auto& row : json["strategies"]) {
      EXPECT_EQ(row["operation"], "write");
      if (!row["collective"].get<bool>()) {
        EXPECT_EQ(row["calls"], 1);
        EXPECT_EQ(row["bytes"], 5);
        continue;
      }
      EXPECT_EQ(row["strategy"], "two_phase");
      collective_calls += row["calls"].get<std::int64_t>();
      collective_bytes += row["bytes"].get<std::int64_t>();
    }
    EXPECT_EQ(collective_calls, 12);
    EXPECT_EQ(collective_bytes, 120);
  }
  EXPECT_EQ(lines, 2);
}

TEST_F(FileTest, a_report_that_cannot_be_written_is_an_error_but_the_file_is_closed) {
  const std::string text = agreed_failure(2, Code::NotFound, [&](Rank& rank) -> Status {
    Hints hints;
    hints.report = path("missing/report");
    AccessMode mode = kReadWrite;
    mode.delete_on_close = true;
    OpenResult file = File::open(rank.join(), path(), mode, hints);
    if (!file.ok()) return file.error();
    return file.value()->close();
  });
  EXPECT_NE(text.find(": report: rank 0: "), std::string::npos) << text;
  EXPECT_FALSE(exists());
}

// -- Nonblocking

TEST_F(FileTest, a_thousand_independent_requests_may_be_outstanding) {
  const auto file = opened();
  constexpr std::size_t kRequests = 1000;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < kRequests; ++i) texts.push_back(std::to_string(1000 + i));
  std::vector<std::unique_ptr<Request>> requests;
  for (std::string& text : texts) {
    auto request = file->start(Direction::write, individual(), memory_of(text));
    ASSERT_TRUE(request.ok());
    requests.push_back(std::move(request.value()));
  }
  EXPECT_EQ(file->position(), std::int64_t{4} * kRequests);
  for (std::size_t i = 0; i < kRequests; ++i) {
    if (i % 3 == 0) {
      for (Backoff backoff; !requests[i]->poll();) backoff.pause();
    }
    expect_value(requests[i]->wait(), std::int64_t{4});
    expect_value(requests[i]->wait(), std::int64_t{4});
  }
  std::string expected;
  for (const std::string& text : texts) expected += text;
  EXPECT_EQ(content(), expected);
}

TEST_F(FileTest, collective_requests_need_no_common_order_of_polls) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    std::filesystem::remove(path());
    group(ranks, [&](Rank& rank) {
      Hints hints;
      hints.strategy = "two_phase";
      OpenResult opened = File::open(rank.join(), path(), kReadWrite, hints);
      ASSERT_TRUE(opened.ok());
      File& file = *opened.value();
      constexpr std::size_t kRequests = 12;
      std::vector<std::string> texts;
      for (std::size_t i = 0; i < kRequests; ++i) texts.emplace_back(5, static_cast<char>('a' + i));
      std::vector<std::unique_ptr<Request>> requests;
      const auto place = [&](std::size_t i) {
        return in_view(5 * (static_cast<std::int64_t>(i) * ranks + rank.rank()));
      };
      for (std::size_t i = 0; i < kRequests; ++i) {
        requests.push_back(file.start_all(Direction::write, place(i), memory_of(texts[i])));
        for (int polls = 0; polls < rank.rank(); ++polls) requests[i / 2]->poll();
        if (i == 5) {  // a blocking one in between, after all those before it
          std::string back(5, '?');
          expect_value(file.transfer_all(Direction::read, place(5), memory_of(back)), std::int64_t{5});
          EXPECT_EQ(back, texts[5]);
        }
      }
      // From the front, from the back, or dropped.
      for (std::size_t i = 0; i < kRequests; ++i) {
        const std::size_t which = rank.rank() % 2 == 0 ? i : kRequests - 1 - i;
        if (which % 5 != 4) expect_value(requests[which]->wait(), std::int64_t{5});
        requests[which].reset();
      }
      expect_ok(file.close());
    });
    std::string expected;
    for (char letter = 'a'; letter < 'm'; ++letter)
      expected += std::string(static_cast<std::size_t>(5 * ranks), letter);
    EXPECT_EQ(content(), expected);
  }
}

TEST_F(FileTest, closing_ends_what_is_under_way_and_requests_outlive_it) {
  group(3, [&](Rank& rank) {
    OpenResult opened = File::open(rank.join(), path(), kReadWrite, {});
    ASSERT_TRUE(opened.ok());
    std::shared_ptr<File> file = std::move(opened.value());
    std::string collective(4, static_cast<char>('A' + rank.rank()));
    std::string independent(4, static_cast<char>('a' + rank.rank()));
    const std::unique_ptr<Request> first =
        file->start_all(Direction::write, in_view(8 * rank.rank()), memory_of(collective));
    auto second = file->start(Direction::write, in_view(8 * rank.rank() + 4), memory_of(independent));
    ASSERT_TRUE(second.ok());
    expect_ok(file->close());
    file.reset();
    EXPECT_TRUE(first->poll());
    expect_value(first->wait(), std::int64_t{4});
    expect_value(second.value()->wait(), std::int64_t{4});
  });
  EXPECT_EQ(content(), "AAAAaaaaBBBBbbbbCCCCcccc");
}

TEST_F(FileTest, nonblocking_errors_arrive_with_the_request) {
  Hints hints;
  hints.fault = "op=write,error=ENOSPC";
  const auto file = opened(kReadWrite, hints, "faulty:");
  std::string text = "abc";
  auto independent = file->start(Direction::write, in_view(3), memory_of(text));
  ASSERT_TRUE(independent.ok());
  expect_error(independent.value()->wait(), Code::NoSpace, {path(), "write of 3 bytes at byte 3", "rank 0: "});
  expect_error(file->start_all(Direction::write, in_view(3), memory_of(text))->wait(), Code::NoSpace,
               {path(), "collective write", "rank 0: "});
  expect_error(file->start_all(Direction::write, in_view(0), no_memory())->wait(), Code::Buffer, {path()});
}

TEST_F(FileTest, a_request_keeps_the_view_it_was_started_with) {
  make("abcdefgh");
  const auto file = opened();
  expect_ok(file->set_view(view_of_pairs()));
  std::string text = "????";
  auto request = file->start(Direction::read, individual(), memory_of(text));
  ASSERT_TRUE(request.ok());
  expect_ok(file->set_view(View{}));
  expect_value(request.value()->wait(), std::int64_t{4});
  EXPECT_EQ(text, "abef");
}

}  // namespace
}  // namespace plenum
