#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Makes sure that everything Plenum is built with is there.
#
#   tools/setup.sh           tools and libraries; as root on a Debian-like system, installs what is missing
#   tools/setup.sh python    the same, and the Python environment build/venv of the demo, the benchmarks and the tests
#   tools/setup.sh mpis      prints the names of the MPI libraries that are there, preferred one first
#
# With MPI=openmpi or MPI=mpich in the environment only that MPI library is asked for; otherwise root gets both, and
# everyone else needs one of them. With MPICC=/path/mpicc the MPI library is the caller's business.
set -euo pipefail
cd "$(dirname "$0")/.."

have() { command -v "$1" >/dev/null; }

# Is header $1 where compilers look?
have_header() {
  local folder
  local folders=/usr/include:/usr/local/include:${CPATH-}:${CPLUS_INCLUDE_PATH-}
  IFS=: read -ra folders <<<"$folders:${CMAKE_PREFIX_PATH:+${CMAKE_PREFIX_PATH//://include:}/include}"
  for folder in "${folders[@]}"; do
    if [[ -n $folder && -e $folder/$1 ]]; then return 0; fi
  done
  return 1
}

# The MPI libraries with a compiler: by the names Debian gives them, else whatever `mpicc` belongs to.
list_mpis() {
  local name found=''
  for name in openmpi mpich; do
    if have mpicc.$name; then found+=" $name"; fi
  done
  if [[ -z $found ]] && have mpicc; then
    if mpicc -E -dM -include mpi.h -x c /dev/null | grep -q 'define OPEN_MPI '; then found=openmpi; else found=mpich; fi
  fi
  echo $found
}

# Sets `missing` to the Debian packages of what is not there.
find_missing() {
  missing=()
  have make || missing+=(make)
  have cmake || missing+=(cmake)
  have ninja || missing+=(ninja-build)
  have g++ || missing+=(g++)
  have gfortran || missing+=(gfortran)
  have pkg-config || missing+=(pkg-config)
  have clang-format || missing+=(clang-format)
  have nm || missing+=(binutils)
  have python3 && python3 -Sc 'import ensurepip, venv' 2>/dev/null || missing+=(python3 python3-venv)
  have_header gtest/gtest.h || missing+=(libgtest-dev)
  have_header nlohmann/json.hpp || missing+=(nlohmann-json3-dev)
  [[ -z ${MPICC-} ]] || return 0

  local mpis
  mpis=" $(list_mpis) "
  if [[ -z ${MPI-} && $mpis != '  ' ]] && ! may_install; then return 0; fi
  if [[ ${MPI:-openmpi} == openmpi && $mpis != *' openmpi '* ]]; then missing+=(openmpi-bin libopenmpi-dev); fi
  if [[ ${MPI:-mpich} == mpich && $mpis != *' mpich '* ]]; then missing+=(mpich libmpich-dev); fi
}

may_install() { [[ $(id -u) == 0 ]] && have apt-get; }

install_packages() {
  local log=build/setup.log
  mkdir -p build
  echo "setup: installing ${missing[*]} (log: $log)"
  export DEBIAN_FRONTEND=noninteractive LC_ALL=C
  apt-get -q update >"$log" 2>&1 || echo "setup: apt-get update failed; trying with the package lists there are"
  if ! apt-get -q install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
    tail -n 15 "$log" >&2
    echo "setup: apt-get install failed; the whole log is in $log" >&2
    exit 1
  fi
}

check_packages() {
  find_missing
  if [[ ${#missing[@]} == 0 ]]; then return; fi
  if may_install; then
    install_packages
    hash -r
    find_missing
    if [[ ${#missing[@]} == 0 ]]; then return; fi
    echo "setup: installed, and still not found: ${missing[*]}" >&2
    exit 1
  fi
  {
    echo "Plenum needs the following, which this machine does not have (Debian package names):"
    printf '  %s\n' "${missing[@]}"
    if have apt-get; then echo "Please run, as root:  apt-get install ${missing[*]}"; fi
    echo "Libraries in other places are found through CPATH or CMAKE_PREFIX_PATH, programs through PATH."
  } >&2
  exit 1
}

# Makes build/venv hold what python/requirements-demo.txt asks for; a copy of that file inside tells that it does.
make_venv() {
  local wanted=python/requirements-demo.txt venv=build/venv
  if cmp -s "$wanted" "$venv/installed.txt" && [[ -x $venv/bin/python ]]; then return; fi
  echo "setup: making the Python environment $venv"
  rm -rf "$venv"
  python3 -m venv "$venv"
  if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$wanted"; then
    echo "setup: pip could not install the packages of $wanted (see above); \`make\` alone does not need them" >&2
    exit 1
  fi
  cp "$wanted" "$venv/installed.txt"
}

case ${1-} in
'') check_packages ;;
python)
  check_packages
  make_venv
  ;;
mpis) list_mpis ;;
*)
  echo "usage: tools/setup.sh [python | mpis]" >&2
  exit 2
  ;;
esac
