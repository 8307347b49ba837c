# SPDX-License-Identifier: BSD-3-Clause
#
# Finds the MPI library this build is for, by its own compiler wrapper: where several are installed (Debian), a plain
# `mpicc` is whichever one the system administrator prefers, so the wrapper with the library's name goes first.
#
# Sets PLENUM_HOST_MPI to openmpi, mpich or other, or to nothing for PLENUM_MPI=none; defines the target plenum_host_mpi,
# which carries mpi.h, the library, and what it offers beyond MPI-3.1.

if(PLENUM_MPI STREQUAL "none")
  set(PLENUM_HOST_MPI "")
  return()
endif()

if(PLENUM_MPI_CC)
  set(mpicc ${PLENUM_MPI_CC})
elseif(PLENUM_MPI)
  find_program(mpicc NAMES mpicc.${PLENUM_MPI} mpicc REQUIRED NO_CACHE)
else()
  find_program(mpicc NAMES mpicc.openmpi mpicc.mpich mpicc REQUIRED NO_CACHE)
endif()
cmake_path(GET mpicc PARENT_PATH mpi_folder)
cmake_path(GET mpicc EXTENSION LAST_ONLY mpi_suffix)  # .openmpi, .mpich or nothing

set(MPI_C_COMPILER ${mpicc} CACHE FILEPATH "MPI's C compiler wrapper")
set(MPIEXEC_EXECUTABLE ${mpi_folder}/mpiexec${mpi_suffix} CACHE FILEPATH "MPI's launcher")
find_package(MPI REQUIRED COMPONENTS C)

include(CheckLanguage)
check_language(Fortran)
if(CMAKE_Fortran_COMPILER AND EXISTS ${mpi_folder}/mpifort${mpi_suffix})
  enable_language(Fortran)
  set(MPI_Fortran_COMPILER ${mpi_folder}/mpifort${mpi_suffix} CACHE FILEPATH "MPI's Fortran compiler wrapper")
  find_package(MPI REQUIRED COMPONENTS Fortran)
endif()

# MPI::MPI_C serves C++ as well: MPI's C++ bindings left the standard in 2012. Without these definitions mpi.h would still
# draw in their classes, and they their library.
set(PLENUM_MPI_DEFINITIONS OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
add_library(plenum_host_mpi INTERFACE)
target_link_libraries(plenum_host_mpi INTERFACE MPI::MPI_C)
target_compile_definitions(plenum_host_mpi INTERFACE ${PLENUM_MPI_DEFINITIONS})

include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_symbol_exists(OPEN_MPI mpi.h PLENUM_HOST_IS_OPENMPI)
check_symbol_exists(MPICH_VERSION mpi.h PLENUM_HOST_IS_MPICH)
check_symbol_exists(PMPI_Type_get_envelope_c mpi.h PLENUM_HAVE_TYPE_ENVELOPE_C)
check_symbol_exists(MPI_File_read_c mpi.h PLENUM_HAVE_FILE_C)
unset(CMAKE_REQUIRED_LIBRARIES)
foreach(feature PLENUM_HAVE_TYPE_ENVELOPE_C PLENUM_HAVE_FILE_C)
  if(${feature})
    target_compile_definitions(plenum_host_mpi INTERFACE ${feature})
  endif()
endforeach()

if(PLENUM_HOST_IS_OPENMPI)
  set(PLENUM_HOST_MPI openmpi)
elseif(PLENUM_HOST_IS_MPICH)
  set(PLENUM_HOST_MPI mpich)
else()
  set(PLENUM_HOST_MPI other)
endif()
if(PLENUM_MPI MATCHES "^(openmpi|mpich)$" AND NOT PLENUM_MPI STREQUAL PLENUM_HOST_MPI)
  message(FATAL_ERROR "PLENUM_MPI is ${PLENUM_MPI}, but ${mpicc} belongs to ${PLENUM_HOST_MPI}")
endif()

# Writes build/<mpi>/run, the one place that knows how to start programs under this MPI library.
function(plenum_write_launcher)
  set(LAUNCH_FLAGS "")
  set(RANK_PRELOAD "")
  set(RANK_LIBRARY_PATH "")
  set(MPI4PY_ABI "")
  if(PLENUM_HOST_MPI STREQUAL "openmpi")
    # Ranks may outnumber cores, and ranks of several programs may share them.
    set(LAUNCH_FLAGS "--oversubscribe --bind-to none --mca mpi_yield_when_idle 1")
    set(MPI4PY_ABI openmpi)
  elseif(PLENUM_HOST_MPI STREQUAL "mpich")
    set(MPI4PY_ABI mpich)
    add_library(mpich_yield MODULE ${PROJECT_SOURCE_DIR}/tests/support/mpich_yield.c)
    target_link_libraries(mpich_yield PRIVATE ${CMAKE_DL_LIBS})
    set_target_properties(mpich_yield PROPERTIES PREFIX "")
    set(RANK_PRELOAD ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/mpich_yield.so)
    # mpi4py's wheels ask for MPICH by its own name for its library; Debian calls it libmpich.so.12.
    list(GET MPI_C_LIBRARIES 0 library)
    set(RANK_LIBRARY_PATH ${PROJECT_BINARY_DIR}/mpi4py)
    file(REAL_PATH ${library} library)
    file(MAKE_DIRECTORY ${RANK_LIBRARY_PATH})
    file(CREATE_LINK ${library} ${RANK_LIBRARY_PATH}/libmpi.so.12 SYMBOLIC)
  endif()
  configure_file(cmake/run.in run @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                         WORLD_READ WORLD_EXECUTE)
endfunction()
