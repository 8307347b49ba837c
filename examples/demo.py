# SPDX-License-Identifier: BSD-3-Clause
"""Runs two ordinary MPI programs on the MPI library's own I/O and on Plenum, and compares files and times.

    python examples/demo.py --mpi openmpi --lib build/openmpi/lib/libplenum_mpiio.so --build build/openmpi

The programs are land_mask.py (mpi4py: a mask of the whole Earth, written by 4 processes in two-dimensional blocks, read
by 3 in bands) and element_list.c (C: the element list of a finite-element grid, by independent calls and by one
collective call). Neither knows of Plenum: the second run differs from the first by LD_PRELOAD alone. The files must
agree byte for byte; anything else, and any failure, ends the demo with exit code 1.

`make demo` sets everything up and runs this.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

try:
    from rich.console import Console
    from rich.markup import escape
    from rich.panel import Panel
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Table
except ImportError:
    sys.exit("demo: install the packages of python/requirements-demo.txt, or run `make demo`, which does")

EXAMPLES = pathlib.Path(__file__).resolve().parent
MASK_BYTES = 43200 * 21600
LIST_GRID = (121, 121, 91)
LIST_BYTES = 120 * 120 * 90 * 8 * 4
RUN_TIMEOUT_SECONDS = 300
PHASES = {
    "wopen": "open for writing",
    "write": "write",
    "wclose": "close",
    "ropen": "open for reading",
    "read": "read",
    "rclose": "close",
}
NATIVE, PLENUM = "native", "Plenum"


class DemoError(Exception):
    """Ends the demo: what went wrong, and the output of the program that failed, if any."""

    def __init__(self, message, output=""):
        super().__init__(message)
        self.output = output


@dataclasses.dataclass
class Mpi:
    """How to compile and start programs with one MPI library."""

    name: str  # openmpi or mpich
    mpiexec: str
    mpicc: str
    rank_environment: dict  # for the ranks only, not for the launcher
    version: str = ""
    native_preload: pathlib.Path | None = None  # what the MPI library's own I/O needs to run mpi4py programs


@dataclasses.dataclass
class Result:
    """What one program did on one side, over all repetitions."""

    seconds: dict = dataclasses.field(default_factory=dict)  # phase -> list
    reports: list = dataclasses.field(default_factory=list)  # of the last repetition: what Plenum says it did

    def add(self, output):
        for name, seconds in re.findall(r"^phase (\w+) ([0-9.]+)$", output, re.MULTILINE):
            self.seconds.setdefault(name, []).append(float(seconds))

    def median(self, phase):
        return statistics.median(self.seconds[phase])


class Screen:
    """Shows what runs now: a moving line on a terminal, a line every few seconds elsewhere."""

    def __init__(self, console):
        self.console = console
        self.start = self.printed = time.monotonic()
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn())
        self.progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.task = None

    @contextlib.contextmanager
    def chapter(self, title, steps):
        """A bar of its own for the steps inside."""
        self.task = self.progress.add_task(title, total=steps)
        yield
        self.progress.remove_task(self.task)
        self.task = None

    @contextlib.contextmanager
    def step(self, text):
        if self.console.is_terminal:
            self.progress.update(self.task, description=escape(text))
        elif (now := time.monotonic()) - self.printed >= 2:
            self.console.print(f"{now - self.start:5.1f} s  {escape(text)}", highlight=False)
            self.printed = now
        yield
        self.progress.advance(self.task)


class Demo:
    def __init__(self, mpi, library, demo_dir, scratch, screen):
        self.mpi = mpi
        self.library = library
        self.png = demo_dir / "land_mask.png"
        self.scratch = scratch
        self.screen = screen

    def run(self, side, ranks, command, file, operations):
        """Runs the program on one side and returns (its output, Plenum's reports); checks that it was that side."""
        report = self.scratch / "report.jsonl"
        report.unlink(missing_ok=True)
        environment = {**self.mpi.rank_environment, "PLENUM_REPORT": str(report)}
        preload = self.library if side == PLENUM else self.mpi.native_preload
        if preload:
            environment["LD_PRELOAD"] = ":".join(filter(None, [str(preload), os.environ.get("LD_PRELOAD")]))
        output = launch(self.mpi, ranks, environment, command)
        return output, check_reports(side, report, file, operations)

    def alternate(self, title, repeats, seconds, run_once, files):
        """Runs both sides in turn, the order changing, and compares their files each time.

        At most `repeats` times, and no further one after `seconds`. `run_once(side, file, result)` runs one side.
        """
        results = {NATIVE: Result(), PLENUM: Result()}
        deadline = time.monotonic() + seconds
        with self.screen.chapter(title, 3 * repeats):
            for repeat in range(repeats):
                for side in (NATIVE, PLENUM) if repeat % 2 == 0 else (PLENUM, NATIVE):
                    with self.screen.step(f"{title}, {side} ({repeat + 1}/{repeats})"):
                        files[side].unlink(missing_ok=True)
                        run_once(side, files[side], results[side])
                        settle(files[side])
                with self.screen.step(f"{title}, comparing the files ({repeat + 1}/{repeats})"):
                    compare(files[NATIVE], files[PLENUM])
                if time.monotonic() > deadline:
                    break
        for side, file in files.items():
            file.unlink()
            if missing := PHASES.keys() - results[side].seconds.keys():
                raise DemoError(f"{title}, {side}: the program printed no time for {', '.join(sorted(missing))}")
        return results

    def land_mask(self):
        script = [sys.executable, "-m", "mpi4py", str(EXAMPLES / "land_mask.py")]

        def run_once(side, file, result):
            output, wrote = self.run(side, 4, [*script, "write", str(file)], file, ["write"])
            result.add(output)
            draw = ["--png", str(self.png)] if side == PLENUM else []
            output, read = self.run(side, 3, [*script, "read", str(file), *draw], file, ["read"])
            result.add(output)
            result.reports = wrote + read

        self.png.unlink(missing_ok=True)
        results = self.alternate("land mask", 3, 70, run_once, self.files("land_mask"))
        if not self.png.is_file() or self.png.stat().st_size == 0:
            raise DemoError(f"land_mask.py ended well but saved no map as {self.png}")
        return results

    def element_list(self, program, mode, ranks):
        def run_once(side, file, result):
            nx, ny, nz = map(str, LIST_GRID)
            command = [str(program), "-nx", nx, "-ny", ny, "-nz", nz, "-m", mode, "-f", str(file)]
            output, result.reports = self.run(side, ranks, command, file, ["write", "read"])
            result.add(output)

        return self.alternate(f"element list by {mode}", 7, 20, run_once, self.files("element_list"))

    def files(self, name):
        return {NATIVE: self.scratch / f"{name}.native", PLENUM: self.scratch / f"{name}.plenum"}


def launch(mpi, ranks, environment, command):
    """Runs `command` on that many ranks and returns what it printed."""
    settings = [f"{name}={value}" for name, value in environment.items()]
    full = [mpi.mpiexec, "-n", str(ranks), "env", *settings, *command]
    process = subprocess.Popen(
        full,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        env=launcher_environment(mpi),
    )
    try:
        output, _ = process.communicate(timeout=RUN_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        output = stop(process)
        raise DemoError(f"no end after {RUN_TIMEOUT_SECONDS} s: {' '.join(full)}", output) from None
    except BaseException:
        stop(process)
        raise
    if process.returncode != 0:
        raise DemoError(f"exit code {process.returncode}: {' '.join(full)}", output)
    return output


def stop(process):
    """Ends the launcher, which ends its ranks; returns what they printed."""
    process.terminate()
    try:
        return process.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


def launcher_environment(mpi):
    environment = dict(os.environ)
    if mpi.name == "openmpi":  # more ranks than cores, as variables because the options differ between 4 and 5
        environment |= {
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        }
        if os.geteuid() == 0:
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return environment


def check_reports(side, report, file, operations):
    """Plenum's reports, one per file closed. Wrong side, wrong file or missing operation: the demo must not pretend."""
    if side == NATIVE:
        if report.exists():
            raise DemoError("the native run was carried by Plenum: is it preloaded elsewhere?", report.read_text())
        return []
    if not report.exists():
        raise DemoError("the run with LD_PRELOAD left no report: it did not run on Plenum")
    text = report.read_text()
    try:
        entries = [json.loads(line) for line in text.splitlines() if line.strip()]
        reported = {s["operation"] for e in entries if e["path"].endswith(file.name) for s in e["strategies"]}
    except (ValueError, KeyError, TypeError) as error:
        raise DemoError(f"Plenum's report cannot be read: {error!r}", text) from None
    missing = [operation for operation in operations if operation not in reported]
    if missing:
        raise DemoError(f"Plenum's report shows no {' and no '.join(missing)} of {file}", text)
    return entries


def compare(left, right, chunk=8 << 20):
    """Raises at the first byte that differs."""
    if left.stat().st_size != right.stat().st_size:
        sizes = " and ".join(f"{path.name}: {path.stat().st_size:,} bytes" for path in (left, right))
        raise DemoError(f"the files differ in size: {sizes}")
    with left.open("rb") as a, right.open("rb") as b:
        position = 0
        while one := a.read(chunk):
            other = b.read(chunk)
            if one != other:
                first = next(i for i, (x, y) in enumerate(zip(one, other, strict=True)) if x != y)
                raise DemoError(f"{left.name} and {right.name} differ, first at byte {position + first:,}")
            position += len(one)


def settle(path):
    """Brings the file to the disk, so that its write-back does not disturb the next run."""
    with path.open("rb") as file:
        os.fdatasync(file.fileno())


def find_tool(given, names, what):
    for name in [given] if given else names:
        if path := shutil.which(name):
            return path
    raise DemoError(f"{what} not found: tried {given or ', '.join(names)}")


def compile_program(mpi, source, output, *options):
    command = [mpi.mpicc, "-std=c99", "-O2", *options, "-o", str(output), str(EXAMPLES / source)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise DemoError(f"cannot compile: {' '.join(command)}", done.stdout)
    return output


def point_mpi4py_at(mpi, program, build):
    """Makes mpi4py use the MPI library that `program` is linked with.

    Its wheels for MPICH ask for the name libmpi.so.12; some distributions call that library libmpich.so.12.
    """
    linked = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    found = re.search(r"^\s*libmpi(?:ch)?\.so\.\d+ => (\S+)", linked, re.MULTILINE)
    if not found:
        raise DemoError(f"{program} is not linked with a shared MPI library", linked)
    library = pathlib.Path(found[1])
    mpi.rank_environment["MPI4PY_MPIABI"] = mpi.name
    paths = [os.environ.get("LD_LIBRARY_PATH"), str(library.parent)]
    if library.name.startswith("libmpich."):
        link = build / "mpi4py" / "libmpi.so.12"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(library)
        paths.insert(0, str(link.parent))
    mpi.rank_environment["LD_LIBRARY_PATH"] = ":".join(filter(None, paths))


def prepare(options, build, scratch):
    """Finds the MPI library, compiles the C program and tries mpi4py; returns (mpi, element list program)."""
    mpiexec = find_tool(options.mpiexec, [f"mpiexec.{options.mpi}", "mpiexec"], "the MPI launcher")
    mpicc = find_tool(options.mpicc, [f"mpicc.{options.mpi}", "mpicc"], "the MPI compiler")
    mpi = Mpi(options.mpi, mpiexec, mpicc, {})
    program = compile_program(mpi, "element_list.c", scratch / "element_list")
    point_mpi4py_at(mpi, program, build)
    ask = "import numpy, PIL; from mpi4py import MPI; print(MPI.Get_library_version())"
    answer = launch(mpi, 1, mpi.rank_environment, [sys.executable, "-c", ask])
    found = re.search(r"Open MPI v\d[^,\s]*|MPICH Version:\s*\S+", answer)
    if not found or found[0].startswith("Open MPI") != (mpi.name == "openmpi"):
        raise DemoError(f"{mpiexec} and mpi4py do not run with {mpi.name}", answer)
    mpi.version = re.sub(r" v| Version:\s*", " ", found[0])
    if re.match(r"MPICH (3\.|4\.0)", mpi.version):
        shim = compile_program(mpi, "mpich40_subarray.c", scratch / "mpich40_subarray.so", "-shared", "-fPIC")
        mpi.native_preload = shim
    return mpi, program


def bytes_text(count):
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def time_table(programs):
    table = Table(title="Time of each phase, slowest process, median of all repetitions", title_justify="left")
    table.add_column("program")
    table.add_column("phase")
    for title in ("native\nms", "Plenum\nms", "native /\nPlenum"):
        table.add_column(title, justify="right")
    for title, size, results in programs:
        repeats = len(results[PLENUM].seconds["write"])
        lines = [title, f"{size / 1e6:.0f} MB", f"{repeats} repetition{'s' * (repeats > 1)}"]
        rows = [(text, *(results[side].median(phase) for side in (NATIVE, PLENUM))) for phase, text in PHASES.items()]
        rows.append(("together", sum(row[1] for row in rows), sum(row[2] for row in rows)))
        for i, (text, native, plenum) in enumerate(rows):
            label = lines[i] if i < len(lines) else ""
            style = "bold" if text in ("write", "read", "together") else "dim"
            cells = [text, f"{native * 1e3:,.1f}", f"{plenum * 1e3:,.1f}", f"{native / max(plenum, 1e-9):.2f}"]
            table.add_row(label, *(f"[{style}]{cell}[/]" for cell in cells))
        table.add_section()
    return table


def report_table(programs):
    table = Table(title="What Plenum did, in its own words (last repetition)", title_justify="left")
    for title in ("program", "access", "strategy", "device", "reason"):
        table.add_column(title, overflow="fold")
    table.add_column("calls", justify="right", no_wrap=True)
    table.add_column("data", justify="right", no_wrap=True)
    for title, _, results in programs:
        label = title.split(",")[0]
        for entry in results[PLENUM].reports:
            device = f"{entry['device']} on {entry['file_system']}"
            for s in entry["strategies"]:
                how = "collective" if s["collective"] else "independent"
                access = f"{how} {s['operation']}, {entry['ranks']} ranks"
                cells = [label, access, s["strategy"], device, s["reason"], f"{s['calls']:,}", bytes_text(s["bytes"])]
                table.add_row(*map(escape, cells))
                label = ""
        table.add_section()
    return table


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], required=True)
    parser.add_argument("--lib", type=pathlib.Path, required=True, help="libplenum_mpiio.so built for this MPI")
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder of this MPI, as build/openmpi")
    parser.add_argument("--output", type=pathlib.Path, help="folder of the map and the scratch files [BUILD/../demo]")
    parser.add_argument("--mpiexec", help="launcher [mpiexec.MPI, else mpiexec]")
    parser.add_argument("--mpicc", help="compiler [mpicc.MPI, else mpicc]")
    return parser.parse_args()


def run_demo(options, console):
    start = time.monotonic()
    library, build = options.lib.resolve(), options.build.resolve()
    if not library.is_file():
        raise DemoError(f"{library} does not exist: run `make MPI={options.mpi}` first")
    demo_dir = (options.output or build.parent / "demo").resolve()
    demo_dir.mkdir(parents=True, exist_ok=True)
    needed = 2 * MASK_BYTES + (300 << 20)
    if shutil.disk_usage(demo_dir).free < needed:
        raise DemoError(f"{demo_dir}: the demo needs {bytes_text(needed)} of free disk space for a moment")
    ranks = 4 if (os.cpu_count() or 1) >= 4 else 2  # of the element list

    screen = Screen(console)
    with tempfile.TemporaryDirectory(prefix="run-", dir=demo_dir) as scratch, screen.progress:
        with screen.chapter("setting up", 1), screen.step(f"setting up {options.mpi}"):
            mpi, program = prepare(options, build, pathlib.Path(scratch))
        console.print(f"[bold]{mpi.version}[/], Plenum from {escape(str(library))}", highlight=False, soft_wrap=True)
        demo = Demo(mpi, library, demo_dir, pathlib.Path(scratch), screen)
        programs = [
            ("land mask (mpi4py), written by 4, read by 3", MASK_BYTES, demo.land_mask()),
            (f"element list (C) by column, {ranks} ranks", LIST_BYTES, demo.element_list(program, "column", ranks)),
            (f"element list (C) by view, {ranks} ranks", LIST_BYTES, demo.element_list(program, "view", ranks)),
        ]

    console.print()
    console.print(time_table(programs))
    console.print(report_table(programs))
    if mpi.native_preload:
        console.print(
            f"{mpi.version}'s own I/O aborts on mpi4py's datatypes (https://github.com/pmodels/mpich/issues/6121); "
            "its land mask runs were helped by examples/mpich40_subarray.c. The runs on Plenum were not.",
            highlight=False,
        )
    console.print("[green]Every pair of files is equal byte for byte; every byte read was checked.[/]", highlight=False)
    console.print(f"The map: {escape(str(demo.png))}", highlight=False, soft_wrap=True)
    console.print(f"{time.monotonic() - start:.0f} s in all.", highlight=False)


def main():
    options = parse_options()
    console = Console()
    if not console.is_terminal:
        console.width = 120
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("demo: terminated"))  # so that scratch files are removed
    try:
        run_demo(options, console)
    except DemoError as error:
        if error.output:
            tail = "\n".join(error.output.rstrip().splitlines()[-60:])
            console.print(Panel(escape(tail), title="output of the program that failed", border_style="red"))
        console.print(f"[bold red]demo failed:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print("demo: interrupted")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
