// SPDX-License-Identifier: BSD-3-Clause
//
// The ADIO interface, every function of it, as its users see it: through plenum/adio.h. What is in a file is looked at
// with plain file streams, never with our own reader alone.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "comm/mpi_handle.hpp"
#include "plenum/adio.h"

namespace plenum {
namespace {

using Buffer = std::vector<unsigned char>;

constexpr unsigned char kUntouched = 0xEE;

// What belongs at byte `i` of a test file.
unsigned char byte_at(std::int64_t i) { return static_cast<unsigned char>((i * 37 + i / 251) & 0xFF); }

Buffer bytes_at(std::int64_t begin, std::int64_t size) {
  Buffer bytes(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) bytes[static_cast<std::size_t>(i)] = byte_at(begin + i);
  return bytes;
}

Buffer read_whole(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return Buffer(std::istreambuf_iterator<char>(file), {});
}

bool exists(const std::string& name) { return access(name.c_str(), F_OK) == 0; }

class AdioTest : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    last = rank == ranks - 1;
    ADIO_Init(nullptr, nullptr, &error);
    ASSERT_EQ(error, MPI_SUCCESS);
    remove_file();
  }
  void TearDown() override {
    remove_file();
    ADIO_End(&error);
    EXPECT_EQ(error, MPI_SUCCESS) << ADIO_Error_string(error);
  }

  void remove_file() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(name.c_str());
    MPI_Barrier(MPI_COMM_WORLD);
  }

  ADIO_File open(int mode, ADIO_Offset disp = 0, MPI_Datatype etype = MPI_BYTE, MPI_Datatype filetype = MPI_BYTE,
                 ADIO_Hints* hints = nullptr) {
    constexpr int kAnyIomode = 3;
    return ADIO_Open(MPI_COMM_WORLD, name.c_str(), nullptr, mode, disp, etype, filetype, kAnyIomode, hints,
                     ADIO_PERM_NULL, &error);
  }

  ADIO_File open_new() {
    const ADIO_File fd = open(ADIO_CREATE | ADIO_RDWR);
    EXPECT_EQ(error, MPI_SUCCESS) << ADIO_Error_string(error);
    return fd;
  }

  void close(ADIO_File fd) {
    ADIO_Close(fd, &error);
    EXPECT_EQ(error, MPI_SUCCESS) << ADIO_Error_string(error);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  // A file of `size` bytes as byte_at() says.
  void make_file(std::int64_t size) {
    if (rank == 0) {
      const Buffer bytes = bytes_at(0, size);
      std::ofstream(name, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), size);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void expect_error(int expected, const char* what) {
    EXPECT_EQ(error, expected) << what << ": " << ADIO_Error_string(error);
  }

  const std::string name = "adio_mpi_test.dat";
  int rank = 0;
  int ranks = 1;
  bool last = true;
  int error = MPI_SUCCESS;
};

// ---- All 32 functions of data access

struct Form {
  bool strided, nonblocking, collective, large;
};

struct Target {
  ADIO_File fd;
  void* buffer;
  MPI_Count count;
  MPI_Datatype type;
  int pointer;
  ADIO_Offset offset;
};

struct Outcome {
  MPI_Count bytes = -1;
  int error = MPI_ERR_OTHER;
};

#define CALL_CONTIG(function)                                                             \
  (form.large ? function##_c(t.fd, t.buffer, t.count, t.pointer, t.offset, result, error) \
              : function(t.fd, t.buffer, static_cast<int>(t.count), t.pointer, t.offset, result, error))
#define CALL_STRIDED(function)                                                                    \
  (form.large ? function##_c(t.fd, t.buffer, t.count, t.type, t.pointer, t.offset, result, error) \
              : function(t.fd, t.buffer, static_cast<int>(t.count), t.type, t.pointer, t.offset, result, error))

void call_blocking(bool writing, Form form, const Target& t, ADIO_Status* result, int* error) {
  if (writing && form.strided && form.collective) return CALL_STRIDED(ADIO_WriteStridedColl);
  if (writing && form.strided) return CALL_STRIDED(ADIO_WriteStrided);
  if (writing && form.collective) return CALL_CONTIG(ADIO_WriteContigColl);
  if (writing) return CALL_CONTIG(ADIO_WriteContig);
  if (form.strided && form.collective) return CALL_STRIDED(ADIO_ReadStridedColl);
  if (form.strided) return CALL_STRIDED(ADIO_ReadStrided);
  if (form.collective) return CALL_CONTIG(ADIO_ReadContigColl);
  return CALL_CONTIG(ADIO_ReadContig);
}

void call_nonblocking(bool writing, Form form, const Target& t, ADIO_Request* result, int* error) {
  if (writing && form.strided && form.collective) return CALL_STRIDED(ADIO_IwriteStridedColl);
  if (writing && form.strided) return CALL_STRIDED(ADIO_IwriteStrided);
  if (writing && form.collective) return CALL_CONTIG(ADIO_IwriteContigColl);
  if (writing) return CALL_CONTIG(ADIO_IwriteContig);
  if (form.strided && form.collective) return CALL_STRIDED(ADIO_IreadStridedColl);
  if (form.strided) return CALL_STRIDED(ADIO_IreadStrided);
  if (form.collective) return CALL_CONTIG(ADIO_IreadContigColl);
  return CALL_CONTIG(ADIO_IreadContig);
}

Outcome complete(bool writing, ADIO_Request request) {
  Outcome outcome;
  ADIO_Status status;
  const auto test = writing ? ADIO_WriteIcomplete : ADIO_ReadIcomplete;
  while (test(request, &status, &outcome.error) == 0) usleep(20);
  outcome.bytes = ADIO_Bytes(&status);
  return outcome;
}

Outcome access(bool writing, Form form, const Target& target) {
  Outcome outcome;
  if (form.nonblocking) {
    ADIO_Request request = ADIO_REQUEST_NULL;
    call_nonblocking(writing, form, target, &request, &outcome.error);
    return outcome.error == MPI_SUCCESS ? complete(writing, request) : outcome;
  }
  ADIO_Status status;
  call_blocking(writing, form, target, &status, &outcome.error);
  outcome.bytes = ADIO_Bytes(&status);
  MPI_Count elements = -1;
  MPI_Get_elements_x(&status, MPI_BYTE, &elements);
  EXPECT_EQ(elements, outcome.bytes);
  return outcome;
}

class AdioForms : public AdioTest, public testing::WithParamInterface<std::tuple<bool, bool, bool, bool, bool>> {
 protected:
  static constexpr std::int64_t kInts = 1251;
  static constexpr std::int64_t kBlock = 4 * kInts;
  static constexpr int kBlocks = 5;
  static constexpr std::int64_t kDisp = 12;

  Form form() const {
    const auto& [strided, nonblocking, collective, large, individual] = GetParam();
    return {strided, nonblocking, collective, large};
  }
  bool individual() const { return std::get<4>(GetParam()); }

  // Block k of this rank lies here: ranks take turns, from kDisp on.
  std::int64_t place_of(int k) const { return kDisp + (std::int64_t{k} * ranks + rank) * kBlock; }

  // Contiguous accesses take no notice of the view.
  ADIO_File open_interleaved(int mode) {
    MpiTypeHandle block;
    MpiTypeHandle tile;
    MPI_Type_contiguous(kInts, MPI_INT32_T, block.out());
    MPI_Type_create_resized(block.get(), 0, ranks * kBlock, tile.out());
    MPI_Type_commit(tile.out());
    return open(mode, kDisp + rank * kBlock, MPI_INT32_T, tile.get());
  }

  // In memory, a strided access uses every other integer of the buffer.
  MpiTypeHandle memory_type() const {
    MpiTypeHandle type;
    MPI_Type_vector(kInts, 1, 2, MPI_INT32_T, type.out());
    MPI_Type_commit(type.out());
    return type;
  }
  std::size_t memory_of(std::int64_t byte) const {
    return static_cast<std::size_t>(form().strided ? byte / 4 * 8 + byte % 4 : byte);
  }

  Target target_of(ADIO_File fd, int k, Buffer& buffer, MPI_Datatype type) {
    const std::int64_t offset = form().strided ? k * kBlock : place_of(k);
    if (individual() && !form().strided) {
      const ADIO_Offset at = ADIO_SeekIndividual(fd, offset, ADIO_SEEK_SET, &error);
      EXPECT_EQ(at, offset);
    }
    return {fd,
            buffer.data(),
            form().strided ? 1 : kBlock,
            type,
            individual() ? ADIO_INDIVIDUAL : ADIO_EXPLICIT_OFFSET,
            individual() ? -77 : offset};
  }
};

TEST_P(AdioForms, move_exactly_their_bytes) {
  const MpiTypeHandle type = memory_type();
  ADIO_File fd = open_interleaved(ADIO_CREATE | ADIO_RDWR);
  ASSERT_EQ(error, MPI_SUCCESS) << ADIO_Error_string(error);
  for (int k = 0; k < kBlocks; ++k) {
    Buffer buffer(2 * kBlock, kUntouched);
    for (std::int64_t i = 0; i < kBlock; ++i) buffer[memory_of(i)] = byte_at(place_of(k) + i);
    const Outcome written = access(true, form(), target_of(fd, k, buffer, type.get()));
    EXPECT_EQ(written.error, MPI_SUCCESS) << ADIO_Error_string(written.error);
    EXPECT_EQ(written.bytes, kBlock);
  }
  close(fd);

  Buffer expected = bytes_at(0, kDisp + kBlocks * ranks * kBlock);
  std::fill_n(expected.begin(), kDisp, static_cast<unsigned char>(0));
  EXPECT_TRUE(read_whole(name) == expected);

  fd = open_interleaved(ADIO_RDONLY);
  for (int k = 0; k < kBlocks; ++k) {
    Buffer expected_memory(2 * kBlock, kUntouched);
    for (std::int64_t i = 0; i < kBlock; ++i) expected_memory[memory_of(i)] = byte_at(place_of(k) + i);
    Buffer buffer(2 * kBlock, kUntouched);
    const Outcome read = access(false, form(), target_of(fd, k, buffer, type.get()));
    EXPECT_EQ(read.error, MPI_SUCCESS) << ADIO_Error_string(read.error);
    EXPECT_EQ(read.bytes, kBlock);
    EXPECT_TRUE(buffer == expected_memory) << "block " << k;
  }
  close(fd);
}

// Reads this rank's blocks from a file that ends within the last block of the last rank but `missing` bytes.
TEST_P(AdioForms, say_how_much_was_read_at_the_end_of_the_file) {
  constexpr std::int64_t kMissing = 1001;
  const std::int64_t size = kDisp + ranks * kBlock - kMissing;
  make_file(size);
  const MpiTypeHandle type = memory_type();
  const ADIO_File fd = open_interleaved(ADIO_RDONLY);
  for (int k = 0; k < 2; ++k) {
    const std::int64_t there = std::clamp<std::int64_t>(size - place_of(k), 0, kBlock);
    Buffer expected(2 * kBlock, kUntouched);
    for (std::int64_t i = 0; i < there; ++i) expected[memory_of(i)] = byte_at(place_of(k) + i);
    Buffer buffer(2 * kBlock, kUntouched);
    const Outcome read = access(false, form(), target_of(fd, k, buffer, type.get()));
    EXPECT_EQ(read.error, MPI_SUCCESS) << ADIO_Error_string(read.error);
    EXPECT_EQ(read.bytes, there);
    EXPECT_TRUE(buffer == expected) << "block " << k;
  }
  close(fd);
}

// What is wrong with an access, and the class it must give.
struct Mistake {
  const char* what;
  int error_class;
  void (*make)(Target&);
};

constexpr Mistake kMistakes[] = {
    {"negative count", MPI_ERR_COUNT, [](Target& t) { t.count = -1; }},
    {"no buffer", MPI_ERR_BUFFER, [](Target& t) { t.buffer = nullptr; }},
    {"unknown file_ptr_type", MPI_ERR_ARG, [](Target& t) { t.pointer = 99; }},
    {"negative offset", MPI_ERR_ARG,
     [](Target& t) {
       t.pointer = ADIO_EXPLICIT_OFFSET;
       t.offset = -8;
     }},
};

TEST_P(AdioForms, fail_on_all_ranks_or_alone_and_change_nothing) {
  make_file(100);
  const ADIO_File fd = open_interleaved(ADIO_RDWR);
  ASSERT_EQ(error, MPI_SUCCESS) << ADIO_Error_string(error);
  for (const bool writing : {true, false}) {
    for (const Mistake& mistake : kMistakes) {
      Buffer buffer(2 * kBlock, kUntouched);
      Target target{fd, buffer.data(), 1, MPI_INT32_T, individual() ? ADIO_INDIVIDUAL : ADIO_EXPLICIT_OFFSET, 0};
      if (last) mistake.make(target);
      if (!last && !form().collective) continue;
      const Outcome outcome = access(writing, form(), target);
      EXPECT_EQ(outcome.error, mistake.error_class) << mistake.what << ": " << ADIO_Error_string(outcome.error);
      const std::string text = ADIO_Error_string(outcome.error);
      EXPECT_NE(text.find(name), std::string::npos) << text;
      EXPECT_NE(text.find("rank " + std::to_string(ranks - 1)), std::string::npos) << text;
      EXPECT_TRUE(buffer == Buffer(2 * kBlock, kUntouched)) << mistake.what;
    }
  }
  close(fd);
  EXPECT_TRUE(read_whole(name) == bytes_at(0, 100));
}

TEST_P(AdioForms, keep_to_the_access_mode) {
  make_file(64);
  int value = 0;
  Target target{nullptr, &value, 1, MPI_INT32_T, ADIO_EXPLICIT_OFFSET, 0};
  target.fd = open(ADIO_RDONLY);
  EXPECT_EQ(access(true, form(), target).error, MPI_ERR_READ_ONLY);
  close(target.fd);
  target.fd = open(ADIO_WRONLY);
  EXPECT_EQ(access(false, form(), target).error, MPI_ERR_ACCESS);
  close(target.fd);
  EXPECT_EQ(access(false, form(), target).error, MPI_ERR_FILE) << "a closed file";
  target.fd = ADIO_FILE_NULL;
  EXPECT_EQ(access(true, form(), target).error, MPI_ERR_FILE) << "a null file";
  EXPECT_TRUE(read_whole(name) == bytes_at(0, 64));
}

std::string form_name(const testing::TestParamInfo<AdioForms::ParamType>& info) {
  const auto& [strided, nonblocking, collective, large, individual] = info.param;
  return std::string(nonblocking ? "nonblocking_" : "") + (strided ? "strided" : "contig") +
         (collective ? "_coll" : "") + (large ? "_c" : "") + (individual ? "_individual" : "_explicit");
}

INSTANTIATE_TEST_SUITE_P(All, AdioForms,
                         testing::Combine(testing::Bool(), testing::Bool(), testing::Bool(), testing::Bool(),
                                          testing::Bool()),
                         form_name);

// ---- Pointers, offsets, sizes

TEST_F(AdioTest, the_pointer_counts_bytes_and_moves_on_by_what_was_asked_for) {
  make_file(1000);
  const ADIO_File fd = open(ADIO_RDONLY);
  EXPECT_EQ(ADIO_SeekIndividual(fd, 0, ADIO_SEEK_CUR, &error), 0);
  EXPECT_EQ(ADIO_SeekIndividual(fd, 10, ADIO_SEEK_SET, &error), 10);
  EXPECT_EQ(ADIO_SeekIndividual(fd, -3, ADIO_SEEK_CUR, &error), 7);
  Buffer buffer(30, kUntouched);
  ADIO_ReadContig(fd, buffer.data(), 20, ADIO_INDIVIDUAL, -1, nullptr, &error);
  ADIO_ReadStrided(fd, buffer.data() + 20, 10, MPI_BYTE, ADIO_INDIVIDUAL, -1, ADIO_STATUS_IGNORE, &error);
  EXPECT_TRUE(buffer == bytes_at(7, 30));
  EXPECT_EQ(ADIO_SeekIndividual(fd, 0, ADIO_SEEK_CUR, &error), 37);

  EXPECT_EQ(ADIO_SeekIndividual(fd, -5, ADIO_SEEK_END, &error), 995);
  ADIO_Status status;
  ADIO_ReadContig(fd, buffer.data(), 30, ADIO_INDIVIDUAL, 0, &status, &error);
  EXPECT_EQ(ADIO_Bytes(&status), 5);
  EXPECT_EQ(ADIO_SeekIndividual(fd, 0, ADIO_SEEK_CUR, &error), 1025);

  for (const auto& [offset, whence] : {std::pair<ADIO_Offset, int>{-1, ADIO_SEEK_SET},
                                       {-1026, ADIO_SEEK_CUR},
                                       {-1001, ADIO_SEEK_END},
                                       {std::numeric_limits<ADIO_Offset>::max(), ADIO_SEEK_CUR},
                                       {0, 3}}) {
    EXPECT_EQ(ADIO_SeekIndividual(fd, offset, whence, &error), -1);
    expect_error(MPI_ERR_ARG, "seek");
  }
  EXPECT_EQ(ADIO_SeekIndividual(fd, 0, ADIO_SEEK_CUR, &error), 1025);
  ADIO_ReadContig(fd, buffer.data(), -1, ADIO_INDIVIDUAL, 0, &status, &error);
  expect_error(MPI_ERR_COUNT, "negative length");
  EXPECT_EQ(ADIO_SeekIndividual(fd, 0, ADIO_SEEK_CUR, &error), 1025);
  close(fd);
}

TEST_F(AdioTest, a_strided_offset_counts_the_bytes_of_the_view_and_a_contiguous_one_those_of_the_file) {
  make_file(400);
  // From byte 16 on: 8 bytes shown, 8 bytes hidden.
  MpiTypeHandle pair;
  MPI_Type_create_resized(MPI_DOUBLE, 0, 16, pair.out());
  MPI_Type_commit(pair.out());
  const ADIO_File fd = open(ADIO_RDONLY, 16, MPI_DOUBLE, pair.get());
  Buffer buffer(16);
  ADIO_ReadStrided(fd, buffer.data(), 2, MPI_DOUBLE, ADIO_EXPLICIT_OFFSET, 24, nullptr, &error);
  Buffer expected = bytes_at(16 + 3 * 16, 8);
  const Buffer second = bytes_at(16 + 4 * 16, 8);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_TRUE(buffer == expected);
  ADIO_ReadContig(fd, buffer.data(), 16, ADIO_EXPLICIT_OFFSET, 3, nullptr, &error);
  EXPECT_TRUE(buffer == bytes_at(3, 16));

  ADIO_ReadStrided(fd, buffer.data(), 1, MPI_DOUBLE, ADIO_EXPLICIT_OFFSET, 4, nullptr, &error);
  expect_error(MPI_ERR_ARG, "half an etype");
  ADIO_ReadStrided(fd, buffer.data(), 4, MPI_BYTE, ADIO_EXPLICIT_OFFSET, 8, nullptr, &error);
  expect_error(MPI_ERR_TYPE, "data of half an etype");
  ADIO_ReadStrided(fd, buffer.data(), 1, MPI_DATATYPE_NULL, ADIO_EXPLICIT_OFFSET, 8, nullptr, &error);
  expect_error(MPI_ERR_TYPE, "no datatype");
  close(fd);
}

TEST_F(AdioTest, a_view_can_be_replaced) {
  make_file(400);
  const ADIO_File fd = open(ADIO_RDONLY);
  ADIO_SeekIndividual(fd, 100, ADIO_SEEK_SET, &error);
  ADIO_Set_view(fd, 40 + rank, MPI_BYTE, MPI_BYTE, &error);
  expect_error(MPI_SUCCESS, "set view");
  Buffer buffer(5);
  ADIO_ReadStrided(fd, buffer.data(), 5, MPI_BYTE, ADIO_INDIVIDUAL, 0, nullptr, &error);
  EXPECT_TRUE(buffer == bytes_at(40 + rank, 5));
  ADIO_Set_view(fd, last ? -1 : 0, MPI_BYTE, MPI_BYTE, &error);
  expect_error(MPI_ERR_ARG, "a negative displacement on one rank");
  ADIO_ReadStrided(fd, buffer.data(), 5, MPI_BYTE, ADIO_EXPLICIT_OFFSET, 0, nullptr, &error);
  EXPECT_TRUE(buffer == bytes_at(40 + rank, 5)) << "the old view holds";
  close(fd);
}

TEST_F(AdioTest, offsets_and_lengths_exceed_31_bits) {
  const std::int64_t far = (std::int64_t{5} << 30) + 3;
  ADIO_File fd = open_new();
  const Buffer bytes = bytes_at(rank * 10, 10);
  ADIO_WriteContig_c(fd, bytes.data(), 10, ADIO_EXPLICIT_OFFSET, far + rank * 10, nullptr, &error);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(ADIO_Get_size(fd, &error), far + ranks * 10);
  Buffer all(static_cast<std::size_t>(ranks) * 10);
  ADIO_SeekIndividual(fd, -ranks * 10, ADIO_SEEK_END, &error);
  ADIO_ReadStrided_c(fd, all.data(), ranks * 10, MPI_BYTE, ADIO_INDIVIDUAL, 0, nullptr, &error);
  EXPECT_TRUE(all == bytes_at(0, ranks * 10));
  close(fd);

  // Nothing is stored, so the pages need not exist.
  const std::int64_t length = (std::int64_t{1} << 31) + 9;
  void* const memory =
      mmap(nullptr, static_cast<std::size_t>(length), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  char device[] = "null";
  fd = ADIO_Open(MPI_COMM_SELF, name.c_str(), device, ADIO_WRONLY, 0, MPI_BYTE, MPI_BYTE, ADIO_IOMODE_NULL, nullptr,
                 ADIO_PERM_NULL, &error);
  ASSERT_EQ(error, MPI_SUCCESS) << ADIO_Error_string(error);
  ADIO_Status status;
  ADIO_WriteContig_c(fd, memory, length, ADIO_EXPLICIT_OFFSET, 0, &status, &error);
  expect_error(MPI_SUCCESS, "write");
  EXPECT_EQ(ADIO_Bytes(&status), length);
  ADIO_Close(fd, &error);
  munmap(memory, static_cast<std::size_t>(length));
}

// ---- Requests

TEST_F(AdioTest, many_requests_are_under_way_and_complete_in_any_order) {
  constexpr int kMany = 24;
  constexpr std::int64_t kSize = 3001;
  const ADIO_File fd = open_new();
  std::vector<Buffer> buffers;
  std::vector<ADIO_Request> requests(kMany);
  for (int k = 0; k < kMany; ++k) {
    const std::int64_t at = (std::int64_t{k} * ranks + rank) * kSize;
    buffers.push_back(bytes_at(at, kSize));
    const auto start = k % 2 == 0 ? ADIO_IwriteContig : ADIO_IwriteContigColl;
    start(fd, buffers.back().data(), kSize, ADIO_EXPLICIT_OFFSET, at, &requests[static_cast<std::size_t>(k)], &error);
    ASSERT_EQ(error, MPI_SUCCESS) << ADIO_Error_string(error);
  }
  for (auto request = requests.rbegin(); request != requests.rend(); ++request) {
    EXPECT_EQ(complete(true, *request).bytes, kSize);
  }
  close(fd);
  EXPECT_TRUE(read_whole(name) == bytes_at(0, kMany * ranks * kSize));
}

TEST_F(AdioTest, done_leaves_the_request_to_be_completed_and_completing_ends_it) {
  make_file(5000);
  const ADIO_File fd = open(ADIO_RDONLY);
  for (const auto start : {ADIO_IreadContig, ADIO_IreadContigColl}) {
    Buffer buffer(4000, kUntouched);
    ADIO_Request request = ADIO_REQUEST_NULL;
    start(fd, buffer.data(), 4000, ADIO_EXPLICIT_OFFSET, 2000, &request, &error);
    ASSERT_NE(request, ADIO_REQUEST_NULL);
    while (ADIO_ReadDone(request) == 0) usleep(20);
    EXPECT_EQ(ADIO_ReadDone(request), 1) << "it stays done";
    ADIO_Status status;
    EXPECT_EQ(ADIO_ReadIcomplete(request, &status, &error), 1);
    EXPECT_EQ(ADIO_Bytes(&status), 3000);
    buffer.resize(3000);
    EXPECT_TRUE(buffer == bytes_at(2000, 3000));

    EXPECT_EQ(ADIO_ReadIcomplete(request, &status, &error), 1);
    expect_error(MPI_ERR_REQUEST, "a request that has ended");
    ADIO_ReadComplete(request, &status, &error);
    expect_error(MPI_ERR_REQUEST, "a request that has ended");
    EXPECT_EQ(ADIO_ReadDone(request), 1);
  }
  ADIO_Status status;
  EXPECT_EQ(ADIO_WriteDone(ADIO_REQUEST_NULL), 1);
  EXPECT_EQ(ADIO_WriteIcomplete(ADIO_REQUEST_NULL, &status, &error), 1);
  expect_error(MPI_SUCCESS, "the null request");
  EXPECT_EQ(ADIO_Bytes(&status), 0);
  close(fd);
}

TEST_F(AdioTest, waiting_completes_a_request) {
  const ADIO_File fd = open_new();
  const Buffer bytes = bytes_at(rank * 700, 700);
  for (const auto start : {ADIO_IwriteContig, ADIO_IwriteContigColl}) {
    ADIO_Request request = ADIO_REQUEST_NULL;
    start(fd, bytes.data(), 700, ADIO_EXPLICIT_OFFSET, rank * 700, &request, &error);
    ADIO_Status status;
    ADIO_WriteComplete(request, &status, &error);
    expect_error(MPI_SUCCESS, "wait");
    EXPECT_EQ(ADIO_Bytes(&status), 700);
  }
  close(fd);
  EXPECT_TRUE(read_whole(name) == bytes_at(0, ranks * 700));
}

TEST_F(AdioTest, closing_completes_what_is_under_way) {
  const ADIO_File fd = open_new();
  const Buffer first = bytes_at(rank * 500, 500);
  const Buffer second = bytes_at((ranks + rank) * 500, 500);
  ADIO_Request requests[2];
  ADIO_IwriteContig(fd, first.data(), 500, ADIO_EXPLICIT_OFFSET, rank * 500, &requests[0], &error);
  ADIO_IwriteContigColl(fd, second.data(), 500, ADIO_EXPLICIT_OFFSET, (ranks + rank) * 500, &requests[1], &error);
  close(fd);
  for (const ADIO_Request request : requests) {
    EXPECT_EQ(ADIO_WriteIcomplete(request, nullptr, &error), 1);
    expect_error(MPI_ERR_REQUEST, "a request of a closed file");
  }
  EXPECT_TRUE(read_whole(name) == bytes_at(0, 2 * ranks * 500));
}

TEST_F(AdioTest, the_error_of_a_request_that_nobody_completed_is_found_when_closing) {
  ADIO_Hints* hints = ADIO_Hints_create(MPI_INFO_NULL, &error);
  ADIO_Hints_set(hints, "plenum_fault", "op=write,nth=1,error=EIO", &error);
  const std::string faulty = "faulty:" + name;
  const ADIO_File fd = ADIO_Open(MPI_COMM_WORLD, faulty.c_str(), nullptr, ADIO_CREATE | ADIO_RDWR, 0, MPI_BYTE,
                                 MPI_BYTE, ADIO_IOMODE_NULL, hints, ADIO_PERM_NULL, &error);
  ASSERT_EQ(error, MPI_SUCCESS) << ADIO_Error_string(error);
  ADIO_Hints_free(&hints);
  const Buffer bytes = bytes_at(0, 100);
  ADIO_Request request = ADIO_REQUEST_NULL;
  ADIO_IwriteContig(fd, bytes.data(), 100, ADIO_EXPLICIT_OFFSET, rank * 100, &request, &error);
  expect_error(MPI_SUCCESS, "start");
  ADIO_Close(fd, &error);
  expect_error(MPI_ERR_IO, "close");
}

// ---- Open, close and the file as a whole

TEST_F(AdioTest, modes_are_combined_by_or_as_by_exclusive_or) {
  const ADIO_File fd = open(ADIO_CREATE ^ ADIO_WRONLY ^ ADIO_EXCL);
  expect_error(MPI_SUCCESS, "open");
  close(fd);
  EXPECT_EQ(open(ADIO_CREATE | ADIO_WRONLY | ADIO_EXCL), ADIO_FILE_NULL);
  expect_error(MPI_ERR_FILE_EXISTS, "the file is there");
}

TEST_F(AdioTest, opening_fails_on_all_ranks_and_creates_nothing) {
  for (const int mode : {0, ADIO_CREATE, ADIO_RDONLY | ADIO_RDWR, ADIO_RDONLY | ADIO_WRONLY, ADIO_CREATE | ADIO_RDONLY,
                         ADIO_RDWR | 1024}) {
    EXPECT_EQ(open(mode), ADIO_FILE_NULL);
    expect_error(MPI_ERR_AMODE, "bad mode");
  }
  EXPECT_EQ(open(ADIO_RDWR), ADIO_FILE_NULL);
  expect_error(MPI_ERR_NO_SUCH_FILE, "no such file");
  EXPECT_EQ(open(last ? 0 : ADIO_CREATE | ADIO_RDWR), ADIO_FILE_NULL);
  expect_error(MPI_ERR_AMODE, "bad mode on one rank");
  if (ranks > 1) {
    EXPECT_EQ(open(last ? ADIO_CREATE | ADIO_WRONLY : ADIO_CREATE | ADIO_RDWR), ADIO_FILE_NULL);
    expect_error(MPI_ERR_NOT_SAME, "another mode on one rank");
  }
  const auto open_with = [&](const char* file, MPI_Datatype etype, int perm) {
    return ADIO_Open(MPI_COMM_WORLD, file, nullptr, ADIO_CREATE | ADIO_RDWR, 0, etype, MPI_BYTE, ADIO_IOMODE_NULL,
                     nullptr, perm, &error);
  };
  EXPECT_EQ(open_with(last ? nullptr : name.c_str(), MPI_BYTE, ADIO_PERM_NULL), ADIO_FILE_NULL);
  expect_error(MPI_ERR_ARG, "no name on one rank");
  EXPECT_EQ(open_with(name.c_str(), last ? MPI_DATATYPE_NULL : MPI_BYTE, ADIO_PERM_NULL), ADIO_FILE_NULL);
  expect_error(MPI_ERR_TYPE, "no etype on one rank");
  EXPECT_EQ(open_with(name.c_str(), MPI_BYTE, last ? 010000 : 0644), ADIO_FILE_NULL);
  expect_error(MPI_ERR_ARG, "bad permissions on one rank");
  EXPECT_FALSE(exists(name));

  EXPECT_EQ(open_with("no_such_directory/file", MPI_BYTE, ADIO_PERM_NULL), ADIO_FILE_NULL);
  expect_error(MPI_ERR_NO_SUCH_FILE, "no such directory");
  const std::string text = ADIO_Error_string(error);
  EXPECT_NE(text.find("no_such_directory/file"), std::string::npos) << text;
  EXPECT_NE(text.find("open"), std::string::npos) << text;
}

TEST_F(AdioTest, a_view_that_is_none_fails_on_all_ranks) {
  EXPECT_EQ(open(ADIO_CREATE | ADIO_RDWR, last ? -4 : 0), ADIO_FILE_NULL);
  expect_error(MPI_ERR_ARG, "a negative displacement on one rank");
  EXPECT_EQ(open(ADIO_CREATE | ADIO_RDWR, 0, MPI_INT32_T, last ? MPI_INT16_T : MPI_INT32_T), ADIO_FILE_NULL);
  expect_error(MPI_ERR_TYPE, "half an etype on one rank");
}

TEST_F(AdioTest, bad_communicators_are_found_at_once) {
  EXPECT_EQ(ADIO_Open(MPI_COMM_NULL, name.c_str(), nullptr, ADIO_CREATE | ADIO_RDWR, 0, MPI_BYTE, MPI_BYTE, 0, nullptr,
                      ADIO_PERM_NULL, &error),
            ADIO_FILE_NULL);
  expect_error(MPI_ERR_COMM, "null communicator");
}

TEST_F(AdioTest, one_process_may_open_a_file_alone) {
  const std::string mine = name + "." + std::to_string(rank);
  const ADIO_File fd = ADIO_Open(MPI_COMM_SELF, mine.c_str(), nullptr, ADIO_CREATE | ADIO_RDWR | ADIO_DELETE_ON_CLOSE,
                                 0, MPI_BYTE, MPI_BYTE, 0, nullptr, 0600, &error);
  expect_error(MPI_SUCCESS, "open");
  struct stat facts = {};
  EXPECT_EQ(stat(mine.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  const Buffer bytes = bytes_at(0, 10);
  ADIO_WriteContigColl(fd, bytes.data(), 10, ADIO_INDIVIDUAL, 0, nullptr, &error);
  expect_error(MPI_SUCCESS, "write");
  EXPECT_TRUE(read_whole(mine) == bytes);
  ADIO_Close(fd, &error);
  expect_error(MPI_SUCCESS, "close");
  EXPECT_FALSE(exists(mine));
}

TEST_F(AdioTest, delete_on_close_removes_the_file_when_the_last_has_closed_it) {
  const ADIO_File fd = open(ADIO_CREATE | ADIO_RDWR | ADIO_DELETE_ON_CLOSE);
  EXPECT_TRUE(exists(name));
  close(fd);
  EXPECT_FALSE(exists(name));
}

TEST_F(AdioTest, deleting_removes_a_file_once) {
  make_file(10);
  if (rank == 0) {
    ADIO_Delete(name.c_str(), &error);
    expect_error(MPI_SUCCESS, "delete");
    EXPECT_FALSE(exists(name));
    ADIO_Delete(name.c_str(), &error);
    expect_error(MPI_ERR_NO_SUCH_FILE, "delete again");
    ADIO_Delete(nullptr, &error);
    expect_error(MPI_ERR_ARG, "delete nothing");
  }
}

TEST_F(AdioTest, a_file_of_these_processes_alone_works_like_any_other) {
  const ADIO_File fd = open(ADIO_CREATE | ADIO_RDWR | ADIO_EXCLUSIVE);
  expect_error(MPI_SUCCESS, "open");
  const Buffer bytes = bytes_at(rank * 300, 300);
  ADIO_WriteContigColl(fd, bytes.data(), 300, ADIO_EXPLICIT_OFFSET, rank * 300, nullptr, &error);
  Buffer all(static_cast<std::size_t>(ranks) * 300);
  ADIO_ReadContigColl(fd, all.data(), ranks * 300, ADIO_EXPLICIT_OFFSET, 0, nullptr, &error);
  EXPECT_TRUE(all == bytes_at(0, ranks * 300));
  close(fd);
  EXPECT_TRUE(read_whole(name) == all);
}

TEST_F(AdioTest, resizing_cuts_and_fills_with_zeros) {
  make_file(1000);
  ADIO_File fd = open(ADIO_RDWR);
  ADIO_SeekIndividual(fd, 700, ADIO_SEEK_SET, &error);
  ADIO_Resize(fd, 600, &error);
  expect_error(MPI_SUCCESS, "cut");
  EXPECT_EQ(ADIO_Get_size(fd, &error), 600);
  EXPECT_EQ(ADIO_SeekIndividual(fd, 0, ADIO_SEEK_CUR, &error), 700);
  MPI_Barrier(MPI_COMM_WORLD);
  ADIO_Resize(fd, 800, &error);
  expect_error(MPI_SUCCESS, "grow");
  Buffer expected = bytes_at(0, 600);
  expected.resize(800, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(read_whole(name) == expected);

  ADIO_Resize(fd, last ? -1 : 10, &error);
  expect_error(MPI_ERR_ARG, "a negative size on one rank");
  if (ranks > 1) {
    ADIO_Resize(fd, last ? 20 : 10, &error);
    expect_error(MPI_ERR_NOT_SAME, "another size on one rank");
  }
  EXPECT_EQ(ADIO_Get_size(fd, &error), 800);
  MPI_Barrier(MPI_COMM_WORLD);
  ADIO_Reserve(fd, 500, &error);
  expect_error(MPI_SUCCESS, "reserve less");
  EXPECT_EQ(ADIO_Get_size(fd, &error), 800);
  MPI_Barrier(MPI_COMM_WORLD);
  ADIO_Reserve(fd, 9000, &error);
  expect_error(MPI_SUCCESS, "reserve more");
  EXPECT_EQ(ADIO_Get_size(fd, &error), 9000);
  close(fd);
  fd = open(ADIO_RDONLY);
  ADIO_Resize(fd, 10, &error);
  expect_error(MPI_ERR_READ_ONLY, "resize");
  close(fd);
}

TEST_F(AdioTest, flushing_is_local) {
  const ADIO_File fd = open_new();
  const Buffer bytes = bytes_at(rank * 10, 10);
  ADIO_WriteContig(fd, bytes.data(), 10, ADIO_EXPLICIT_OFFSET, rank * 10, nullptr, &error);
  if (rank == 0) {
    ADIO_Flush(fd, &error);
    expect_error(MPI_SUCCESS, "flush");
    Buffer there = read_whole(name);
    ASSERT_GE(there.size(), 10U);
    there.resize(10);
    EXPECT_TRUE(there == bytes);
  }
  close(fd);
}

// Each round, all ranks write all of the range at once; whoever reads sees the bytes of one of them only.
TEST_F(AdioTest, atomic_accesses_are_not_mixed) {
  constexpr int kSize = 200000;
  const ADIO_File fd = open(ADIO_CREATE | ADIO_RDWR | ADIO_ATOMIC);
  expect_error(MPI_SUCCESS, "open");
  const Buffer mine(kSize, static_cast<unsigned char>(rank + 1));
  Buffer seen(kSize);
  ADIO_WriteContig(fd, mine.data(), kSize, ADIO_EXPLICIT_OFFSET, 0, nullptr, &error);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < 20; ++round) {
    ADIO_WriteContig(fd, mine.data(), kSize, ADIO_EXPLICIT_OFFSET, 0, nullptr, &error);
    expect_error(MPI_SUCCESS, "write");
    ADIO_ReadContig(fd, seen.data(), kSize, ADIO_EXPLICIT_OFFSET, 0, nullptr, &error);
    expect_error(MPI_SUCCESS, "read");
    EXPECT_EQ(std::count(seen.begin(), seen.end(), seen.front()), kSize);
  }
  ADIO_Set_atomicity(fd, 0, &error);
  expect_error(MPI_SUCCESS, "off");
  if (ranks > 1) {
    ADIO_Set_atomicity(fd, last ? 1 : 0, &error);
    expect_error(MPI_ERR_NOT_SAME, "on for one rank");
  }
  close(fd);
  if (ranks > 1) {
    EXPECT_EQ(open(last ? ADIO_RDWR | ADIO_ATOMIC : ADIO_RDWR), ADIO_FILE_NULL);
    expect_error(MPI_ERR_NOT_SAME, "atomic on one rank");
  }
}

// ---- Handles, beginning and end

TEST_F(AdioTest, a_closed_file_is_found_out_by_every_function) {
  ADIO_File fd = open_new();
  close(fd);
  const auto expect_bad_file = [&](const char* what) {
    expect_error(MPI_ERR_FILE, what);
    error = MPI_SUCCESS;
  };
  for (const ADIO_File bad : {fd, ADIO_FILE_NULL}) {
    ADIO_Close(bad, &error);
    expect_bad_file("close");
    EXPECT_EQ(ADIO_SeekIndividual(bad, 0, ADIO_SEEK_SET, &error), -1);
    expect_bad_file("seek");
    EXPECT_EQ(ADIO_Get_size(bad, &error), -1);
    expect_bad_file("size");
    ADIO_Resize(bad, 0, &error);
    expect_bad_file("resize");
    ADIO_Reserve(bad, 0, &error);
    expect_bad_file("reserve");
    ADIO_Flush(bad, &error);
    expect_bad_file("flush");
    ADIO_Set_view(bad, 0, MPI_BYTE, MPI_BYTE, &error);
    expect_bad_file("view");
    ADIO_Set_atomicity(bad, 0, &error);
    expect_bad_file("atomicity");
    ADIO_Set_hints(bad, nullptr, &error);
    expect_bad_file("set hints");
    EXPECT_EQ(ADIO_Get_hints(bad, &error), nullptr);
    expect_bad_file("get hints");
  }
}

TEST_F(AdioTest, ending_closes_what_is_open_and_says_so) {
  const ADIO_File fd = open_new();
  const Buffer bytes = bytes_at(rank * 10, 10);
  ADIO_Request request = ADIO_REQUEST_NULL;
  ADIO_IwriteContig(fd, bytes.data(), 10, ADIO_EXPLICIT_OFFSET, rank * 10, &request, &error);
  ADIO_Init(nullptr, nullptr, &error);
  ADIO_End(&error);
  expect_error(MPI_SUCCESS, "the first of two ends");
  EXPECT_GE(ADIO_Get_size(fd, &error), 0);
  ADIO_End(&error);
  expect_error(MPI_ERR_FILE_IN_USE, "the last end");
  EXPECT_NE(std::string(ADIO_Error_string(error)).find(name), std::string::npos);
  ADIO_Get_size(fd, &error);
  expect_error(MPI_ERR_FILE, "after the end");
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(read_whole(name) == bytes_at(0, ranks * 10));
}

TEST_F(AdioTest, error_codes_have_texts) {
  ADIO_Close(ADIO_FILE_NULL, nullptr);
  EXPECT_NE(std::string(ADIO_Error_string(MPI_ERR_FILE)).find("ADIO"), std::string::npos);
  EXPECT_NE(std::string(ADIO_Error_string(MPI_ERR_NO_SPACE)), "");
  EXPECT_NE(ADIO_Error_string(MPI_SUCCESS), nullptr);
}

// ---- Hints

TEST_F(AdioTest, hints_are_a_list_that_is_checked) {
  MpiInfoHandle info;
  MPI_Info_create(info.out());
  MPI_Info_set(info.get(), "cb_nodes", "1");
  MPI_Info_set(info.get(), "somebody_elses_hint", "x y");
  ADIO_Hints* hints = ADIO_Hints_create(info.get(), &error);
  ASSERT_NE(hints, nullptr);
  EXPECT_STREQ(ADIO_Hints_get(hints, "cb_nodes"), "1");
  EXPECT_STREQ(ADIO_Hints_get(hints, "somebody_elses_hint"), "x y");
  EXPECT_EQ(ADIO_Hints_get(hints, "cb_buffer_size"), nullptr);
  ADIO_Hints_set(hints, "cb_nodes", "2", &error);
  expect_error(MPI_SUCCESS, "set");
  ADIO_Hints_set(hints, "cb_nodes", "many", &error);
  expect_error(MPI_ERR_INFO_VALUE, "a value without meaning");
  EXPECT_STREQ(ADIO_Hints_get(hints, "cb_nodes"), "2");
  ADIO_Hints_set(hints, "", "2", &error);
  expect_error(MPI_ERR_ARG, "no key");
  ADIO_Hints_set(nullptr, "cb_nodes", "2", &error);
  expect_error(MPI_ERR_ARG, "no list");

  MpiInfoHandle back(ADIO_Hints_to_info(hints, &error));
  int keys = 0;
  MPI_Info_get_nkeys(back.get(), &keys);
  EXPECT_EQ(keys, 2);
  ADIO_Hints_free(&hints);
  EXPECT_EQ(hints, nullptr);
  ADIO_Hints_free(&hints);

  MPI_Info_set(info.get(), "cb_buffer_size", "-1");
  EXPECT_EQ(ADIO_Hints_create(info.get(), &error), nullptr);
  expect_error(MPI_ERR_INFO_VALUE, "a value without meaning");
}

TEST_F(AdioTest, hints_reach_the_file_and_it_tells_what_it_did) {
  ADIO_Hints* hints = ADIO_Hints_create(MPI_INFO_NULL, &error);
  ADIO_Hints_set(hints, "plenum_strategy", "direct", &error);
  ADIO_Hints_set(hints, "cb_buffer_size", "65536", &error);
  const ADIO_File fd = open(ADIO_CREATE | ADIO_RDWR, 0, MPI_BYTE, MPI_BYTE, hints);
  ASSERT_EQ(error, MPI_SUCCESS) << ADIO_Error_string(error);
  const Buffer bytes = bytes_at(0, 100);
  ADIO_WriteContig(fd, bytes.data(), 100, ADIO_EXPLICIT_OFFSET, rank * 100, nullptr, &error);
  ADIO_Hints* effective = ADIO_Get_hints(fd, &error);
  EXPECT_STREQ(ADIO_Hints_get(effective, "plenum_strategy"), "direct");
  EXPECT_STREQ(ADIO_Hints_get(effective, "cb_buffer_size"), "65536");
  EXPECT_STREQ(ADIO_Hints_get(effective, "plenum_device"), "posix");
  const char* strategies = ADIO_Hints_get(effective, "plenum_strategies");
  ASSERT_NE(strategies, nullptr);
  EXPECT_NE(std::string(strategies).find("write direct"), std::string::npos) << strategies;
  ADIO_Hints_free(&effective);

  ADIO_Hints_set(hints, "cb_buffer_size", "131072", &error);
  ADIO_Set_hints(fd, hints, &error);
  expect_error(MPI_SUCCESS, "set hints");
  ADIO_Set_hints(fd, nullptr, &error);
  expect_error(MPI_SUCCESS, "set no hints");
  effective = ADIO_Get_hints(fd, &error);
  EXPECT_STREQ(ADIO_Hints_get(effective, "cb_buffer_size"), "131072");
  ADIO_Hints_free(&effective);
  if (ranks > 1) {
    if (last) ADIO_Hints_set(hints, "cb_buffer_size", "4096", &error);
    ADIO_Set_hints(fd, hints, &error);
    expect_error(MPI_ERR_NOT_SAME, "another hint on one rank");
  }
  ADIO_Hints_free(&hints);
  close(fd);
}

TEST_F(AdioTest, a_device_can_be_named) {
  char null[] = "null";
  char unknown[] = "no_such_device";
  const auto open_on = [&](char* device) {
    return ADIO_Open(MPI_COMM_WORLD, name.c_str(), device, ADIO_CREATE | ADIO_RDWR, 0, MPI_BYTE, MPI_BYTE, 0, nullptr,
                     ADIO_PERM_NULL, &error);
  };
  const ADIO_File fd = open_on(null);
  ASSERT_EQ(error, MPI_SUCCESS) << ADIO_Error_string(error);
  ADIO_Hints* effective = ADIO_Get_hints(fd, &error);
  EXPECT_STREQ(ADIO_Hints_get(effective, "plenum_device"), "null");
  ADIO_Hints_free(&effective);
  close(fd);
  EXPECT_FALSE(exists(name));
  EXPECT_EQ(open_on(unknown), ADIO_FILE_NULL);
  EXPECT_NE(error, MPI_SUCCESS);
  EXPECT_FALSE(exists(name));
}

}  // namespace
}  // namespace plenum
