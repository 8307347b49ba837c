/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ADIO in one page: the processes deal the lines of one text file among themselves, write them together, and check the
 * file.
 *
 *   mpicc -std=c99 -o adio_hello adio_hello.c -lplenum
 *   mpiexec -n 4 ./adio_hello [FILE]
 *
 * Line i belongs to process i mod N. Each process sees its own lines only, writes all of them with one collective call,
 * and reads the whole file back while it could do something else. ADIO is for those who write I/O interfaces: see
 * plenum/adio.h.
 */
#include <mpi.h>
#include <plenum/adio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLine = 32, kLinesEach = 1000 };

static void check(int error, const char* call) {
  if (error == MPI_SUCCESS) return;
  fprintf(stderr, "adio_hello: %s: %s\n", call, ADIO_Error_string(error));
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* Line `i` of the file, kLine bytes with the newline. */
static void make_line(int i, int rank, char* line) {
  char text[2 * kLine]; /* numbers of any size; the line takes the usual ones */
  snprintf(text, sizeof text, "line %6d of process %6d    \n", i, rank);
  memcpy(line, text, kLine);
}

static void write_own_lines(ADIO_File file, int rank, int ranks) {
  char* lines = malloc((size_t)kLinesEach * kLine);
  for (int k = 0; k < kLinesEach; ++k) make_line(k * ranks + rank, rank, lines + (size_t)k * kLine);
  int error;
  ADIO_WriteStridedColl(file, lines, kLinesEach * kLine, MPI_CHAR, ADIO_EXPLICIT_OFFSET, 0, ADIO_STATUS_IGNORE, &error);
  check(error, "ADIO_WriteStridedColl");
  free(lines);
}

/* Returns how many lines are wrong. */
static int check_whole_file(ADIO_File file, int ranks) {
  const int lines = kLinesEach * ranks;
  char* text = calloc((size_t)lines, kLine);
  ADIO_Request request;
  ADIO_Status status;
  int error;
  ADIO_IreadContig(file, text, lines * kLine, ADIO_EXPLICIT_OFFSET, 0, &request, &error);
  check(error, "ADIO_IreadContig");
  while (!ADIO_ReadDone(request)) {
    /* time for something else */
  }
  ADIO_ReadComplete(request, &status, &error);
  check(error, "ADIO_ReadComplete");

  int wrong = ADIO_Bytes(&status) != (MPI_Count)lines * kLine;
  for (int i = 0; i < lines; ++i) {
    char expected[kLine];
    make_line(i, i % ranks, expected);
    wrong += memcmp(text + (size_t)i * kLine, expected, kLine) != 0;
  }
  free(text);
  return wrong;
}

int main(int argc, char** argv) {
  int rank, ranks, error;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ADIO_Init(&argc, &argv, &error);
  check(error, "ADIO_Init");
  const char* name = argc > 1 ? argv[1] : "adio_hello.txt";

  MPI_Datatype line, own;
  MPI_Type_contiguous(kLine, MPI_CHAR, &line);
  MPI_Type_create_resized(line, 0, (MPI_Aint)kLine * ranks, &own);
  MPI_Type_commit(&own);
  ADIO_File file = ADIO_Open(MPI_COMM_WORLD, name, NULL, ADIO_CREATE | ADIO_RDWR, (ADIO_Offset)rank * kLine, MPI_CHAR,
                             own, ADIO_IOMODE_NULL, NULL, ADIO_PERM_NULL, &error);
  check(error, "ADIO_Open");
  MPI_Type_free(&own);
  MPI_Type_free(&line);

  ADIO_Resize(file, 0, &error); /* an older, longer file must not show */
  check(error, "ADIO_Resize");
  write_own_lines(file, rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  int wrong = check_whole_file(file, ranks);

  ADIO_Hints* facts = ADIO_Get_hints(file, &error);
  check(error, "ADIO_Get_hints");
  if (rank == 0) {
    const char* strategies = ADIO_Hints_get(facts, "plenum_strategies");
    printf("%s: %d lines of %d processes; %s\n", name, kLinesEach * ranks, ranks, strategies ? strategies : "");
  }
  ADIO_Hints_free(&facts);
  ADIO_Close(file, &error);
  check(error, "ADIO_Close");

  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && wrong) printf("%d lines are wrong\n", wrong);
  if (rank == 0 && !wrong) printf("all lines are right\n");
  ADIO_End(&error);
  MPI_Finalize();
  return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
