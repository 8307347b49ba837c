/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bad input: each case gives the error class that the standard names, on every rank, with a text that says path,
 * operation, rank and reason; nobody hangs, and no byte outside of the access changes.
 *
 * PLENUM_TEST_SMALL_FS, if set, is a folder on a file system of a few MiB, to be filled up.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>

#include "preload.h"

static char folder[400], path[440];

/* `code` is of class `class`, and its text has what a user needs to know. */
static void expect_text(int line, int code, int class, const char* operation, const char* name, const char* reason) {
  const char* parts[] = {operation, name, reason, "rank "};
  const char* text = text_of(code);
  int found = MPI_SUCCESS;
  size_t i;
  MPI_Error_class(code, &found);
  if (found != class) FAIL("line %d: class %d instead of %d: %s", line, found, class, text);
  for (i = 0; code != MPI_SUCCESS && i < sizeof parts / sizeof parts[0]; ++i)
    if (strstr(text, parts[i]) == NULL) FAIL("line %d: \"%s\" is not in: %s", line, parts[i], text);
}

/* Calls MPI_File_<function> with the arguments behind it. */
#define EXPECT(class, name, reason, function, ...) \
  expect_text(__LINE__, MPI_File_##function(__VA_ARGS__), class, "MPI_File_" #function, name, reason)

static const char content[] = "0123456789abcdefghijklmnopqrstuvwxyz";
enum { kContent = sizeof content - 1 };

/* A fresh file with `content`. Collective. */
static void make_file(mode_t mode) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    FILE* file;
    unlink(path);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(content, 1, kContent, file) != kContent || fclose(file) != 0)
      FAIL("cannot make %s", path);
    chmod(path, mode);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void check_unchanged(void) {
  char found[kContent + 2] = "";
  FILE* file;
  MPI_Barrier(MPI_COMM_WORLD);
  file = fopen(path, "rb");
  CHECK(file != NULL);
  if (file != NULL) {
    CHECK_EQUAL(fread(found, 1, sizeof found, file), kContent);
    CHECK(memcmp(found, content, kContent) == 0);
    fclose(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_File open_file(int amode) {
  MPI_File file = MPI_FILE_NULL;
  OK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file));
  return file;
}

static void opening(void) {
  char missing[500], prefixed[500], long_name[900];
  MPI_File file;
  size_t i;

  snprintf(missing, sizeof missing, "%s/nowhere/u.dat", folder);
  EXPECT(MPI_ERR_NO_SUCH_FILE, missing, "o such file", open, MPI_COMM_WORLD, missing, MPI_MODE_CREATE | MPI_MODE_RDWR,
         MPI_INFO_NULL, &file);
  CHECK(file == MPI_FILE_NULL);
  EXPECT(MPI_ERR_NO_SUCH_FILE, missing, "o such file", open, MPI_COMM_WORLD, missing, MPI_MODE_RDONLY, MPI_INFO_NULL,
         &file);
  snprintf(missing, sizeof missing, "%s/missing.dat", folder);
  EXPECT(MPI_ERR_NO_SUCH_FILE, missing, "o such file", open, MPI_COMM_WORLD, missing, MPI_MODE_RDWR, MPI_INFO_NULL,
         &file);
  EXPECT(MPI_ERR_NO_SUCH_FILE, missing, "o such file", delete, missing, MPI_INFO_NULL);

  EXPECT(MPI_ERR_BAD_FILE, folder, "irectory", open, MPI_COMM_WORLD, folder, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  EXPECT(MPI_ERR_BAD_FILE, folder, "irectory", open, MPI_COMM_WORLD, folder, MPI_MODE_CREATE | MPI_MODE_RDWR,
         MPI_INFO_NULL, &file);
  EXPECT(MPI_ERR_BAD_FILE, folder, "irectory", delete, folder, MPI_INFO_NULL);
  EXPECT(MPI_ERR_BAD_FILE, "", "empty", open, MPI_COMM_WORLD, "", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  snprintf(prefixed, sizeof prefixed, "nosuchdevice:%s", path);
  EXPECT(MPI_ERR_BAD_FILE, prefixed, "nosuchdevice", open, MPI_COMM_WORLD, prefixed, MPI_MODE_CREATE | MPI_MODE_RDWR,
         MPI_INFO_NULL, &file);

  make_file(0644);
  EXPECT(MPI_ERR_FILE_EXISTS, path, "exists", open, MPI_COMM_WORLD, path,
         MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  check_unchanged();

  /* Of a long text the reason stays, and the ends of the path. */
  snprintf(long_name, sizeof long_name, "%s/", folder);
  for (i = strlen(long_name); i < 700; ++i) long_name[i] = i % 50 == 0 ? '/' : 'a';
  strcpy(long_name + 700, "/u.dat");
  EXPECT(MPI_ERR_NO_SUCH_FILE, "/u.dat", "o such file", open, MPI_COMM_WORLD, long_name, MPI_MODE_RDONLY, MPI_INFO_NULL,
         &file);
}

static void access_modes(void) {
  const int wrong[] = {0,
                       MPI_MODE_CREATE,
                       MPI_MODE_RDONLY | MPI_MODE_RDWR,
                       MPI_MODE_RDONLY | MPI_MODE_WRONLY,
                       MPI_MODE_WRONLY | MPI_MODE_RDWR,
                       MPI_MODE_RDONLY | MPI_MODE_CREATE,
                       MPI_MODE_RDONLY | MPI_MODE_EXCL,
                       MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
                       MPI_MODE_RDWR | (1 << 20)};
  MPI_File file;
  char bytes[4] = "abc";
  size_t i;

  make_file(0644);
  for (i = 0; i < sizeof wrong / sizeof wrong[0]; ++i)
    EXPECT(MPI_ERR_AMODE, path, "mode", open, MPI_COMM_WORLD, path, wrong[i], MPI_INFO_NULL, &file);

  if (ranks > 1) {
    /* another mode on one rank; and a wrong one on one rank */
    EXPECT(MPI_ERR_NOT_SAME, path, "mode", open, MPI_COMM_WORLD, path,
           rank == ranks - 1 ? MPI_MODE_RDONLY : MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    EXPECT(MPI_ERR_AMODE, path, "mode", open, MPI_COMM_WORLD, path, rank == ranks - 1 ? 0 : MPI_MODE_RDWR,
           MPI_INFO_NULL, &file);
  }

  file = open_file(MPI_MODE_RDONLY);
  EXPECT(MPI_ERR_READ_ONLY, path, "only", write_at, file, 0, bytes, 3, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_READ_ONLY, path, "only", write_all, file, bytes, 3, MPI_CHAR, MPI_STATUS_IGNORE);
  OK(MPI_File_close(&file));
  file = open_file(MPI_MODE_WRONLY);
  EXPECT(MPI_ERR_ACCESS, path, "only", read_at_all, file, 0, bytes, 3, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_ACCESS, path, "only", read, file, bytes, 3, MPI_CHAR, MPI_STATUS_IGNORE);
  OK(MPI_File_close(&file));
  CHECK(strcmp(bytes, "abc") == 0);
  check_unchanged();
}

/* Permissions stop everybody but root, who becomes somebody else for a while. */
static void permissions(void) {
  const uid_t me = geteuid();
  char secret[500];
  MPI_File file;

  make_file(0444);
  snprintf(secret, sizeof secret, "%s/secret", folder);
  if (rank == 0 && (mkdir(secret, 0700) != 0 || chmod(secret, me == 0 ? 0700 : 0) != 0)) FAIL("cannot make %s", secret);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0 && seteuid(65534) != 0) FAIL("cannot give up root's rights");
  EXPECT(MPI_ERR_ACCESS, path, "ermission", open, MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  strcat(secret, "/u.dat");
  EXPECT(MPI_ERR_ACCESS, secret, "ermission", open, MPI_COMM_WORLD, secret, MPI_MODE_CREATE | MPI_MODE_WRONLY,
         MPI_INFO_NULL, &file);
  if (me == 0 && seteuid(0) != 0) FAIL("cannot get root's rights back");
  *strrchr(secret, '/') = '\0';
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && rmdir(secret) != 0) FAIL("cannot remove %s", secret);
  check_unchanged();
}

static void views(void) {
  const int lengths[2] = {1, 1}, backwards[2] = {4, 0};
  MPI_File file;
  MPI_Datatype type;
  MPI_Offset byte = -1;
  char found[3] = "";

  make_file(0644);
  file = open_file(MPI_MODE_RDWR);
  OK(MPI_File_set_view(file, 2, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL));
  EXPECT(MPI_ERR_ARG, path, "negative", set_view, file, -1, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  EXPECT(MPI_ERR_ARG, path, "MPI_DISPLACEMENT_CURRENT", set_view, file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE,
         "native", MPI_INFO_NULL);
  MPI_Type_contiguous(6, MPI_CHAR, &type);
  MPI_Type_commit(&type);
  EXPECT(MPI_ERR_TYPE, path, "etype", set_view, file, 0, MPI_INT, type, "native", MPI_INFO_NULL);
  MPI_Type_free(&type);
  MPI_Type_indexed(2, lengths, backwards, MPI_INT, &type);
  MPI_Type_commit(&type);
  EXPECT(MPI_ERR_TYPE, path, "filetype", set_view, file, 0, MPI_INT, type, "native", MPI_INFO_NULL);
  MPI_Type_free(&type);
  EXPECT(MPI_ERR_TYPE, path, "MPI_DATATYPE_NULL", set_view, file, 0, MPI_DATATYPE_NULL, MPI_BYTE, "native",
         MPI_INFO_NULL);
  EXPECT(MPI_ERR_TYPE, path, "MPI_DATATYPE_NULL", set_view, file, 0, MPI_BYTE, MPI_DATATYPE_NULL, "native",
         MPI_INFO_NULL);
  EXPECT(MPI_ERR_UNSUPPORTED_DATAREP, path, "external32", set_view, file, 0, MPI_INT, MPI_INT, "external32",
         MPI_INFO_NULL);
  EXPECT(MPI_ERR_UNSUPPORTED_DATAREP, path, "klingon", set_view, file, 0, MPI_INT, MPI_INT, "klingon", MPI_INFO_NULL);
  if (ranks > 1) {
    /* one rank's bad argument is everybody's error */
    EXPECT(MPI_ERR_ARG, path, "negative", set_view, file, rank == ranks - 1 ? -5 : 0, MPI_BYTE, MPI_BYTE, "native",
           MPI_INFO_NULL);
    EXPECT(MPI_ERR_TYPE, path, "MPI_DATATYPE_NULL", set_view, file, 0, MPI_BYTE,
           rank == 0 ? MPI_DATATYPE_NULL : MPI_BYTE, "native", MPI_INFO_NULL);
    EXPECT(MPI_ERR_NOT_SAME, path, "etype", set_view, file, 0, rank == 0 ? MPI_CHAR : MPI_INT,
           rank == 0 ? MPI_CHAR : MPI_INT, "native", MPI_INFO_NULL);
  }
  /* after all that the view is the one that was set */
  OK(MPI_File_get_byte_offset(file, 5, &byte));
  CHECK_EQUAL(byte, 7);
  OK(MPI_File_read_at_all(file, 1, found, 2, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK(memcmp(found, content + 3, 2) == 0);
  EXPECT(MPI_ERR_ARG, path, "negative", get_byte_offset, file, -1, &byte);
  OK(MPI_File_close(&file));
  check_unchanged();
}

static void data_access(void) {
  MPI_File file;
  MPI_Aint extent;
  char bytes[8] = "XXXXXXX";

  make_file(0644);
  file = open_file(MPI_MODE_RDWR);
  EXPECT(MPI_ERR_COUNT, path, "negative", write_at, file, 0, bytes, -1, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_COUNT, path, "negative", write_all, file, bytes, -1, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_TYPE, path, "MPI_DATATYPE_NULL", write, file, bytes, 3, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_TYPE, path, "MPI_DATATYPE_NULL", get_type_extent, file, MPI_DATATYPE_NULL, &extent);
  EXPECT(MPI_ERR_ARG, path, "negative", read_at, file, -1, bytes, 3, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_ARG, path, "negative", write_at_all, file, -7, bytes, 3, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_BUFFER, path, "null", write_at, file, 0, NULL, 3, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_ARG, path, "whence", seek, file, 0, 12345);
  EXPECT(MPI_ERR_ARG, path, "before the beginning", seek, file, -1, MPI_SEEK_SET);
  EXPECT(MPI_ERR_ARG, path, "negative", set_size, file, -1);
  EXPECT(MPI_ERR_ARG, path, "negative", preallocate, file, -1);
  if (ranks > 1) {
    /* one rank's bad argument is everybody's error, and nothing is written */
    EXPECT(MPI_ERR_COUNT, path, "negative", write_at_all, file, rank, bytes, rank == ranks - 1 ? -1 : 1, MPI_CHAR,
           MPI_STATUS_IGNORE);
    EXPECT(MPI_ERR_TYPE, path, "MPI_DATATYPE_NULL", write_at_all, file, rank, bytes, 1,
           rank == 0 ? MPI_DATATYPE_NULL : MPI_CHAR, MPI_STATUS_IGNORE);
    EXPECT(MPI_ERR_NOT_SAME, path, "size", set_size, file, rank == 0 ? 10 : 20);
  }
  OK(MPI_File_close(&file));
  check_unchanged();
}

static void bad_handles(void) {
  /* no handle, but an address */
  static double garbage[64];
  MPI_File file, closed, none;
  MPI_Offset size;
  MPI_Status status;
  char byte = 'x';

  make_file(0644);
  file = open_file(MPI_MODE_RDWR);
  closed = file;
  OK(MPI_File_close(&file));
  memcpy(&none, &(void*){garbage + 3}, sizeof none);
  EXPECT(MPI_ERR_FILE, "MPI_FILE_NULL", "handle", close, &file);
  EXPECT(MPI_ERR_FILE, "MPI_FILE_NULL", "handle", write_at_all, MPI_FILE_NULL, 0, &byte, 1, MPI_CHAR, &status);
  EXPECT(MPI_ERR_FILE, "MPI_FILE_NULL", "handle", read, MPI_FILE_NULL, &byte, 1, MPI_CHAR, &status);
  EXPECT(MPI_ERR_FILE, "closed", "handle", write_at, closed, 0, &byte, 1, MPI_CHAR, &status);
  EXPECT(MPI_ERR_FILE, "closed", "handle", set_view, closed, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  EXPECT(MPI_ERR_FILE, "closed", "handle", close, &closed);
  EXPECT(MPI_ERR_FILE, "handle", "handle", get_size, none, &size);
  EXPECT(MPI_ERR_FILE, "handle", "handle", sync, none);
  check_unchanged();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_COMM, "", "communicator", open, MPI_COMM_NULL, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* What is not there yet says so, and does nothing. */
static void not_yet(void) {
  const char* reason = "not supported yet";
  MPI_File file;
  MPI_Offset offset;
  MPI_Request request;
  char bytes[3] = "XX";

  make_file(0644);
  file = open_file(MPI_MODE_RDWR);
  memset(&request, 0, sizeof request);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, path, reason, iwrite_at, file, 0, bytes, 2, MPI_CHAR, &request);
  CHECK(request == MPI_REQUEST_NULL);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, path, reason, iread_all, file, bytes, 2, MPI_CHAR, &request);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, path, reason, write_shared, file, bytes, 2, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, path, reason, iread_shared, file, bytes, 2, MPI_CHAR, &request);
  CHECK(request == MPI_REQUEST_NULL);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, path, reason, write_ordered, file, bytes, 2, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, path, reason, seek_shared, file, 0, MPI_SEEK_SET);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, path, reason, get_position_shared, file, &offset);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, path, reason, write_at_all_begin, file, 0, bytes, 2, MPI_CHAR);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, path, reason, write_at_all_end, file, bytes, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, path, reason, read_ordered_begin, file, bytes, 2, MPI_CHAR);
  OK(MPI_File_close(&file));
  check_unchanged();
}

/* A file system that runs full: collectively, and for each rank alone. */
static void no_space(void) {
  enum { kTooMuch = 64 << 20 };
  const char* small = getenv("PLENUM_TEST_SMALL_FS");
  char name[500], *bytes, found[8] = "";
  MPI_File file;

  if (small == NULL || *small == '\0') return;
  bytes = malloc(kTooMuch);
  CHECK(bytes != NULL);
  if (bytes == NULL) return;
  memset(bytes, 'x', kTooMuch);
  snprintf(name, sizeof name, "%s/full_%d_ranks.dat", small, ranks);
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_File_write_at_all(file, rank, "ABCDEFGH" + rank, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  /* the first rank alone has too much to write, and all of them get the error */
  EXPECT(MPI_ERR_NO_SPACE, name, "o space", write_at_all, file, rank == 0 ? 4096 : 100 + rank, bytes,
         rank == 0 ? kTooMuch : 1, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_NO_SPACE, name, "o space", write_at, file, 4096 + (MPI_Offset)rank * kTooMuch, bytes, kTooMuch,
         MPI_CHAR, MPI_STATUS_IGNORE);
  OK(MPI_File_read_at_all(file, 0, found, ranks < 8 ? ranks : 8, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK(strncmp(found, "ABCDEFGH", (size_t)(ranks < 8 ? ranks : 8)) == 0);
  EXPECT(MPI_ERR_NO_SPACE, name, "o space", preallocate, file, (MPI_Offset)1 << 40);
  OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
  free(bytes);
}

/* A malformed hint in the user's environment, on one rank: the open fails on all of them, and says which hint. */
static void malformed_environment(void) {
  MPI_File file = MPI_FILE_NULL;
  make_file(0644);
  if (rank == ranks - 1) setenv("PLENUM_HINTS", "cb_nodes=abc", 1);
  EXPECT(MPI_ERR_INFO_VALUE, path, "cb_nodes=abc", open, MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  CHECK(file == MPI_FILE_NULL);
  unsetenv("PLENUM_HINTS");
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_File_close(&file));
  check_unchanged();
}

int main(int argc, char** argv) {
  int result;
  begin(&argc, &argv);
  temporary_name(folder, sizeof folder, "errors");
  snprintf(path, sizeof path, "%s/u.dat", folder);
  if (rank == 0 && (mkdir(folder, 0755) != 0 || chmod(folder, 0755) != 0)) FAIL("cannot make %s", folder);
  MPI_Barrier(MPI_COMM_WORLD);
  opening();
  access_modes();
  permissions();
  views();
  data_access();
  bad_handles();
  not_yet();
  malformed_environment();
  no_space();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    unlink(path);
    rmdir(folder);
  }
  result = verdict();
  MPI_Finalize();
  return result;
}
