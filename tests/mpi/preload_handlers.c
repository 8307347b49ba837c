/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Error handlers of files: the default one, inheritance, the program's own, and the life of their handles.
 *
 * With the argument "fatal" or "abort" the program sets MPI_ERRORS_ARE_FATAL or MPI_ERRORS_ABORT and makes an error: it
 * must not come to its end.
 */
#include "preload.h"

static int calls;
static MPI_File last_file;
static int last_code;

static void note(MPI_File* file, int* code, ...) {
  ++calls;
  last_file = *file;
  last_code = *code;
}

static int other_calls;
static void note_other(MPI_File* file, int* code, ...) {
  (void)file;
  (void)code;
  ++other_calls;
}

static void communicator_handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
}

static const char* missing = "/nonexistent/plenum/u.dat";

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

static void the_default_returns(void) {
  MPI_File file;
  MPI_Errhandler handler;
  OK(MPI_File_get_errhandler(MPI_FILE_NULL, &handler));
  CHECK(handler == MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  CHECK_EQUAL(class_of(MPI_File_open(MPI_COMM_WORLD, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &file)),
              MPI_ERR_NO_SUCH_FILE);
  CHECK_EQUAL(class_of(MPI_File_delete(missing, MPI_INFO_NULL)), MPI_ERR_NO_SUCH_FILE);
}

static void a_handler_of_ones_own(const char* path) {
  MPI_File file, second;
  MPI_Errhandler handler, other, got;
  int code, i;

  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_File_create_errhandler(note, &handler));
  OK(MPI_File_set_errhandler(file, handler));
  OK(MPI_File_get_errhandler(file, &got));
  CHECK(got == handler);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler); /* the file keeps it */
  CHECK(handler == MPI_ERRHANDLER_NULL);

  code = MPI_File_seek(file, -3, MPI_SEEK_SET);
  CHECK_EQUAL(class_of(code), MPI_ERR_ARG);
  CHECK_EQUAL(calls, 1);
  CHECK(last_file == file);
  CHECK_EQUAL(last_code, code);

  /* A collective error comes to every rank's handler. */
  CHECK(MPI_File_write_all(file, "x", rank == 0 ? -1 : 1, MPI_CHAR, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  CHECK_EQUAL(calls, 2);
  OK(MPI_File_call_errhandler(file, MPI_ERR_OTHER));
  CHECK_EQUAL(calls, 3);
  CHECK_EQUAL(last_code, MPI_ERR_OTHER);

  /* New handlers do not disturb it, however many come and go. */
  for (i = 0; i < 50; ++i) {
    OK(MPI_File_create_errhandler(note_other, &other));
    MPI_Errhandler_free(&other);
  }
  OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &second));
  OK(MPI_File_create_errhandler(note_other, &other));
  OK(MPI_File_set_errhandler(second, other));
  CHECK(MPI_File_seek(second, -3, MPI_SEEK_SET) != MPI_SUCCESS);
  CHECK_EQUAL(other_calls, 1);
  CHECK(MPI_File_seek(file, -3, MPI_SEEK_SET) != MPI_SUCCESS);
  CHECK_EQUAL(calls, 4);
  OK(MPI_File_set_errhandler(second, MPI_ERRORS_RETURN));
  CHECK(MPI_File_seek(second, -3, MPI_SEEK_SET) != MPI_SUCCESS);
  CHECK_EQUAL(other_calls, 1);
  OK(MPI_File_get_errhandler(second, &got));
  CHECK(got == MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&other);
  OK(MPI_File_close(&second));
  OK(MPI_File_close(&file));
}

static void the_default_is_inherited(const char* path) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Errhandler handler;
  calls = 0;
  OK(MPI_File_create_errhandler(note, &handler));
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
  MPI_Errhandler_free(&handler);
  CHECK(MPI_File_open(MPI_COMM_WORLD, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
  CHECK_EQUAL(calls, 1);
  CHECK(last_file == MPI_FILE_NULL);
  CHECK(MPI_File_delete(missing, MPI_INFO_NULL) != MPI_SUCCESS);
  CHECK_EQUAL(calls, 2);
  CHECK(MPI_File_sync(MPI_FILE_NULL) != MPI_SUCCESS);
  CHECK_EQUAL(calls, 3);
  OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO));
  CHECK_EQUAL(calls, 4);

  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  CHECK(MPI_File_seek(file, -3, MPI_SEEK_SET) != MPI_SUCCESS);
  CHECK_EQUAL(calls, 5);
  CHECK(last_file == file);
  OK(MPI_File_close(&file));
  CHECK(MPI_File_delete(missing, MPI_INFO_NULL) != MPI_SUCCESS);
  CHECK_EQUAL(calls, 5);
}

static void what_is_no_handler_of_files(void) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(communicator_handler, &handler);
  CHECK_EQUAL(class_of(MPI_File_set_errhandler(MPI_FILE_NULL, handler)), MPI_ERR_ARG);
  CHECK_EQUAL(class_of(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRHANDLER_NULL)), MPI_ERR_ARG);
  MPI_Errhandler_free(&handler);
}

/* The texts of the last few errors stay, each with its code. */
static void texts_stay(void) {
  enum { kErrors = 10 };
  int codes[kErrors], i;
  char name[100];
  for (i = 0; i < kErrors; ++i) {
    snprintf(name, sizeof name, "/nonexistent/plenum/file_%d.dat", i);
    codes[i] = MPI_File_delete(name, MPI_INFO_NULL);
  }
  for (i = 0; i < kErrors; ++i) {
    snprintf(name, sizeof name, "/nonexistent/plenum/file_%d.dat", i);
    CHECK_EQUAL(class_of(codes[i]), MPI_ERR_NO_SUCH_FILE);
    if (strstr(text_of(codes[i]), name) == NULL) FAIL("%s is not in: %s", name, text_of(codes[i]));
  }
}

static void end_with(const char* how) {
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
#ifdef MPI_ERRORS_ABORT
  if (strcmp(how, "abort") == 0) handler = MPI_ERRORS_ABORT;
#endif
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
  MPI_File_delete(missing, MPI_INFO_NULL);
  printf("not reached: %s\n", how);
  exit(0);
}

int main(int argc, char** argv) {
  char path[400];
  int result;
  begin(&argc, &argv);
  if (argc > 1) end_with(argv[1]);
  temporary_name(path, sizeof path, "handlers");
  the_default_returns();
  what_is_no_handler_of_files(); /* first: later a handle might be one that has been freed */
  a_handler_of_ones_own(path);
  the_default_is_inherited(path);
  texts_stay();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) OK(MPI_File_delete(path, MPI_INFO_NULL));
  result = verdict();
  MPI_Finalize();
  return result;
}
