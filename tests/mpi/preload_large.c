/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Offsets, counts and types beyond 2^31: by the large-count functions (which Open MPI 4 and 5 do not declare), by
 * derived types, and by views of sparse files. Rank 0 writes 2 GiB from 16 MiB of memory that is mapped again and
 * again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

#include "preload.h"

typedef int Access(MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*);

static const int64_t kMiB = 1 << 20;

/* A large-count function, in whatever library has it. */
static Access* function(const char* name) { return (Access*)(intptr_t)dlsym(RTLD_DEFAULT, name); }

static MPI_Count bytes_of(MPI_Status* status) {
  MPI_Count bytes = -1;
  MPI_Get_elements_x(status, MPI_BYTE, &bytes);
  return bytes;
}

/* Byte `i` of the ring. */
static unsigned char pattern(int64_t i) { return (unsigned char)((uint64_t)i * 2654435761u >> 13); }

/* `size` bytes of addresses, of which each `period` bytes are the same memory. */
static unsigned char* map_ring(int64_t size, int64_t period) {
  unsigned char* ring = mmap(NULL, (size_t)size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const int memory = memfd_create("ring", 0);
  int64_t at;
  if (ring == MAP_FAILED || memory < 0 || ftruncate(memory, period) != 0) return NULL;
  for (at = 0; at < size; at += period) {
    const size_t part = (size_t)(size - at < period ? size - at : period);
    if (mmap(ring + at, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) == MAP_FAILED) return NULL;
  }
  close(memory);
  return ring;
}

static void more_than_2_gib_in_one_call(void) {
  const int64_t period = 16 * kMiB, size = ((int64_t)1 << 31) + 3 * kMiB + 5;
  const int64_t probes[] = {
      0, period - 1, period, 0x7ffff000 - 1, 0x7ffff000, ((int64_t)1 << 31) - 1, (int64_t)1 << 31, size - 1};
  Access *write_at = function("MPI_File_write_at_c"), *read_at = function("MPI_File_read_at_c");
  unsigned char *ring, byte = 0;
  char path[400];
  MPI_File file;
  MPI_Status status;
  MPI_Datatype mebibyte;
  int64_t i;
  size_t k;
  int plain;

  snprintf(path, sizeof path, "%s/plenum_%d_large", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp",
           (int)getpid());
  ring = map_ring(size, period);
  if (ring == NULL || write_at == NULL || read_at == NULL) {
    FAIL("no ring, or no large-count functions");
    return;
  }
  for (i = 0; i < period; ++i) ring[i] = pattern(i);

  OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &file));
  OK(write_at(file, 0, ring, size, MPI_BYTE, &status));
  CHECK_EQUAL(bytes_of(&status), size);
  plain = open(path, O_RDONLY);
  for (k = 0; k < sizeof probes / sizeof probes[0]; ++k) {
    CHECK_EQUAL(pread(plain, &byte, 1, probes[k]), 1);
    CHECK_EQUAL(byte, pattern(probes[k] % period));
  }
  CHECK_EQUAL(lseek(plain, 0, SEEK_END), size);
  close(plain);

  /* Read with a count that fits an int, of a type whose total does not. The ring ends up as it was. */
  memset(ring, 0, (size_t)period);
  MPI_Type_contiguous((int)kMiB, MPI_BYTE, &mebibyte);
  MPI_Type_commit(&mebibyte);
  OK(MPI_File_read_at(file, 0, ring, 2048 + 3, mebibyte, &status));
  CHECK_EQUAL(bytes_of(&status), ((int64_t)1 << 31) + 3 * kMiB);
  for (i = 0; i < period; i += 4093) CHECK_EQUAL(ring[i], pattern(i));
  memset(ring, 0, (size_t)period);
  OK(read_at(file, 5, ring, size, MPI_BYTE, &status)); /* five bytes more than there are */
  CHECK_EQUAL(bytes_of(&status), size - 5);
  MPI_Type_free(&mebibyte);
  OK(MPI_File_close(&file));
  munmap(ring, (size_t)size);
}

/* Each rank has two rows' corners of an array of 100,000 x 100,000 doubles, 80 GB of file with almost nothing in it. */
static void a_view_of_a_sparse_array(void) {
  enum { kSide = 100000, kRows = 3, kColumns = 4 };
  const int sizes[2] = {kSide, kSide}, subsizes[2] = {kRows, kColumns};
  const int starts[2] = {kSide - kRows, kSide - kColumns * (rank + 1)};
  double values[kRows][kColumns], found[kRows][kColumns], number = 0;
  char path[400];
  MPI_File file;
  MPI_Status status;
  MPI_Datatype subarray;
  MPI_Offset size = 0, byte = 0;
  int i, j, count = 0;

  temporary_name(path, sizeof path, "sparse");
  for (i = 0; i < kRows; ++i)
    for (j = 0; j < kColumns; ++j) values[i][j] = rank * 100 + i * 10 + j;
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &subarray);
  MPI_Type_commit(&subarray);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &file));
  OK(MPI_File_set_view(file, 0, MPI_DOUBLE, subarray, "native", MPI_INFO_NULL));
  OK(MPI_File_get_byte_offset(file, kColumns, &byte));
  CHECK_EQUAL(byte, 8 * ((int64_t)(starts[0] + 1) * kSide + starts[1]));
  OK(MPI_File_write_all(file, values, kRows * kColumns, MPI_DOUBLE, &status));
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  CHECK_EQUAL(count, kRows * kColumns);
  OK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_get_size(file, &size));
  CHECK_EQUAL(size, 8 * (int64_t)kSide * kSide);
  OK(MPI_File_read_at_all(file, 0, found, kRows * kColumns, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK(memcmp(values, found, sizeof values) == 0);
  if (rank == 0) {
    const int plain = open(path, O_RDONLY);
    CHECK_EQUAL(pread(plain, &number, 8, size - 8 * kColumns), 8); /* the first of rank 0's last row */
    CHECK_EQUAL(number, (kRows - 1) * 10);
    close(plain);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_close(&file));
  MPI_Type_free(&subarray);
}

/* Displacements and offsets of many gigabytes, and the large-count form of MPI_File_get_type_extent. */
static void far_offsets(void) {
  const MPI_Offset far = (MPI_Offset)5 << 32;
  typedef int TypeExtent(MPI_File, MPI_Datatype, MPI_Count*);
  TypeExtent* type_extent = (TypeExtent*)(intptr_t)dlsym(RTLD_DEFAULT, "MPI_File_get_type_extent_c");
  char path[400];
  int64_t value = 0x0123456789abcdef + rank, found = 0;
  MPI_File file;
  MPI_Count extent = 0;
  MPI_Offset position = 0;
  MPI_Datatype wide;

  temporary_name(path, sizeof path, "far");
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &file));
  OK(MPI_File_write_at(file, far + 8 * rank, &value, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_set_view(file, far, MPI_INT64_T, MPI_INT64_T, "native", MPI_INFO_NULL));
  OK(MPI_File_seek(file, rank, MPI_SEEK_SET));
  OK(MPI_File_read(file, &found, 1, MPI_INT64_T, MPI_STATUS_IGNORE));
  CHECK_EQUAL(found, value);
  OK(MPI_File_seek(file, far, MPI_SEEK_CUR));
  OK(MPI_File_get_position(file, &position));
  CHECK_EQUAL(position, far + rank + 1);
  MPI_Type_create_resized(MPI_BYTE, 0, (MPI_Aint)far, &wide);
  CHECK(type_extent != NULL);
  if (type_extent != NULL) OK(type_extent(file, wide, &extent));
  CHECK_EQUAL(extent, far);
  MPI_Type_free(&wide);
  OK(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  int result;
  begin(&argc, &argv);
  a_view_of_a_sparse_array();
  far_offsets();
  if (rank == 0) more_than_2_gib_in_one_call();
  result = verdict();
  MPI_Finalize();
  return result;
}
