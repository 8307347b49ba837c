# SPDX-License-Identifier: BSD-3-Clause
"""Exercises MPI.File from mpi4py on a temporary file; exit code 0 if everything is right, 1 if not.

    mpiexec -n 2 env LD_PRELOAD=.../libplenum_mpiio.so PLENUM_EXPECTED=1 python -m mpi4py mpi4py_smoke.py

With PLENUM_EXPECTED=1 it also checks that Plenum carries the file, and Plenum's error texts. Any number of ranks.
mpi4py makes datatypes with the large-count functions where the MPI library has them, and calls the large-count forms of
the file functions: what this reaches differs from what a C program reaches.
"""

import os
import pathlib
import shutil
import sys
import tempfile

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
PLENUM_EXPECTED = os.environ.get("PLENUM_EXPECTED") == "1"


def expect(condition, what):
    """Every failure is fatal for all ranks: `python -m mpi4py` aborts the job."""
    if not condition:
        raise AssertionError(f"rank {RANK} of {RANKS}: {what}")


def expect_bytes(actual, expected, what):
    actual, expected = np.asarray(actual), np.asarray(expected)
    expect(np.array_equal(actual, expected), f"{what}: got {actual.ravel()[:16]}, expected {expected.ravel()[:16]}")


def error_of(call):
    """The MPI exception that `call` raises."""
    try:
        call()
    except MPI.Exception as error:
        return error
    raise AssertionError(f"rank {RANK} of {RANKS}: no error was raised")


def on_disk(path, dtype=np.uint8):
    """The file as another program sees it; collective, between barriers so that nobody writes meanwhile."""
    COMM.Barrier()
    content = np.fromfile(path, dtype)
    COMM.Barrier()
    return content


def plenum_carries_the_file(path):
    file = MPI.File.Open(COMM, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
    info = file.Get_info()
    device = info.Get("plenum_device")
    info.Free()
    file.Close()
    if PLENUM_EXPECTED:
        expect(bool(device), "the file's info has no plenum_device: Plenum does not carry it")


def explicit_offsets_reach_their_place(path):
    file = MPI.File.Open(COMM, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Set_size(0)
    mine = np.arange(100, dtype="i4") + 1000 * RANK
    status = MPI.Status()
    file.Write_at(4 * 100 * RANK, mine, status)
    expect(status.Get_count(MPI.INT) == 100, "Write_at: wrong count in the status")
    file.Sync()
    COMM.Barrier()
    file.Sync()
    neighbour = (RANK + 1) % RANKS
    got = np.full(100, -1, "i4")
    file.Read_at(4 * 100 * neighbour, got, status)
    expect(status.Get_count(MPI.INT) == 100, "Read_at: wrong count in the status")
    expect_bytes(got, np.arange(100) + 1000 * neighbour, "Read_at of the neighbour's numbers")
    expect(file.Get_size() == 400 * RANKS, "Get_size")

    got[:] = -1  # ten numbers are left before the end of the file
    file.Read_at(4 * (100 * RANKS - 10), got, status)
    expect(status.Get_count(MPI.INT) == 10, "a read across the end of the file must be short")
    expect_bytes(got[10:], np.full(90, -1), "memory behind a short read")
    file.Close()
    expected = np.concatenate([np.arange(100, dtype="i4") + 1000 * r for r in range(RANKS)])
    expect_bytes(on_disk(path, "i4"), expected, "the file after Write_at")


def pointers_and_seek_count_etypes(path):
    file = MPI.File.Open(COMM, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Set_size(0)
    file.Set_view(8 + 8 * 10 * RANK, MPI.DOUBLE)
    file.Write(np.arange(10, dtype="f8") + RANK)
    expect(file.Get_position() == 10, "position after Write")
    expect(file.Get_byte_offset(3) == 8 + 8 * 10 * RANK + 24, "Get_byte_offset")
    file.Seek(-4, MPI.SEEK_CUR)
    got = np.zeros(2, "f8")
    file.Read(got)
    expect_bytes(got, [6.0 + RANK, 7.0 + RANK], "Read after Seek(SEEK_CUR)")
    file.Seek(1, MPI.SEEK_SET)
    file.Read(got)
    expect_bytes(got, [1.0 + RANK, 2.0 + RANK], "Read after Seek(SEEK_SET)")
    expect(file.Get_position() == 3, "position after Read")
    file.Sync()
    COMM.Barrier()
    file.Set_view(0, MPI.BYTE)
    file.Seek(0, MPI.SEEK_END)
    expect(file.Get_position() == 8 + 80 * RANKS, "position at the end of the file")
    file.Close()


def vector_views_interleave(path):
    blocks, block = 50, 3
    file = MPI.File.Open(COMM, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Set_size(0)
    vector = MPI.SHORT.Create_vector(blocks, block, block * RANKS)
    filetype = vector.Create_resized(0, 2 * block * RANKS * blocks).Commit()
    vector.Free()
    file.Set_view(2 * block * RANK, MPI.SHORT, filetype)
    displacement, _, _, representation = file.Get_view()
    expect(displacement == 2 * block * RANK and representation == "native", "Get_view")
    mine = (np.arange(2 * blocks * block) * RANKS + RANK).astype("i2")  # two tiles of the view
    file.Write_all(mine)
    got = np.zeros_like(mine)
    file.Seek(0)
    file.Read_all(got)
    expect_bytes(got, mine, "Read_all through a vector view")
    part = np.zeros(5, "i2")
    file.Read_at_all(block + 1, part)
    expect_bytes(part, mine[block + 1 : block + 6], "Read_at_all inside a vector view")
    filetype.Free()
    file.Close()
    shape = (2 * blocks, RANKS, block)
    whole = np.empty(shape, "i2")
    for r in range(RANKS):
        whole[:, r, :] = (np.arange(2 * blocks * block) * RANKS + r).reshape(2 * blocks, block)
    expect_bytes(on_disk(path, "i2"), whole.ravel(), "the file after Write_all through a vector view")


def subarray_views_assemble_a_matrix(path):
    rows, columns = 37, 12 * RANKS
    whole = np.arange(rows * columns, dtype="f4").reshape(rows, columns)
    file = MPI.File.Open(COMM, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Set_size(0)
    written = MPI.FLOAT.Create_subarray([rows, columns], [rows, 12], [0, 12 * RANK]).Commit()
    file.Set_view(0, MPI.FLOAT, written)
    # A memory type as well: the block sits inside a larger array with a margin of one.
    padded = np.full((rows + 2, 14), -1, "f4")
    padded[1:-1, 1:-1] = whole[:, 12 * RANK : 12 * (RANK + 1)]
    memory = MPI.FLOAT.Create_subarray([rows + 2, 14], [rows, 12], [1, 1]).Commit()
    file.Write_all([padded, 1, memory])
    expect_bytes(on_disk(path, "f4").reshape(rows, columns), whole, "the file after Write_all through subarrays")

    first, end = rows * RANK // RANKS, rows * (RANK + 1) // RANKS  # read back in rows, not columns
    read = MPI.FLOAT.Create_subarray([rows, columns], [end - first, columns], [first, 0]).Commit()
    file.Set_view(0, MPI.FLOAT, read)
    got = np.zeros((end - first, columns), "f4")
    status = MPI.Status()
    file.Read_all(got, status)
    expect(status.Get_count(MPI.FLOAT) == got.size, "Read_all: wrong count in the status")
    expect_bytes(got, whole[first:end], "Read_all through another subarray")

    file.Set_view(0, MPI.FLOAT, written)
    back = np.full_like(padded, -1)
    file.Read_all([back, 1, memory])
    expect_bytes(back, padded, "Read_all into a subarray of memory: the margin must stay")
    for datatype in (written, memory, read):
        datatype.Free()
    file.Close()


def size_can_be_set(path):
    file = MPI.File.Open(COMM, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
    for size in (5000, 123, 0):
        file.Set_size(size)
        expect(file.Get_size() == size, f"Get_size after Set_size({size})")
    expect(file.Get_amode() == MPI.MODE_CREATE | MPI.MODE_RDWR, "Get_amode")
    group = file.Get_group()
    expect(group.Get_size() == RANKS, "Get_group")
    group.Free()
    file.Close()


def a_missing_file_is_reported_with_its_name(path):
    missing = path + ".missing"
    error = error_of(lambda: MPI.File.Open(COMM, missing, MPI.MODE_RDONLY))
    expect(error.Get_error_class() == MPI.ERR_NO_SUCH_FILE, f"error class of a missing file: {error}")
    if PLENUM_EXPECTED:
        expect(pathlib.Path(missing).name in str(error), f"the message does not name the file: {error}")


def a_deleted_file_is_gone(path):
    COMM.Barrier()
    if RANK == 0:
        MPI.File.Delete(path)
    COMM.Barrier()
    expect(not os.path.exists(path), "the file is still there after Delete")
    error = error_of(lambda: MPI.File.Delete(path))
    expect(error.Get_error_class() == MPI.ERR_NO_SUCH_FILE, f"error class of deleting a missing file: {error}")


CHECKS = [
    plenum_carries_the_file,
    explicit_offsets_reach_their_place,
    pointers_and_seek_count_etypes,
    vector_views_interleave,
    subarray_views_assemble_a_matrix,
    size_can_be_set,
    a_missing_file_is_reported_with_its_name,
    a_deleted_file_is_gone,
]


def main():
    folder = COMM.bcast(tempfile.mkdtemp(prefix="mpi4py_smoke.") if RANK == 0 else None)
    try:
        for check in CHECKS:
            check(os.path.join(folder, "file"))
            COMM.Barrier()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # the job ends here: no barrier to wait for
        raise
    if RANK == 0:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"mpi4py_smoke: {len(CHECKS)} checks passed on {RANKS} ranks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
