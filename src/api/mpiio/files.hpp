// SPDX-License-Identifier: BSD-3-Clause
//
// The file as a whole: MPI_File_open, close, delete, sizes, group, mode, info, consistency. Arguments and behaviour as
// in MPI-5.0, chapter "I/O"; `function` is the name of the function called. All return MPI error codes.
#pragma once

#include "api/mpiio/abi.hpp"

namespace plenum::mpiio {

int open(const char* function, MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* handle);
int close(const char* function, MPI_File* handle);
int remove(const char* function, const char* filename, MPI_Info info);

int set_size(const char* function, MPI_File handle, MPI_Offset size);
int preallocate(const char* function, MPI_File handle, MPI_Offset size);
int get_size(const char* function, MPI_File handle, MPI_Offset* size);

int get_group(const char* function, MPI_File handle, MPI_Group* group);
int get_amode(const char* function, MPI_File handle, int* amode);

int set_info(const char* function, MPI_File handle, MPI_Info info);

// Besides what File::info() says: plenum_hints_rejected, the malformed hints as "key=value;key=value", if there were
// any.
int get_info(const char* function, MPI_File handle, MPI_Info* info);

int sync(const char* function, MPI_File handle);
int set_atomicity(const char* function, MPI_File handle, int flag);
int get_atomicity(const char* function, MPI_File handle, int* flag);

// For what is not there yet: UNSUPPORTED_OPERATION, with a text that says so. `request` becomes MPI_REQUEST_NULL.
inline constexpr char kNonblocking[] = "nonblocking data access";
inline constexpr char kSharedPointers[] = "shared file pointers";
inline constexpr char kSplit[] = "split collective data access";
int not_yet(const char* function, MPI_File handle, const char* what, MPI_Request* request = nullptr);
int not_yet_registered(const char* function, const char* datarep);

}  // namespace plenum::mpiio
