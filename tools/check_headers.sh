#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks that each public header compiles alone, without a warning, as C99 and as C++, with every MPI library there is.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -n ${MPICC-} ]]; then
  compilers=("$MPICC")
else
  compilers=()
  for mpi in ${MPI:-$(tools/setup.sh mpis)}; do
    if command -v mpicc.$mpi >/dev/null; then compilers+=(mpicc.$mpi); else compilers+=(mpicc); fi
  done
fi

# MPI's old C++ bindings, which its C++ header would draw in, are no concern of ours.
flags=(-Iinclude -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fsyntax-only
       -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
shopt -s nullglob
headers=(include/plenum/*.h)
for header in "${headers[@]}"; do
  for compiler in "${compilers[@]}"; do
    for language in "c -std=c99" "c++ -std=c++11" "c++ -std=c++20"; do
      # Included, not compiled itself: a main file may not say `#pragma once`.
      if ! echo "#include <${header#include/}>" | "$compiler" "${flags[@]}" -x $language -; then
        echo "headers: $header does not compile alone with: $compiler -x $language" >&2
        exit 1
      fi
    done
  done
done
echo "headers: ${#headers[@]} public headers compile alone with ${compilers[*]}"
