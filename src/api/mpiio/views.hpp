// SPDX-License-Identifier: BSD-3-Clause
//
// Views and positions. Arguments and behaviour as in MPI-5.0, chapter "I/O"; `function` is the name of the function
// called. All return MPI error codes.
#pragma once

#include "api/mpiio/abi.hpp"

namespace plenum::mpiio {

struct ViewArguments {
  MPI_Offset displacement;
  MPI_Datatype etype;
  MPI_Datatype filetype;
  const char* datarep;
};
int set_view(const char* function, MPI_File handle, const ViewArguments& view, MPI_Info info);

struct ViewResults {
  MPI_Offset* displacement;
  MPI_Datatype* etype;     // to be freed by the program, unless predefined
  MPI_Datatype* filetype;  // to be freed by the program, unless predefined
  char* datarep;           // [MPI_MAX_DATAREP_STRING]
};
int get_view(const char* function, MPI_File handle, const ViewResults& view);

int seek(const char* function, MPI_File handle, MPI_Offset offset, int whence);
int get_position(const char* function, MPI_File handle, MPI_Offset* offset);
int get_byte_offset(const char* function, MPI_File handle, MPI_Offset offset, MPI_Offset* displacement);

// The extent in the file, which in the data representation "native" is that in memory. [bytes]
int get_type_extent_as_count(const char* function, MPI_File handle, MPI_Datatype type, MPI_Count* extent);

// For MPI_Aint and MPI_Count, which may or may not be the same type.
template <class Integer>
int get_type_extent(const char* function, MPI_File handle, MPI_Datatype type, Integer* extent) {
  MPI_Count count = 0;
  const int code = get_type_extent_as_count(function, handle, type, &count);
  if (code == MPI_SUCCESS) *extent = static_cast<Integer>(count);
  return code;
}

}  // namespace plenum::mpiio
