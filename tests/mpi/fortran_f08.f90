! SPDX-License-Identifier: BSD-3-Clause
!
! MPI-IO from Fortran with `use mpi_f08`: each rank writes its blocks of an interleaved file, reads the next rank's, and
! looks at the file.
program fortran_f08
  use mpi_f08
  implicit none
  integer, parameter :: block = 3, blocks = 5, values = block * blocks
  integer :: ierr, rank, ranks, i, n, other, one, failed, all_failed
  integer :: buffer(values)
  type(MPI_File) :: fh
  type(MPI_Datatype) :: filetype, vector, got_etype, got_filetype
  type(MPI_Info) :: info
  type(MPI_Status) :: status
  integer(kind=MPI_OFFSET_KIND) :: displacement, offset, file_size
  integer(kind=MPI_ADDRESS_KIND) :: lower, extent
  character(len=256) :: name, folder, value, datarep
  logical :: found

  failed = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_environment_variable('TMPDIR', folder)
  if (folder == ' ') folder = '/tmp'
  n = 0
  if (rank == 0) call system_clock(n)
  call MPI_Bcast(n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  write (name, '(a,a,i0)') trim(folder), '/plenum_f08_', n

  call MPI_File_open(MPI_COMM_WORLD, name, ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, fh, ierr)
  if (ierr /= MPI_SUCCESS) then
    print *, 'open failed'
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end if
  call get_environment_variable('PLENUM_EXPECTED', value)
  if (value == '1') then
    call MPI_File_get_info(fh, info, ierr)
    call MPI_Info_get(info, 'plenum_device', 200, value, found, ierr)
    call check(found, 'it is Plenum')
    call MPI_Info_free(info, ierr)
  end if

  call MPI_Type_vector(blocks, block, block * ranks, MPI_INTEGER, vector, ierr)
  lower = 0
  extent = 4 * values * ranks
  call MPI_Type_create_resized(vector, lower, extent, filetype, ierr)
  call MPI_Type_commit(filetype, ierr)
  displacement = 4 * block * rank
  call MPI_File_set_view(fh, displacement, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL, ierr)
  call check(ierr == MPI_SUCCESS, 'set_view')
  buffer = [(1000 * rank + i, i = 1, values)]
  call MPI_File_write_all(fh, buffer, values, MPI_INTEGER, status, ierr)
  call check(ierr == MPI_SUCCESS, 'write_all')
  call MPI_Get_count(status, MPI_INTEGER, n, ierr)
  call check(n == values, 'the count of write_all')
  call MPI_File_sync(fh, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_File_get_size(fh, file_size, ierr)
  call check(file_size == 4 * values * ranks, 'get_size')

  other = mod(rank + 1, ranks)
  displacement = 4 * block * other
  call MPI_File_set_view(fh, displacement, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL, ierr)
  call MPI_File_get_view(fh, offset, got_etype, got_filetype, datarep, ierr)
  call check(offset == displacement, 'the displacement of get_view')
  call check(got_etype == MPI_INTEGER, 'the etype of get_view')
  call check(datarep == 'native', 'the data representation of get_view')
  call MPI_Type_free(got_filetype, ierr)
  offset = 4
  one = 0
  call MPI_File_read_at(fh, offset, one, 1, MPI_INTEGER, status, ierr)
  call check(one == 1000 * other + 5, 'read_at')
  call MPI_File_read_at_all(fh, offset, buffer, 2, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call check(all(buffer(1:2) == 1000 * other + [5, 6]), 'read_at_all')
  call MPI_Type_free(filetype, ierr)
  call MPI_Type_free(vector, ierr)
  call MPI_File_close(fh, ierr)
  call check(fh == MPI_FILE_NULL, 'close')
  if (rank == 0) call look_at_the_file

  call MPI_Allreduce(failed, all_failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. all_failed == 0) print '(a)', 'No Errors'
  if (rank == 0 .and. all_failed /= 0) print *, all_failed, ' failures'
  call MPI_Finalize(ierr)
  if (all_failed /= 0) stop 1

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    failed = failed + 1
    print *, 'rank', rank, ': wrong: ', what
  end subroutine check

  ! As any other program sees it.
  subroutine look_at_the_file
    integer :: unit, at, error_class
    open (newunit=unit, file=name, access='stream', form='unformatted', status='old')
    do at = 0, values * ranks - 1
      read (unit) one
      n = at / block
      call check(one == 1000 * mod(n, ranks) + n / ranks * block + mod(at, block) + 1, 'the content of the file')
    end do
    close (unit)
    call MPI_File_delete(name, MPI_INFO_NULL, ierr)
    call check(ierr == MPI_SUCCESS, 'delete')
    call MPI_File_delete(name, MPI_INFO_NULL, ierr)  ! an error comes back as a code
    call MPI_Error_class(ierr, error_class, n)
    call check(error_class == MPI_ERR_NO_SUCH_FILE, 'the error of deleting twice')
  end subroutine look_at_the_file

end program fortran_f08
