// SPDX-License-Identifier: BSD-3-Clause
//
// <mpi.h>, and what MPI-IO of MPI-5.0 needs of it that older ones do not have.
#pragma once

#include <mpi.h>

#ifndef MPI_CONVERSION_FN_NULL_C
using MPI_Datarep_conversion_function_c = int(void*, MPI_Datatype, MPI_Count, void*, MPI_Offset, void*);
#define MPI_CONVERSION_FN_NULL_C (static_cast<MPI_Datarep_conversion_function_c*>(nullptr))
#endif

namespace plenum::mpiio {

// How `type` was made. The older function refuses types that were made with large counts.
inline int get_combiner(MPI_Datatype type, int* combiner) {
#ifdef PLENUM_HAVE_TYPE_ENVELOPE_C
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count counts = 0;
  MPI_Count types = 0;
  return PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, combiner);
#else
  int integers = 0;
  int addresses = 0;
  int types = 0;
  return PMPI_Type_get_envelope(type, &integers, &addresses, &types, combiner);
#endif
}

}  // namespace plenum::mpiio
