# SPDX-License-Identifier: BSD-3-Clause
"""Writes a mask of the whole Earth in parallel, reads it back in other blocks, and draws it.

    mpiexec -n 4 python -m mpi4py land_mask.py write mask.bin
    mpiexec -n 3 python -m mpi4py land_mask.py read mask.bin --png mask.png

The mask comes with the Python package `global-land-mask`: 21,600 rows of latitude from north to south, each of 43,200
columns of longitude from west to east, one byte each: 1 = sea, 0 = land. The file holds exactly those 933,120,000
bytes, row by row, whatever the number of processes that wrote it.

`write` gives every process a block of a two-dimensional grid of processes; `read` gives every process a band of
columns, compares it with the package's mask byte for byte, and (rank 0) saves a map. Each process unpacks the package's
file itself, a few rows at a time, and keeps its own block only: all processes together hold the mask once.

Rank 0 prints each phase as `phase NAME SECONDS`, the time of the slowest process between two barriers. The exit code is
0 only if every byte is right.
"""

import argparse
import contextlib
import importlib.util
import pathlib
import sys
import zipfile

import numpy as np
from mpi4py import MPI

ROWS, COLUMNS = 21600, 43200
CELL = 30  # rows and columns of the mask in one point of the map
SLAB_ROWS = 240  # unpacked at a time: 10 MB


@contextlib.contextmanager
def phase(comm, name):
    """Times the body from a common start; rank 0 prints the time of the slowest process."""
    comm.Barrier()
    start = MPI.Wtime()
    yield
    slowest = comm.reduce(MPI.Wtime() - start, op=MPI.MAX)
    if comm.rank == 0:
        print(f"phase {name} {slowest:.6f}", flush=True)


def block_of(process, processes):
    """The slices of rows and columns of the block at these coordinates, cut between points of the map."""

    def cut(length, index, parts):
        return length // CELL * index // parts * CELL

    return [
        slice(cut(length, index, parts), cut(length, index + 1, parts))
        for length, index, parts in zip((ROWS, COLUMNS), process, processes, strict=True)
    ]


def package_slabs(end_row):
    """Yields (first row, rows) of the package's mask in order, until `end_row` is covered.

    The package itself is not imported: that would unpack the whole mask in every process.
    """
    spec = importlib.util.find_spec("global_land_mask")
    if spec is None:
        sys.exit("land_mask: the Python package global-land-mask is not installed")
    path = pathlib.Path(spec.origin).with_name("globe_combined_mask_compressed.npz")
    with zipfile.ZipFile(path) as archive, archive.open("mask.npy") as stream:
        np.lib.format.read_magic(stream)
        shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(stream)
        if shape != (ROWS, COLUMNS) or fortran_order or dtype != np.bool_:
            sys.exit(f"land_mask: {path}: unexpected {dtype} array of shape {shape}")
        for first in range(0, end_row, SLAB_ROWS):
            rows = min(SLAB_ROWS, ROWS - first)
            yield first, np.frombuffer(stream.read(rows * COLUMNS), np.uint8).reshape(rows, COLUMNS)


def package_parts(rows, columns):
    """Yields (rows of the block, its bytes): the part of the package's mask inside the block, slab by slab."""
    for first, slab in package_slabs(rows.stop):
        inside = slice(max(rows.start, first), min(rows.stop, first + len(slab)))
        if inside.start < inside.stop:
            in_block = slice(inside.start - rows.start, inside.stop - rows.start)
            yield in_block, slab[inside.start - first : inside.stop - first, columns]


def open_block(comm, path, amode, rows, columns):
    """Opens the file with a view that shows this process its own block and nothing else."""
    file = MPI.File.Open(comm, path, amode)
    if amode & MPI.MODE_CREATE:
        file.Set_size(0)  # an older, longer file must not show
    shape = [rows.stop - rows.start, columns.stop - columns.start]
    if 0 in shape:  # more processes than points of the map; a subarray must not be empty
        file.Set_view(0, MPI.BYTE, MPI.BYTE)
        return file
    filetype = MPI.BYTE.Create_subarray([ROWS, COLUMNS], shape, [rows.start, columns.start]).Commit()
    file.Set_view(0, MPI.BYTE, filetype)
    filetype.Free()
    return file


def check_count(status, block, what):
    """A file operation that moved fewer bytes than asked for is an error here."""
    moved = status.Get_elements(MPI.BYTE)
    if moved != block.size:
        sys.exit(f"land_mask: {what} moved {moved} of {block.size} bytes")


def write(comm, path):
    """Writes the mask: each process one block of a grid of processes, all in one collective call."""
    grid = MPI.Compute_dims(comm.size, 2)
    rows, columns = block_of(divmod(comm.rank, grid[1]), grid)
    block = np.empty((rows.stop - rows.start, columns.stop - columns.start), np.uint8)
    for in_block, part in package_parts(rows, columns):
        block[in_block] = part

    with phase(comm, "wopen"):
        file = open_block(comm, path, MPI.MODE_CREATE | MPI.MODE_WRONLY, rows, columns)
    status = MPI.Status()
    with phase(comm, "write"):
        file.Write_all([block, MPI.BYTE], status)
    check_count(status, block, "Write_all")
    with phase(comm, "wclose"):
        file.Close()


def read(comm, path, png):
    """Reads the mask in bands of columns, compares it with the package's, and saves a map."""
    rows, columns = block_of((0, comm.rank), (1, comm.size))
    block = np.full((rows.stop - rows.start, columns.stop - columns.start), 0xFF, np.uint8)  # no byte of the mask

    with phase(comm, "ropen"):
        file = open_block(comm, path, MPI.MODE_RDONLY, rows, columns)
    status = MPI.Status()
    with phase(comm, "read"):
        file.Read_all([block, MPI.BYTE], status)
    check_count(status, block, "Read_all")
    with phase(comm, "verify"):
        wrong = sum(int(np.count_nonzero(block[i] != part)) for i, part in package_parts(rows, columns))
        wrong = comm.allreduce(wrong)
        size_is_right = file.Get_size() == ROWS * COLUMNS
    with phase(comm, "rclose"):
        file.Close()

    if wrong or not size_is_right:
        if comm.rank == 0:
            what = f"{wrong} bytes differ from the mask" if wrong else "the file is too long"
            print(f"land_mask: {path}: {what}", file=sys.stderr, flush=True)
        comm.Barrier()  # the first process to leave ends the others
        sys.exit(1)
    if comm.rank == 0:
        print(f"verified {ROWS * COLUMNS} bytes")
    if png:
        bands = comm.gather(land_fraction(block))
        if comm.rank == 0:
            draw(np.concatenate(bands, axis=1), png)


def land_fraction(block):
    """The fraction of land in each point of the map."""
    sea = np.empty((block.shape[0] // CELL, block.shape[1] // CELL), np.float32)
    for i in range(len(sea)):  # row by row of the map: the intermediate sums stay small
        sums = block[i * CELL : (i + 1) * CELL].sum(axis=0, dtype=np.uint16)
        sea[i] = sums.reshape(-1, CELL).sum(axis=1)
    return 1 - sea / (CELL * CELL)


def blur(field, radius):
    """Mean of the field around each point; the map closes at the date line."""
    from PIL import Image, ImageFilter

    margin = 3 * radius
    padded = np.pad(np.pad(field, ((0, 0), (margin, margin)), "wrap"), ((margin, margin), (0, 0)), "edge")
    image = Image.fromarray((padded * 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(radius))
    return np.asarray(image, np.float32)[margin:-margin, margin:-margin] / 255


def ramp(field, stops):
    """Colours [rows, columns, 3] for a field, linear between (value, (red, green, blue)) stops."""
    values, colours = zip(*stops, strict=True)
    channels = [np.interp(field, values, [colour[k] for colour in colours]) for k in range(3)]
    return np.stack(channels, axis=-1)


def draw(land, path):
    """Saves the map: the sea lighter near the shore, the land from green at the shore to brown far inland."""
    from PIL import Image, ImageDraw, ImageFont

    near, far = blur(land, 4), blur(land, 40)
    sea = ((0.0, (16, 52, 96)), (0.08, (27, 84, 138)), (0.35, (68, 140, 184)), (0.8, (120, 184, 208)))
    coast = ((0.15, (98, 150, 88)), (0.45, (128, 164, 92)), (0.7, (172, 166, 104)))
    inland = ((0.9, (166, 132, 84)), (1.0, (140, 104, 68)))
    sea_colour, land_colour = ramp(near, sea), ramp(0.35 * near + 0.65 * far, coast + inland)
    shore = np.clip(land, 0, 1)[..., None]
    pixels = shore * land_colour + (1 - shore) * sea_colour

    rows, columns = land.shape
    for degrees in range(30, 360, 30):  # a faint net of meridians and parallels
        pixels[:, columns * degrees // 360] = 0.88 * pixels[:, columns * degrees // 360] + 0.12 * 255
        if degrees < 180:
            pixels[rows * degrees // 180] = 0.88 * pixels[rows * degrees // 180] + 0.12 * 255

    image = Image.fromarray(pixels.round().clip(0, 255).astype(np.uint8))
    caption = f"{COLUMNS:,} x {ROWS:,} points; land {100 * mean_over_sphere(land):.1f} % of the surface"
    ImageDraw.Draw(image).text((14, rows - 26), caption, font=ImageFont.load_default(14), fill=(48, 42, 36))
    image.save(path)


def mean_over_sphere(field):
    """Mean of the field, each row weighted with the area of its band of latitude."""
    edges = np.sin(np.linspace(np.pi / 2, -np.pi / 2, len(field) + 1))
    return float(np.average(field.mean(axis=1), weights=edges[:-1] - edges[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("write", help="write the mask").add_argument("file")
    reader = commands.add_parser("read", help="read the mask, compare it, draw it")
    reader.add_argument("file")
    reader.add_argument("--png", help="save a map here")
    options = parser.parse_args()

    comm = MPI.COMM_WORLD
    if options.command == "write":
        write(comm, options.file)
    else:
        read(comm, options.file, options.png)


if __name__ == "__main__":
    main()
