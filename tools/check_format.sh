#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks the format of all C and C++ sources against .clang-format; with --fix, corrects it.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v clang-format >/dev/null; then
  echo "format: NOT CHECKED, there is no clang-format here"
  exit 0
fi

mode=(--dry-run -Werror)
if [[ ${1-} == --fix ]]; then mode=(-i); fi
folders=()
for folder in src include tests examples bench; do
  if [[ -d $folder ]]; then folders+=("$folder"); fi
done
mapfile -t files < <(find "${folders[@]}" -name '*.c' -o -name '*.cpp' -o -name '*.h' -o -name '*.hpp' | sort)
clang-format --style=file "${mode[@]}" "${files[@]}"
echo "format: ${#files[@]} files are in order"
