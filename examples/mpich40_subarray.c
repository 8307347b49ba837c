// SPDX-License-Identifier: BSD-3-Clause
//
// Lets MPICH 4.0's own MPI-IO run mpi4py programs with subarray views, so that there is something to compare with.
//
//   mpicc -shared -fPIC -o mpich40_subarray.so mpich40_subarray.c
//   mpiexec -n 4 env LD_PRELOAD=./mpich40_subarray.so python -m mpi4py land_mask.py write mask.bin
//
// mpi4py 4 makes every datatype with the large-count functions of MPI-4. The MPI-IO inside MPICH before 4.1 cannot
// decode such types and aborts in MPI_File_set_view (https://github.com/pmodels/mpich/issues/6121). This makes the same
// subarray with the older function. Plenum does not need it.
#include <limits.h>
#include <mpi.h>

enum { kMaxDimensions = 16 };

static int fits(const MPI_Count value) { return value >= 0 && value <= INT_MAX; }

int MPI_Type_create_subarray_c(int dimensions, const MPI_Count sizes[], const MPI_Count subsizes[],
                               const MPI_Count starts[], int order, MPI_Datatype old_type, MPI_Datatype* new_type) {
  int small[3][kMaxDimensions];
  int all_fit = dimensions >= 0 && dimensions <= kMaxDimensions;
  for (int d = 0; all_fit && d < dimensions; ++d) {
    all_fit = fits(sizes[d]) && fits(subsizes[d]) && fits(starts[d]);
    small[0][d] = (int)sizes[d];
    small[1][d] = (int)subsizes[d];
    small[2][d] = (int)starts[d];
  }
  if (!all_fit) return PMPI_Type_create_subarray_c(dimensions, sizes, subsizes, starts, order, old_type, new_type);
  return PMPI_Type_create_subarray(dimensions, small[0], small[1], small[2], order, old_type, new_type);
}
