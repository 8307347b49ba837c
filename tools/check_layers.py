#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the direction of the #includes in src/.

    tools/check_layers.py [ROOT]        prints the offenders, if any
    tools/check_layers.py --self-test   shows that violations are found

A file includes only its own storey and those below it, by their full names ("layout/layout.hpp"). <mpi.h>, also by way
of another header, is for src/comm/mpi_* and src/api alone.
"""

import functools
import pathlib
import re
import sys
import tempfile

STOREYS = ["base", "layout", "comm", "device", "strategy", "file", "api"]  # low to high
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def includes(path):
    """Yields (line number, name) of each #include in the file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if match := INCLUDE.match(line):
            yield number, match[1]


def offenders(root):
    """Returns a sorted list of lines "file:line: what is wrong" for the tree below `root`."""
    source = root / "src"
    public = {f"plenum/{path.name}" for path in (root / "include" / "plenum").glob("*.h")}

    def locate(name):
        return root / "include" / name if name in public else source / name

    @functools.cache
    def brings_mpi(name):
        if name in ("mpi.h", "mpi-ext.h"):
            return True
        path = locate(name)
        return path.is_file() and any(brings_mpi(inner) for _, inner in includes(path))

    def fault(file, name):
        storey = file.parts[0]
        if brings_mpi(name) and storey != "api" and not (storey == "comm" and file.name.startswith("mpi_")):
            return f"includes {name}, hence <mpi.h>: only src/comm/mpi_* and src/api may"
        included = name.split("/")[0]
        if included in STOREYS and "/" in name and STOREYS.index(included) > STOREYS.index(storey):
            return f"{storey}/ includes {name}, which is above it"
        if "/" not in name and (source / file.parent / name).is_file():
            return f'includes "{name}": write "{file.parent.as_posix()}/{name}"'
        return None

    found = []
    for path in sorted([*source.rglob("*.?pp"), *source.rglob("*.h"), *source.rglob("*.c")]):
        file = path.relative_to(source)
        if file.parts[0] not in STOREYS:
            found.append(f"{path}:1: {file.parts[0]} is no storey; those are {', '.join(STOREYS)}")
            continue
        found += [f"{path}:{line}: {text}" for line, name in includes(path) if (text := fault(file, name))]
    return found


def self_test():
    """Plants one violation of each kind, and a file in order beside it, and looks for exactly those."""
    files = {
        "src/base/result.hpp": "",
        "src/comm/mpi_handle.hpp": "#include <mpi.h>\n",
        "src/device/posix.cpp": '#include <vector>\n#include "base/result.hpp"\n#include "device_table.inc"\n',
        "src/api/mpiio/open.cpp": '#include <mpi.h>\n#include "file/file.hpp"\n#include "comm/mpi_handle.hpp"\n',
        "include/plenum/adio.h": "#include <mpi.h>\n",
        "src/layout/upward.cpp": '\n#include "device/device.hpp"\n',
        "src/file/direct.cpp": "#  include <mpi.h>\n",
        "src/strategy/indirect.cpp": '#include "comm/mpi_handle.hpp"\n',
        "src/file/by_public_header.cpp": "#include <plenum/adio.h>\n",
        "src/base/short_name.cpp": '#include "result.hpp"\n',
        "src/utilities/anything.cpp": "",
    }
    planted = ["base/short_name.cpp:1", "file/by_public_header.cpp:1", "file/direct.cpp:1", "layout/upward.cpp:2",
               "strategy/indirect.cpp:1", "utilities/anything.cpp:1"]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        found = [":".join(line.removeprefix(f"{root}/src/").split(":")[:2]) for line in offenders(root)]
    if found != planted:
        sys.exit(f"layers: self-test failed: planted {planted}, found {found}")
    print(f"layers: self-test found all {len(planted)} planted violations")


def main(arguments):
    if arguments == ["--self-test"]:
        self_test()
        return
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    found = offenders(root)
    if found:
        sys.exit("\n".join(found) + f"\nlayers: {len(found)} #includes are wrong")
    print("layers: every #include points downwards")


if __name__ == "__main__":
    main(sys.argv[1:])
