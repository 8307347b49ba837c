/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What programs do with MPI-IO every day: open, views, blocking data access, positions, sizes, info, handles.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/stat.h>

#include "preload.h"

enum { kBlock = 5, kBlocks = 7, kValues = kBlock * kBlocks };

static char path[400];

/* What value `i` of rank `r` is. */
static int value_of(int r, int i) { return r * 1000003 + i * 17 + 1; }

/* The bytes of the file as any other program sees them. */
static long read_plainly(const char* name, void* bytes, size_t size) {
  FILE* file = fopen(name, "rb");
  size_t read = 0;
  if (file == NULL) return -1;
  read = fread(bytes, 1, size, file);
  fclose(file);
  return (long)read;
}

/* Rank r's blocks are number r, r + ranks, r + 2 ranks, ... of the file. */
static MPI_Datatype interleaved(void) {
  MPI_Datatype vector, resized;
  MPI_Type_vector(kBlocks, kBlock, kBlock * ranks, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, (MPI_Aint)sizeof(int) * kBlock * kBlocks * ranks, &resized);
  MPI_Type_free(&vector);
  MPI_Type_commit(&resized);
  return resized;
}

static void check_interleaved_file(MPI_Offset displacement) {
  const size_t bytes = (size_t)displacement + sizeof(int) * kValues * (size_t)ranks;
  char* content = malloc(bytes + 1);
  int i;
  CHECK_EQUAL(read_plainly(path, content, bytes + 1), bytes);
  for (i = 0; i < displacement; ++i) CHECK_EQUAL(content[i], 0);
  for (i = 0; i < kValues * ranks; ++i) {
    const int block = i / kBlock;
    int found;
    memcpy(&found, content + displacement + (MPI_Offset)sizeof(int) * i, sizeof found);
    CHECK_EQUAL(found, value_of(block % ranks, block / ranks * kBlock + i % kBlock));
  }
  free(content);
}

static void check_status(MPI_Status* status, MPI_Datatype type, int count) {
  int found = -1, cancelled = -1;
  MPI_Get_count(status, type, &found);
  CHECK_EQUAL(found, count);
  MPI_Test_cancelled(status, &cancelled);
  if (plenum_expected()) CHECK_EQUAL(cancelled, 0); /* others leave it as it was */
}

static void views_and_collective_access(void) {
  const MPI_Offset displacement = 12;
  int values[kValues], found[kValues], i;
  MPI_File file;
  MPI_Status status;
  MPI_Datatype filetype = interleaved();

  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_File_set_view(file, displacement + (MPI_Offset)sizeof(int) * kBlock * rank, MPI_INT, filetype, "native",
                       MPI_INFO_NULL));
  MPI_Type_free(&filetype); /* the view does not need it any more */
  for (i = 0; i < kValues; ++i) values[i] = value_of(rank, i);
  /* in two calls, of which the first ends within a block */
  OK(MPI_File_write_all(file, values, 8, MPI_INT, &status));
  check_status(&status, MPI_INT, 8);
  OK(MPI_File_write_all(file, values + 8, kValues - 8, MPI_INT, &status));
  check_status(&status, MPI_INT, kValues - 8);
  OK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) check_interleaved_file(displacement);
  MPI_Barrier(MPI_COMM_WORLD);

  memset(found, 0, sizeof found);
  OK(MPI_File_read_at_all(file, 0, found, kValues, MPI_INT, &status));
  check_status(&status, MPI_INT, kValues);
  for (i = 0; i < kValues; ++i) CHECK_EQUAL(found[i], value_of(rank, i));
  memset(found, 0, sizeof found);
  OK(MPI_File_read_at(file, 3, found, 9, MPI_INT, MPI_STATUS_IGNORE));
  for (i = 0; i < kValues; ++i) CHECK_EQUAL(found[i], i < 9 ? value_of(rank, i + 3) : 0);

  /* the last rank has nothing to do */
  memset(found, 0, sizeof found);
  OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
  OK(MPI_File_read_all(file, found, rank == ranks - 1 ? 0 : 4, MPI_INT, &status));
  check_status(&status, MPI_INT, rank == ranks - 1 ? 0 : 4);
  if (rank < ranks - 1) CHECK_EQUAL(found[3], value_of(rank, 3));
  OK(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);
}

static void positions(void) {
  MPI_File file;
  MPI_Offset offset = -1, byte = -1;
  MPI_Datatype filetype = interleaved();
  int value = 0;

  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_File_set_view(file, 12 + (MPI_Offset)sizeof(int) * kBlock * rank, MPI_INT, filetype, "native", MPI_INFO_NULL));
  OK(MPI_File_get_position(file, &offset));
  CHECK_EQUAL(offset, 0);
  OK(MPI_File_seek(file, kBlock + 1, MPI_SEEK_SET));
  OK(MPI_File_seek(file, 1, MPI_SEEK_CUR));
  OK(MPI_File_read(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_EQUAL(value, value_of(rank, kBlock + 2));
  OK(MPI_File_get_position(file, &offset));
  CHECK_EQUAL(offset, kBlock + 3);
  OK(MPI_File_get_byte_offset(file, kBlock + 2, &byte));
  CHECK_EQUAL(byte, 12 + (MPI_Offset)sizeof(int) * (kBlock * rank + kBlock * ranks + 2));
  OK(MPI_File_seek(file, -1, MPI_SEEK_CUR));
  value = -7 - rank;
  OK(MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  value = 0;
  OK(MPI_File_read_at(file, kBlock + 2, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_EQUAL(value, -7 - rank);
  value = value_of(rank, kBlock + 2);
  OK(MPI_File_write_at(file, kBlock + 2, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_seek(file, -4, MPI_SEEK_END));
  OK(MPI_File_get_position(file, &offset));
  CHECK_EQUAL(offset, 12 + (MPI_Offset)sizeof(int) * kValues * ranks - 4);
  OK(MPI_File_close(&file));
  MPI_Type_free(&filetype);
}

static void view_is_given_back(void) {
  MPI_File file;
  MPI_Offset displacement = -1;
  MPI_Datatype etype, filetype = interleaved(), got_etype, got_filetype;
  MPI_Aint lower, extent;
  int size, i;
  char datarep[MPI_MAX_DATAREP_STRING] = "";

  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  OK(MPI_File_get_view(file, &displacement, &got_etype, &got_filetype, datarep));
  CHECK_EQUAL(displacement, 0);
  CHECK(got_etype == MPI_BYTE && got_filetype == MPI_BYTE); /* predefined ones come as they are */
  CHECK(strcmp(datarep, "native") == 0);

  MPI_Type_contiguous(kBlock, MPI_INT, &etype);
  MPI_Type_commit(&etype);
  OK(MPI_File_set_view(file, 12, etype, filetype, "native", MPI_INFO_NULL));
  MPI_Type_free(&etype);
  MPI_Type_free(&filetype);
  for (i = 0; i < 2; ++i) {
    OK(MPI_File_get_view(file, &displacement, &got_etype, &got_filetype, datarep));
    CHECK_EQUAL(displacement, 12);
    MPI_Type_size(got_etype, &size);
    CHECK_EQUAL(size, kBlock * sizeof(int));
    MPI_Type_size(got_filetype, &size);
    CHECK_EQUAL(size, kValues * sizeof(int));
    MPI_Type_get_extent(got_filetype, &lower, &extent);
    CHECK_EQUAL(lower, 0);
    CHECK_EQUAL(extent, sizeof(int) * kValues * (size_t)ranks);
    MPI_Type_free(&got_etype); /* ours to free; the view stays */
    MPI_Type_free(&got_filetype);
  }
  OK(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
  CHECK_EQUAL(extent, sizeof(double));
  OK(MPI_File_close(&file));
}

/* A column of a matrix in memory, written one after the other; and a read that ends at the end of the file. */
static void noncontiguous_memory_and_short_reads(void) {
  enum { kRows = 6, kColumns = 4 };
  int matrix[kRows][kColumns], found[kRows + 3], i, j;
  char name[400];
  MPI_Datatype column;
  MPI_File file;
  MPI_Status status;
  MPI_Offset size = -1;

  temporary_name(name, sizeof name, "columns");
  for (i = 0; i < kRows; ++i)
    for (j = 0; j < kColumns; ++j) matrix[i][j] = rank * 100 + i * 10 + j;
  MPI_Type_vector(kRows, 1, kColumns, MPI_INT, &column);
  MPI_Type_commit(&column);
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  OK(MPI_File_write_at_all(file, (MPI_Offset)sizeof(int) * kRows * rank, &matrix[0][2], 1, column, &status));
  check_status(&status, column, 1);
  OK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_get_size(file, &size));
  CHECK_EQUAL(size, sizeof(int) * kRows * (size_t)ranks);
  for (i = 0; i < kRows + 3; ++i) found[i] = -1;
  /* three more than the file has behind the last rank's column */
  OK(MPI_File_read_at_all(file, (MPI_Offset)sizeof(int) * kRows * (ranks - 1), found, kRows + 3, MPI_INT, &status));
  check_status(&status, MPI_INT, kRows);
  for (i = 0; i < kRows + 3; ++i) CHECK_EQUAL(found[i], i < kRows ? (ranks - 1) * 100 + i * 10 + 2 : -1);
  OK(MPI_File_read_at(file, size + 100, found, 3, MPI_INT, &status));
  check_status(&status, MPI_INT, 0);
  OK(MPI_File_read_at(file, 0, NULL, 0, MPI_INT, &status));
  check_status(&status, MPI_INT, 0);
  OK(MPI_File_close(&file));
  MPI_Type_free(&column);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(access(name, F_OK) != 0);
}

/* After a collective call that changed it, and before the next one. */
static void check_size(MPI_File file, MPI_Offset expected) {
  MPI_Offset size = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_get_size(file, &size));
  CHECK_EQUAL(size, expected);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void sizes_modes_and_group(void) {
  MPI_File file;
  MPI_Offset size = -1;
  MPI_Group group, world;
  int amode = 0, flag = -1, result = MPI_UNEQUAL;
  char name[400], last = 0;

  temporary_name(name, sizeof name, "sizes");
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
  OK(MPI_File_set_size(file, 1000));
  check_size(file, 1000);
  OK(MPI_File_preallocate(file, 500)); /* never shrinks */
  check_size(file, 1000);
  OK(MPI_File_preallocate(file, 4000));
  check_size(file, 4000);
  OK(MPI_File_set_size(file, 10));
  check_size(file, 10);
  OK(MPI_File_get_amode(file, &amode));
  CHECK_EQUAL(amode, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  OK(MPI_File_get_atomicity(file, &flag));
  CHECK_EQUAL(flag, 0);
  OK(MPI_File_set_atomicity(file, 1));
  OK(MPI_File_get_atomicity(file, &flag));
  CHECK_EQUAL(flag, 1);
  OK(MPI_File_set_atomicity(file, 0));
  OK(MPI_File_get_group(file, &group));
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &result);
  CHECK_EQUAL(result, MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  OK(MPI_File_close(&file));

  /* Append: the pointer begins at the end. */
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &file));
  OK(MPI_File_get_position(file, &size));
  CHECK_EQUAL(size, 10);
  OK(MPI_File_close(&file));

  /* A file of one rank's own, while the others have nothing open. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == ranks - 1) {
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_write_at(file, 9, "z", 1, MPI_CHAR, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at_all(file, 9, &last, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    CHECK_EQUAL(last, 'z');
    OK(MPI_File_close(&file));
    OK(MPI_File_delete(name, MPI_INFO_NULL));
    CHECK(access(name, F_OK) != 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static int info_value(MPI_File file, const char* key, char* value) {
  MPI_Info info;
  int found = 0;
  OK(MPI_File_get_info(file, &info));
  value[0] = '\0';
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL - 1, value, &found);
  MPI_Info_free(&info);
  return found;
}

static void hints(void) {
  MPI_File file;
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL + 1];

  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "1048576");
  MPI_Info_set(info, "cb_nodes", "abc");
  MPI_Info_set(info, "no_such_hint", "1");
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &file));
  CHECK(info_value(file, "cb_buffer_size", value) && strcmp(value, "1048576") == 0);
  CHECK(!info_value(file, "no_such_hint", value));
  if (plenum_expected()) {
    CHECK(info_value(file, "plenum_device", value) && strcmp(value, "posix") == 0);
    CHECK(info_value(file, "plenum_hints_rejected", value) && strcmp(value, "cb_nodes=abc") == 0);
  }
  MPI_Info_set(info, "cb_buffer_size", "2097152");
  OK(MPI_File_set_info(file, info));
  CHECK(info_value(file, "cb_buffer_size", value) && strcmp(value, "2097152") == 0);
  MPI_Info_set(info, "cb_buffer_size", "4194304");
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info));
  CHECK(info_value(file, "cb_buffer_size", value) && strcmp(value, "4194304") == 0);
  OK(MPI_File_set_info(file, MPI_INFO_NULL));
  OK(MPI_File_close(&file));
  MPI_Info_free(&info);
}

static void handles(void) {
  enum { kFiles = 20 };
  MPI_File files[kFiles], stale;
  MPI_Offset size;
  MPI_Fint fortran[kFiles];
  int i, j;
  /* of MPI-5.0: older headers do not have them */
  int (*toint)(MPI_File) = (int (*)(MPI_File))(intptr_t)dlsym(RTLD_DEFAULT, "MPI_File_toint");
  MPI_File (*fromint)(int) = (MPI_File(*)(int))(intptr_t)dlsym(RTLD_DEFAULT, "MPI_File_fromint");

  CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
  CHECK_EQUAL(MPI_File_c2f(MPI_FILE_NULL), 0); /* as both libraries' mpif.h say */
  for (i = 0; i < kFiles; ++i) {
    OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &files[i]));
    fortran[i] = MPI_File_c2f(files[i]);
    CHECK(MPI_File_f2c(fortran[i]) == files[i]);
    for (j = 0; j < i; ++j) CHECK(files[i] != files[j] && fortran[i] != fortran[j]);
  }
  if (plenum_expected()) {
    CHECK(toint != NULL && fromint != NULL);
    if (toint != NULL && fromint != NULL) CHECK(fromint(toint(files[3])) == files[3]);
  }
  for (i = 0; i < kFiles; ++i) {
    stale = files[i];
    OK(MPI_File_close(&files[i]));
    CHECK(MPI_File_get_size(stale, &size) != MPI_SUCCESS);
    if (i + 1 < kFiles) OK(MPI_File_get_size(files[i + 1], &size)); /* the others live on */
  }
}

int main(int argc, char** argv) {
  char left_open[400];
  MPI_File file;
  int result;

  begin(&argc, &argv);
  temporary_name(path, sizeof path, "basic");
  temporary_name(left_open, sizeof left_open, "left_open");
  views_and_collective_access();
  positions();
  view_is_given_back();
  noncontiguous_memory_and_short_reads();
  sizes_modes_and_group();
  hints();
  handles();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) OK(MPI_File_delete(path, MPI_INFO_NULL));

  /* MPI_Finalize closes what is still open, and what is deleted on closing goes then. */
  OK(MPI_File_open(MPI_COMM_WORLD, left_open, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &file));
  OK(MPI_File_write_at_all(file, rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK(access(left_open, F_OK) == 0);
  result = verdict();
  MPI_Finalize();
  if (plenum_expected() && rank == 0 && access(left_open, F_OK) == 0) {
    printf("the file left open is still there after MPI_Finalize\n");
    result = 1;
  }
  if (rank == 0) unlink(left_open);
  return result;
}
