# SPDX-License-Identifier: BSD-3-Clause
#
# The functions that Plenum's CMakeLists.txt files are written in.

# Sets OUT to the sources in the given folders, without the unit tests beside them.
function(plenum_sources out)
  list(TRANSFORM ARGN APPEND "/*.cpp")
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# ---- registries: one line per device and per strategy; the order of the lines is the order of preference

function(plenum_add_device name)
  set_property(GLOBAL APPEND PROPERTY PLENUM_DEVICE ${name})
endfunction()

function(plenum_add_strategy name)
  set_property(GLOBAL APPEND PROPERTY PLENUM_STRATEGY ${name})
endfunction()

# Writes generated/device_table.inc or strategy_table.inc: a line such as PLENUM_DEVICE(posix) for each name recorded.
function(plenum_write_registry kind)
  get_property(names GLOBAL PROPERTY PLENUM_${kind})
  list(TRANSFORM names REPLACE "(.+)" "PLENUM_${kind}(\\1)\n")
  list(JOIN names "" table)
  string(TOLOWER ${kind} file)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${file}_table.inc CONTENT "${table}" @ONLY)
endfunction()

# ---- libraries

# Exports from the shared library TARGET only the names in the linker script MAP.
function(plenum_export_only target map)
  target_link_options(${target} PRIVATE "-Wl,--version-script=${map}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
endfunction()

# Generates the MPI-IO entry points from their table. Sets ENTRIES to the source file and MAP to the list of exported
# names; both stay empty without the generator.
function(plenum_generate_mpiio entries map)
  set(tool ${PROJECT_SOURCE_DIR}/tools/gen_mpiio.py)
  set(table ${PROJECT_SOURCE_DIR}/src/api/mpiio/functions.txt)
  set(folder ${PROJECT_BINARY_DIR}/generated/mpiio)
  if(NOT EXISTS ${tool})
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/entries.cpp ${folder}/mpiio.map
    COMMAND Python3::Interpreter ${tool} --table ${table} --out-dir ${folder}
    DEPENDS ${tool} ${table}
    COMMENT "Generating the MPI-IO entry points"
    VERBATIM)
  set(${entries} ${folder}/entries.cpp PARENT_SCOPE)
  set(${map} ${folder}/mpiio.map PARENT_SCOPE)
endfunction()

# Adds the target check_symbols: the drop-in exports every MPI-IO function its MPI library has, and nothing else.
function(plenum_add_symbol_check)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  list(GET MPI_C_LIBRARIES 0 host_library)
  add_custom_target(check_symbols
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check_symbols.py
            $<TARGET_FILE:plenum_mpiio> ${host_library}
    VERBATIM)
endfunction()

function(plenum_install)
  include(CMakePackageConfigHelpers)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Plenum)

  install(TARGETS plenum EXPORT PlenumTargets FILE_SET HEADERS)
  if(TARGET plenum_mpiio)
    set_target_properties(plenum_mpiio PROPERTIES EXPORT_NAME mpiio)
    install(TARGETS plenum_mpiio EXPORT PlenumTargets)
  endif()
  install(EXPORT PlenumTargets NAMESPACE plenum:: DESTINATION ${package_dir})

  configure_package_config_file(cmake/PlenumConfig.cmake.in ${PROJECT_BINARY_DIR}/PlenumConfig.cmake
                                INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/PlenumConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/PlenumConfig.cmake ${PROJECT_BINARY_DIR}/PlenumConfigVersion.cmake
          DESTINATION ${package_dir})

  # The .pc file finds the prefix from its own place, so that `cmake --install --prefix` and moved trees work. It names
  # the MPI library too: then a plain compiler can use it as well as a wrapper.
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
             OUTPUT_VARIABLE PC_TO_PREFIX)
  set(definitions ${PLENUM_MPI_DEFINITIONS})
  set(include_dirs ${MPI_C_INCLUDE_DIRS})
  list(TRANSFORM definitions PREPEND "-D")
  list(TRANSFORM include_dirs PREPEND "-I")
  list(JOIN definitions " " PC_MPI_CFLAGS)
  list(JOIN include_dirs " " include_dirs)
  string(APPEND PC_MPI_CFLAGS " ${include_dirs}")
  list(JOIN MPI_C_LIBRARIES " " PC_MPI_LIBS)
  configure_file(plenum.pc.in plenum.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/plenum.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# Builds one program from each C and C++ file of FOLDER that has a main(), as build/<mpi>/FOLDER/<file>. Those that include
# a header of Plenum's are linked with it; the others know nothing of it.
function(plenum_add_programs folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c ${folder}/*.cpp)
  foreach(source IN LISTS sources)
    file(STRINGS ${source} main REGEX "int main\\(" LIMIT_COUNT 1)
    if(NOT main)
      continue()
    endif()
    cmake_path(GET source STEM name)
    add_executable(${folder}_${name} ${source})
    file(STRINGS ${source} uses_plenum REGEX "#include <plenum/" LIMIT_COUNT 1)
    target_link_libraries(${folder}_${name} PRIVATE ${arg_LIBRARIES})
    if(uses_plenum)
      target_link_libraries(${folder}_${name} PRIVATE plenum)
    endif()
    set_property(GLOBAL APPEND PROPERTY PLENUM_PROGRAMS ${folder}_${name})
    set_target_properties(${folder}_${name} PROPERTIES OUTPUT_NAME ${name}
                                                       RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
  endforeach()
endfunction()

# A target for all programs and the given targets: everything but the tests.
function(plenum_add_group name)
  get_property(programs GLOBAL PROPERTY PLENUM_PROGRAMS)
  add_custom_target(${name} DEPENDS ${programs} ${ARGN})
endfunction()

# ---- tests. Each runs in a folder of its own, has a time limit (a hang is a failure) and a lane as its ctest label.

# Adds the ctest test NAME. PROCESSORS keeps `ctest -j` from starting more ranks than there are cores, if it can.
function(plenum_register_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;PROCESSORS" "COMMAND;LABELS;ENVIRONMENT")
  set(folder ${PROJECT_BINARY_DIR}/scratch/${name})
  file(MAKE_DIRECTORY ${folder})
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${folder})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} PROCESSORS ${arg_PROCESSORS}
                                          LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()

# One executable of gtest cases that need no MPI: plenum_add_test(NAME source... LABELS unit [TIMEOUT seconds])
function(plenum_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE plenum_core GTest::gtest GTest::gtest_main)
  plenum_register_test(${name} COMMAND ${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT} PROCESSORS 1)
endfunction()

# Registers NAME.np1, NAME.np2, ... for a program started by the launcher with LAUNCH in front of the number of ranks, and
# the launcher by the command WRAPPER, if there is one.
# MPICH gets 4 ranks at most: its ranks poll, and more of them than cores are very slow.
function(plenum_register_ranks name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "RANKS;LAUNCH;COMMAND;LABELS;ENVIRONMENT;WRAPPER")
  if(NOT arg_RANKS)
    set(arg_RANKS 1 2 3 4)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    if(ranks GREATER 4 AND PLENUM_HOST_MPI STREQUAL "mpich")
      continue()
    endif()
    plenum_register_test(${name}.np${ranks}
      COMMAND ${arg_WRAPPER} ${PROJECT_BINARY_DIR}/run ${arg_LAUNCH} ${ranks} ${arg_COMMAND}
      LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT} PROCESSORS ${ranks} ENVIRONMENT ${arg_ENVIRONMENT})
  endforeach()
endfunction()

# A test of the inside with real MPI: gtest cases in SOURCE (default: NAME.cpp), main() in tests/mpi/mpi_main.cpp.
#   plenum_add_mpi_test(NAME [SOURCE file] [RANKS 1 2 3 4] [TIMEOUT seconds] [LABELS lane...] [ARGS argument...]
#                       [ENVIRONMENT A=b...])
function(plenum_add_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;TIMEOUT" "RANKS;LABELS;ARGS;ENVIRONMENT")
  if(NOT arg_SOURCE)
    set(arg_SOURCE ${name}.cpp)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS mpi)
  endif()
  cmake_path(ABSOLUTE_PATH arg_SOURCE OUTPUT_VARIABLE source)
  set_property(DIRECTORY APPEND PROPERTY PLENUM_NAMED_TESTS ${source})
  add_executable(${name} ${source} ${PROJECT_SOURCE_DIR}/tests/mpi/mpi_main.cpp)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE plenum_internal GTest::gtest)
  plenum_register_ranks(${name} COMMAND $<TARGET_FILE:${name}> ${arg_ARGS} RANKS ${arg_RANKS}
                        TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABELS} ENVIRONMENT ${arg_ENVIRONMENT})
endfunction()

# A test of the drop-in as users meet it: a C, Fortran or Python program that knows nothing of Plenum, built with the
# MPI library alone, and run with libplenum_mpiio.so preloaded into its ranks. It passes if it exits with 0.
#   plenum_add_preload_test(NAME SOURCE file [RANKS ...] [TIMEOUT seconds] [LABELS ...] [ARGS ...] [ENVIRONMENT ...]
#                           [WRAPPER command...])
function(plenum_add_preload_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;TIMEOUT" "RANKS;LABELS;ARGS;ENVIRONMENT;WRAPPER")
  cmake_path(ABSOLUTE_PATH arg_SOURCE OUTPUT_VARIABLE source)
  set_property(DIRECTORY APPEND PROPERTY PLENUM_NAMED_TESTS ${source})
  if(source MATCHES "\\.py$")
    set(lane python)
    set(command ${PROJECT_SOURCE_DIR}/build/venv/bin/python -m mpi4py ${source})
  elseif(source MATCHES "\\.c$")
    set(lane mpi)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE MPI::MPI_C m)
    set(command $<TARGET_FILE:${name}>)
  elseif(NOT CMAKE_Fortran_COMPILER)
    return()
  else()
    set(lane fortran)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE MPI::MPI_Fortran)
    # With mpif.h, one program may pass buffers of several types to the same routine.
    target_compile_options(${name} PRIVATE $<$<Fortran_COMPILER_ID:GNU>:-fallow-argument-mismatch>)
    set_target_properties(${name} PROPERTIES Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}.modules)
    set(command $<TARGET_FILE:${name}>)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS ${lane})
  endif()
  plenum_register_ranks(${name} LAUNCH --plenum COMMAND ${command} ${arg_ARGS} RANKS ${arg_RANKS} WRAPPER ${arg_WRAPPER}
                        TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABELS} ENVIRONMENT ${arg_ENVIRONMENT})
endfunction()

# Adds every test program of this folder that no line has named so far, for the default numbers of ranks.
function(plenum_add_unnamed_tests)
  file(GLOB sources CONFIGURE_DEPENDS *_test.cpp *.c *.f *.f90 *.F90 *.py)
  get_property(named DIRECTORY PROPERTY PLENUM_NAMED_TESTS)
  list(REMOVE_ITEM sources ${named})
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM LAST_ONLY name)
    cmake_path(GET source EXTENSION LAST_ONLY extension)
    if(extension STREQUAL ".cpp")
      plenum_add_mpi_test(${name})
    else()
      string(REPLACE "." "_" extension ${extension})
      plenum_add_preload_test(${name}${extension} SOURCE ${source})
    endif()
  endforeach()
endfunction()
