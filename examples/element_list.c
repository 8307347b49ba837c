// SPDX-License-Identifier: BSD-3-Clause
//
// Writes the element list of a finite-element grid to one shared file, reads it back and verifies it.
//
//   mpicc -std=c99 -O2 -o element_list element_list.c
//   mpiexec -n 4 ./element_list [-nx N] [-ny N] [-nz N] [-f FILE] [-m column|view]
//
// The grid has nx x ny x nz nodes, hence (nx-1) x (ny-1) x (nz-1) brick elements, each a record of the numbers of its
// eight nodes. The file holds the records of one column in z after the other; columns are dealt to the processes in
// turn, so that neighbours in the file belong to different processes.
//
//   -m column   one independent call for each column, at an explicit offset, in the order of the grid loops
//   -m view     a file view that shows a process its own columns only, and one collective call for all of them
//
// Both leave the same bytes, whatever the number of processes. Rank 0 prints each phase as `phase NAME SECONDS`, the
// time of the slowest process between two barriers. The exit code is 0 only if every number read back is right.
//
// Source: the test program in the appendix of E. F. D'Azevedo and C. H. Romine, "DONIO: Distributed Object Network I/O
// Library", ORNL/TM-12743, 1994.
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kVertices = 8 };

typedef struct {
  int nodes_x, nodes_y, nodes_z;
  int elements_x, elements_y, elements_z;
  int64_t columns;       // in the whole grid
  int64_t column_ints;   // numbers in one column
  int64_t column_bytes;  // the same in bytes
} Grid;

// The columns of one process: first, first + stride, first + 2 * stride, ...
typedef struct {
  int64_t first, stride;
  int count;
} Share;

typedef struct {
  int nx, ny, nz;
  const char* path;
  int by_view;
} Options;

typedef struct {
  const char* path;
  MPI_File handle;
  MPI_Datatype column;  // one column in memory and in the file
} ListFile;

static int rank, ranks;
static double phase_start;

static void fail(const char* what, const char* path, const char* why) {
  fprintf(stderr, "element_list: rank %d: %s(%s): %s\n", rank, what, path, why);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

// MPI reports file errors to the caller by default; this program has no use for a file it cannot write.
static void check(int error, const char* call, const char* path) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  fail(call, path, text);
}

static void begin_phase(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  phase_start = MPI_Wtime();
}

static void end_phase(const char* name) {
  const double mine = MPI_Wtime() - phase_start;
  double slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("phase %s %.6f\n", name, slowest);
}

// Returns 0 if the grid has no element or needs node numbers or columns that do not fit an int.
static int make_grid(const Options* options, Grid* grid) {
  if (options->nx < 2 || options->ny < 2 || options->nz < 2) return 0;
  const int64_t plane_nodes = (int64_t)options->nx * options->ny;
  if (plane_nodes > INT_MAX / options->nz) return 0;
  grid->nodes_x = options->nx;
  grid->nodes_y = options->ny;
  grid->nodes_z = options->nz;
  grid->elements_x = options->nx - 1;
  grid->elements_y = options->ny - 1;
  grid->elements_z = options->nz - 1;
  grid->columns = (int64_t)grid->elements_x * grid->elements_y;
  grid->column_ints = (int64_t)kVertices * grid->elements_z;
  grid->column_bytes = grid->column_ints * (int64_t)sizeof(int);
  return grid->column_ints <= INT_MAX;
}

// With ix and iy counted from 1, process mod(ix + (iy - 1) * elements_x, ranks) owns a column. A process may own none.
static Share share_of_this_process(const Grid* grid) {
  Share share = {(rank + ranks - 1) % ranks, ranks, 0};
  if (share.first < grid->columns) share.count = (int)((grid->columns - share.first - 1) / share.stride + 1);
  return share;
}

// Fills the numbers of one column; ix and iy from 0, node numbers from 1 with z fastest, then x, then y.
static void number_column(const Grid* grid, int ix, int iy, int* out) {
  static const int kDx[kVertices] = {0, 1, 1, 0, 0, 1, 1, 0};
  static const int kDy[kVertices] = {0, 0, 1, 1, 0, 0, 1, 1};
  static const int kDz[kVertices] = {0, 0, 0, 0, 1, 1, 1, 1};
  for (int iz = 0; iz < grid->elements_z; ++iz) {
    for (int v = 0; v < kVertices; ++v) {
      *out++ = iz + kDz[v] + 1 + grid->nodes_z * (ix + kDx[v] + grid->nodes_x * (iy + kDy[v]));
    }
  }
}

static void number_share(const Grid* grid, const Share* share, int* list) {
  for (int i = 0; i < share->count; ++i) {
    const int64_t column = share->first + i * share->stride;
    number_column(grid, (int)(column % grid->elements_x), (int)(column / grid->elements_x),
                  list + i * grid->column_ints);
  }
}

// Each process sees its own columns as if they were the whole file: one column, then the others' as a hole.
static void set_column_view(const ListFile* file, const Grid* grid, const Share* share) {
  MPI_Datatype tile;
  MPI_Type_create_resized(file->column, 0, (MPI_Aint)(share->stride * grid->column_bytes), &tile);
  MPI_Type_commit(&tile);
  check(MPI_File_set_view(file->handle, (MPI_Offset)(share->first * grid->column_bytes), file->column, tile, "native",
                          MPI_INFO_NULL),
        "MPI_File_set_view", file->path);
  MPI_Type_free(&tile);
}

static void check_transfer(const ListFile* file, MPI_Status* status, int expected, const char* call) {
  int moved = 0;
  MPI_Get_count(status, file->column, &moved);
  if (moved != expected) fail(call, file->path, "fewer columns were transferred than asked for");
}

typedef enum { kWrite, kRead } Operation;

// Transfers the process's columns one by one, in the order of the original loops: x outside, y inside.
static void transfer_by_column(const ListFile* file, const Grid* grid, const Share* share, Operation operation,
                               int* list) {
  const char* call = operation == kWrite ? "MPI_File_write_at" : "MPI_File_read_at";
  for (int ix = 0; ix < grid->elements_x; ++ix) {
    for (int iy = 0; iy < grid->elements_y; ++iy) {
      const int64_t column = ix + (int64_t)iy * grid->elements_x;
      if ((column + 1) % ranks != rank) continue;
      int* numbers = list + (column - share->first) / share->stride * grid->column_ints;
      const MPI_Offset offset = (MPI_Offset)(column * grid->column_bytes);
      MPI_Status status;
      check(operation == kWrite ? MPI_File_write_at(file->handle, offset, numbers, 1, file->column, &status)
                                : MPI_File_read_at(file->handle, offset, numbers, 1, file->column, &status),
            call, file->path);
      check_transfer(file, &status, 1, call);
    }
  }
}

static void transfer_by_view(const ListFile* file, const Grid* grid, const Share* share, Operation operation,
                             int* list) {
  const char* call = operation == kWrite ? "MPI_File_write_all" : "MPI_File_read_all";
  set_column_view(file, grid, share);
  MPI_Status status;
  check(operation == kWrite ? MPI_File_write_all(file->handle, list, share->count, file->column, &status)
                            : MPI_File_read_all(file->handle, list, share->count, file->column, &status),
        call, file->path);
  check_transfer(file, &status, share->count, call);
}

static void open_list(ListFile* file, int amode) {
  check(MPI_File_open(MPI_COMM_WORLD, file->path, amode, MPI_INFO_NULL, &file->handle), "MPI_File_open", file->path);
}

static void close_list(ListFile* file) { check(MPI_File_close(&file->handle), "MPI_File_close", file->path); }

static void write_list(ListFile* file, const Grid* grid, const Share* share, int by_view, int* list) {
  begin_phase();
  open_list(file, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  check(MPI_File_set_size(file->handle, 0), "MPI_File_set_size", file->path);  // an older, longer list must not show
  end_phase("wopen");

  begin_phase();
  (by_view ? transfer_by_view : transfer_by_column)(file, grid, share, kWrite, list);
  end_phase("write");

  begin_phase();
  close_list(file);
  end_phase("wclose");
}

// Returns how many numbers of this process are wrong.
static int64_t count_wrong(const Grid* grid, const Share* share, const int* list, int* expected) {
  int64_t wrong = 0;
  for (int i = 0; i < share->count; ++i) {
    const int64_t column = share->first + i * share->stride;
    number_column(grid, (int)(column % grid->elements_x), (int)(column / grid->elements_x), expected);
    for (int64_t k = 0; k < grid->column_ints; ++k) wrong += list[i * grid->column_ints + k] != expected[k];
  }
  return wrong;
}

// Returns how many numbers in the file are wrong; a file of the wrong length counts as one more.
static int64_t read_list(ListFile* file, const Grid* grid, const Share* share, int by_view, int* list, int* expected) {
  begin_phase();
  open_list(file, MPI_MODE_RDONLY);
  end_phase("ropen");

  begin_phase();
  (by_view ? transfer_by_view : transfer_by_column)(file, grid, share, kRead, list);
  end_phase("read");

  begin_phase();
  int64_t wrong = count_wrong(grid, share, list, expected);
  MPI_Offset size = 0;
  check(MPI_File_get_size(file->handle, &size), "MPI_File_get_size", file->path);
  if (rank == 0 && size != grid->columns * grid->column_bytes) ++wrong;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  end_phase("verify");

  begin_phase();
  close_list(file);
  end_phase("rclose");
  return wrong;
}

static void* allocate(int64_t bytes) {
  void* memory = malloc(bytes > 0 ? (size_t)bytes : 1);
  if (!memory) fail("malloc", "element list", "not enough memory");
  return memory;
}

static int run(const Options* options, const Grid* grid) {
  const Share share = share_of_this_process(grid);
  ListFile file = {options->path, MPI_FILE_NULL, MPI_DATATYPE_NULL};
  MPI_Type_contiguous((int)grid->column_ints, MPI_INT, &file.column);
  MPI_Type_commit(&file.column);
  int* list = allocate(share.count * grid->column_bytes);
  int* expected = allocate(grid->column_bytes);

  number_share(grid, &share, list);
  write_list(&file, grid, &share, options->by_view, list);
  memset(list, 0, (size_t)(share.count * grid->column_bytes));  // node numbers start at 1: nothing stale can pass
  const int64_t wrong = read_list(&file, grid, &share, options->by_view, list, expected);

  free(expected);
  free(list);
  MPI_Type_free(&file.column);
  if (rank == 0) {
    const long long numbers = (long long)(grid->columns * grid->column_ints);
    printf("bytes %lld\n", (long long)(grid->columns * grid->column_bytes));
    if (wrong)
      fprintf(stderr, "element_list: %s: %lld of %lld numbers are wrong\n", file.path, (long long)wrong, numbers);
    else
      printf("verified %lld numbers\n", numbers);
  }
  return wrong == 0;
}

static int parse_int(const char* text, int* value) {
  char* end = NULL;
  const long parsed = strtol(text, &end, 10);
  if (end == text || *end || parsed < 0 || parsed > INT_MAX) return 0;
  *value = (int)parsed;
  return 1;
}

static int parse_mode(const char* text, int* by_view) {
  *by_view = strcmp(text, "view") == 0;
  return *by_view || strcmp(text, "column") == 0;
}

static int parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; i += 2) {
    const char* name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : NULL;
    int ok = 0;
    if (!value) return 0;
    if (strcmp(name, "-nx") == 0) ok = parse_int(value, &options->nx);
    if (strcmp(name, "-ny") == 0) ok = parse_int(value, &options->ny);
    if (strcmp(name, "-nz") == 0) ok = parse_int(value, &options->nz);
    if (strcmp(name, "-m") == 0) ok = parse_mode(value, &options->by_view);
    if (strcmp(name, "-f") == 0) ok = (options->path = value)[0] != '\0';
    if (!ok) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  Options options = {121, 121, 91, "element_list.bin", 0};
  Grid grid;
  int status = EXIT_FAILURE;
  if (!parse(argc, argv, &options)) {
    if (rank == 0) fputs("usage: element_list [-nx N] [-ny N] [-nz N] [-f FILE] [-m column|view]\n", stderr);
  } else if (!make_grid(&options, &grid)) {
    if (rank == 0) fputs("element_list: each of nx, ny, nz must be at least 2, their product below 2^31\n", stderr);
  } else if (run(&options, &grid)) {
    status = EXIT_SUCCESS;
  }
  MPI_Finalize();
  return status;
}
