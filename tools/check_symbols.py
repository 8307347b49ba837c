#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that nothing of MPI-IO is left to the MPI library.

    check_symbols.py LIB HOSTLIB

LIB (libplenum_mpiio.so) must export exactly the functions of src/api/mpiio/functions.txt, under their MPI_ and PMPI_
names, and HOSTLIB (libmpi.so) no MPI-IO function beyond those: one forgotten name would hand a file handle of one library
to the other. Prints the differences; exits with 1 if there are any, with 2 if a library cannot be read.
"""
import argparse
import re
import subprocess
import sys
from typing import Set

from gen_mpiio import DEFAULT_TABLE, exported_names, read_table

MPI_IO_NAME = re.compile(r"^P?MPI_(File_\w+|Register_datarep\w*)$")


def exported_by(library: str) -> Set[str]:
    """The names that a shared library defines for others (functions and data, of any binding)."""
    output = subprocess.run(
        ["nm", "--dynamic", "--defined-only", "--format=posix", library], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    names = (line.split()[0].partition("@")[0] for line in output.splitlines() if line.strip())
    return set(names)


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks that nothing of MPI-IO is left to the MPI library.")
    parser.add_argument("lib", help="the drop-in library, libplenum_mpiio.so")
    parser.add_argument("hostlib", help="the MPI library, libmpi.so")
    parser.add_argument("--table", default=DEFAULT_TABLE, help="the list of functions")
    arguments = parser.parse_args()
    expected = set(exported_names(read_table(arguments.table)))
    try:
        ours = exported_by(arguments.lib)
        theirs = {name for name in exported_by(arguments.hostlib) if MPI_IO_NAME.match(name)}
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"check_symbols.py: {error}", file=sys.stderr)
        return 2

    differences = {
        "missing from the drop-in": expected - ours,
        "exported by the drop-in, but not in the table": ours - expected,
        "left to the MPI library": theirs - ours,
    }
    if not theirs:
        print(f"{arguments.hostlib} exports no MPI-IO function: is it the MPI library?")
        return 1
    for what, names in differences.items():
        for name in sorted(names):
            print(f"{what}: {name}")
    if any(differences.values()):
        return 1
    print(f"{len(ours)} names exported, {len(theirs)} of which the MPI library has too")
    return 0


if __name__ == "__main__":
    sys.exit(main())
