# SPDX-License-Identifier: BSD-3-Clause
"""Runs the benchmark programs of one build and writes what they found to build/bench/.

    python bench/run.py --mpi openmpi --build build/openmpi

`make bench` sets everything up and runs this. See bench/README.md for what the programs measure.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOUND = 1.03  # what the ADIO paper found at most: 2.96 %
LABELS = {
    "direct": "system calls by hand",
    "again": "the same once more",
    "adio": "ADIO",
    "mpiio": "MPI-IO on Plenum",
    "peer": "MPI library's own MPI-IO",
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--mpi", default="openmpi", help="name of the MPI library, for file names and headings")
    parser.add_argument("--build", type=pathlib.Path, help="build folder (default: build/MPI)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "bench", help="where results go")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build", help="a folder of a real file system")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=101)
    parser.add_argument("--check", action="store_true", help="exit with 1 if ADIO costs more than 3 %% beyond doubt")
    arguments = parser.parse_args()
    arguments.build = (arguments.build or ROOT / "build" / arguments.mpi).resolve()
    if arguments.repetitions < 15:
        parser.error("fewer than 15 repetitions say nothing")
    return arguments


@contextlib.contextmanager
def scratch_folders(real_file_system):
    """A folder in memory, where there is one, and one in a real file system, both removed afterwards."""
    with contextlib.ExitStack() as stack:
        folders = []
        for parent in ("/dev/shm", real_file_system):
            if os.access(parent, os.W_OK):
                folders.append(stack.enter_context(tempfile.TemporaryDirectory(prefix="plenum_bench.", dir=parent)))
        if not folders:
            sys.exit(f"bench: no folder to write to: {real_file_system}")
        yield folders


def file_system_of(path):
    """The type of the file system that `path` is on, from the longest mount point that leads to it."""
    path = os.path.realpath(path)
    best = ("", "unknown")
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, point, kind = line.split()[:3]
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best[0]):
                best = (point, kind)
    return best[1]


def run_adio_overhead(arguments):
    """Runs the program with the drop-in in front, where it is built; returns what it wrote, with file systems named."""
    program = arguments.build / "bench" / "adio_overhead"
    launcher = arguments.build / "run"
    for needed in (program, launcher):
        if not needed.exists():
            sys.exit(f"bench: {needed} is missing: run `make MPI={arguments.mpi}` first")
    arguments.out.mkdir(parents=True, exist_ok=True)
    result = arguments.out / f"adio_overhead.{arguments.mpi}.json"
    result.unlink(missing_ok=True)
    with scratch_folders(arguments.dir) as folders:
        command = [launcher]
        if (arguments.build / "lib" / "libplenum_mpiio.so").exists():
            command.append("--plenum")
        command += [str(arguments.ranks), program, "--repetitions", str(arguments.repetitions), "--json", result]
        for folder in folders:
            command += ["--dir", folder]
        # A tuning left over in the environment would be measured instead of the default.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PLENUM_")}
        subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL)
        measured = json.loads(result.read_text())
        for case in measured["cases"]:
            case["file_system"] = file_system_of(case.pop("directory"))
    measured["cores"] = os.cpu_count()
    result.write_text(json.dumps(measured, indent=1) + "\n")
    return measured


def percent(ratio):
    return f"{100 * (ratio - 1):+.1f} %"


def overhead_rows(measured):
    """One row of texts for each case and way but the reference."""
    for case in measured["cases"]:
        for name, way in case["ways"].items():
            low, middle, high = way["ratio"]
            cells = [f"{case['program']}, {case['file']} file, {case['file_system']}", LABELS[name],
                     f"{1e3 * statistics.median(way['program_s']):.2f}", f"{1e6 * way['step_s'][0]:.0f}"]
            if name == "direct":
                cells += ["", "", ""]
            else:
                cells += [percent(middle), f"{percent(low)} to {percent(high)}", percent(way["cpu_ratio"][1])]
            yield cells + [f"{1e6 * way['open_close_s'][0]:.0f}"]


def markdown(arguments, measured):
    case = measured["cases"][0]
    titles = ["program", "way", "program [ms]", "step [us]", "overhead", "95 %", "of cpu time", "open + close [us]"]
    lines = [
        f"## What ADIO and MPI-IO cost, {measured['mpi']}",
        "",
        f"Programs I and II of the ADIO paper: {case['ranks']} processes on {measured['cores']} cores, {case['times']} x "
        f"{case['bytes'] >> 10} KiB written and read back, {case['repetitions']} repetitions. Overhead is the median of the "
        "ratios of each step (one write and read back) to the same step by system calls, with its 95 % confidence interval. "
        f"`make bench MPI={arguments.mpi}` prints this table.",
        "",
        "| " + " | ".join(titles) + " |",
        "| " + " | ".join(["---", "---"] + ["---:"] * (len(titles) - 2)) + " |",
    ]
    lines += ["| " + " | ".join(row) + " |" for row in overhead_rows(measured)]
    return "\n".join(lines) + "\n"


def verdicts(measured):
    """For each case: its name, ADIO's ratio, and whether that is within the bound, beyond it, or not to be told."""
    for case in measured["cases"]:
        low, middle, high = case["ways"]["adio"]["ratio"]
        verdict = "within" if high <= BOUND else "beyond" if low > BOUND else "unclear"
        yield f"{case['program']}, {case['file']} file, {case['file_system']}", middle, verdict


def main():
    arguments = parse_arguments()
    measured = run_adio_overhead(arguments)
    table = arguments.out / f"performance.{arguments.mpi}.md"
    table.write_text(markdown(arguments, measured))

    print(f"\nADIO, compared with system calls; the bound is {percent(BOUND)}:")
    beyond = 0
    for name, ratio, verdict in verdicts(measured):
        print(f"  {name:<32} {percent(ratio):>8}  {verdict}")
        beyond += verdict == "beyond"
    load = os.getloadavg()[0]
    if load > arguments.ranks + 1:
        print(f"This machine is busy with other things (load {load:.1f}): the numbers above are worth little.")
    print(f"Tables: {table}\nNumbers: {arguments.out / f'adio_overhead.{arguments.mpi}.json'}")
    return 1 if arguments.check and beyond else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failed:
        sys.exit(f"bench: adio_overhead failed with exit code {failed.returncode}")
