/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the preloaded test programs share. They are programs as a user writes them: MPI and nothing else. Each prints
 * "No Errors" and ends with 0, or says what went wrong and ends with 1.
 *
 * Environment: PLENUM_EXPECTED=1 makes them insist that it is Plenum that carries out MPI-IO; TMPDIR is where their
 * files go.
 */
#ifndef PLENUM_TESTS_PRELOAD_H
#define PLENUM_TESTS_PRELOAD_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;
static int failures;

/* At most this many failures are told: the first ones matter. */
enum { kMaxTold = 20 };

#define FAIL(...)                                           \
  do {                                                      \
    if (failures++ < kMaxTold) {                            \
      printf("%s:%d, rank %d: ", __FILE__, __LINE__, rank); \
      printf(__VA_ARGS__);                                  \
      printf("\n");                                         \
      fflush(stdout);                                       \
    }                                                       \
  } while (0)

#define CHECK(condition)                              \
  do {                                                \
    if (!(condition)) FAIL("not so: %s", #condition); \
  } while (0)

#define CHECK_EQUAL(actual, expected)                                                          \
  do {                                                                                         \
    const long long actual_ = (long long)(actual), expected_ = (long long)(expected);          \
    if (actual_ != expected_) FAIL("%s is %lld instead of %lld", #actual, actual_, expected_); \
  } while (0)

/* The call succeeds. */
#define OK(call)                                                     \
  do {                                                               \
    const int code_ = (call);                                        \
    if (code_ != MPI_SUCCESS) FAIL("%s: %s", #call, text_of(code_)); \
  } while (0)

static const char* text_of(int code) {
  static char text[MPI_MAX_ERROR_STRING + 1];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) strcpy(text, "no text");
  return text;
}

/* Opens and deletes fail quietly, and other MPI functions loudly, as by default. */
static inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

/* A name that all ranks share and no other test has. */
static inline void temporary_name(char* name, size_t size, const char* stem) {
  int process = (int)getpid();
  const char* folder = getenv("TMPDIR");
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(name, size, "%s/plenum_%d_%s", folder != NULL && *folder != '\0' ? folder : "/tmp", process, stem);
}

static inline int plenum_expected(void) {
  const char* expected = getenv("PLENUM_EXPECTED");
  return expected != NULL && strcmp(expected, "1") == 0;
}

/* Sums up the failures of all ranks. The program's exit status; call it once, before MPI_Finalize. */
static inline int verdict(void) {
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (all == 0 && rank == 0) printf("No Errors\n");
  if (all != 0 && rank == 0) printf("%d failures\n", all);
  fflush(stdout);
  return all == 0 ? 0 : 1;
}

#endif
