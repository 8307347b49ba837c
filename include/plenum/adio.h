/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ADIO, an abstract-device interface for parallel I/O: the interface for those who write parallel-I/O interfaces.
 *
 * Source: R. Thakur, W. Gropp, E. Lusk, "An Abstract-Device Interface for Implementing Portable Parallel-I/O
 * Interfaces", 1996; [3.1] below is its section 3.1. All its functions are here with its arguments, in its order;
 * `const` was added to what is only read. What it leaves open is marked "Choice"; what was added to it, "Completion".
 *
 * Compile with the MPI library's compiler wrapper, link with -lplenum. C99, C++.
 *
 * Common to all functions
 *
 *   error_code   out: MPI_SUCCESS or an MPI error class; may be NULL. ADIO_Error_string() says more. Nothing is
 *                printed, and no error handler is called [Choice].
 *   status       out: ADIO_Bytes(status), or MPI_Get_elements_x() with MPI_BYTE, is the number of bytes transferred;
 *                may be NULL or ADIO_STATUS_IGNORE. After an error it says 0 [Choice].
 *   offsets      64 bits, in bytes [3.2].
 *   fd           a file that ADIO_Open returned. NULL, or a file that has been closed, gives MPI_ERR_FILE, at once
 *                and on this process only.
 *
 * "Collective" functions are called by all processes that opened the file, in the same order; they are not
 * necessarily barriers [3.5]. They succeed on all processes or fail on all of them with the same error_code [Choice].
 * "Independent" ones are called by one process for itself and touch the file; "local" ones touch neither the file nor
 * other processes.
 *
 * Threads: independent and local functions may be called by several threads at once (with MPI_THREAD_MULTIPLE),
 * collective ones by one thread at a time. A request belongs to one thread at a time.
 */
#ifndef PLENUM_ADIO_H
#define PLENUM_ADIO_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* To the linker the functions have names of their own: parts of MPI libraries (ROMIO) export some of these names. */
#define ADIO_Init plenum_adio_init
#define ADIO_End plenum_adio_end
#define ADIO_Open plenum_adio_open
#define ADIO_Close plenum_adio_close
#define ADIO_ReadContig plenum_adio_read_contig
#define ADIO_ReadContig_c plenum_adio_read_contig_c
#define ADIO_ReadContigColl plenum_adio_read_contig_coll
#define ADIO_ReadContigColl_c plenum_adio_read_contig_coll_c
#define ADIO_ReadStrided plenum_adio_read_strided
#define ADIO_ReadStrided_c plenum_adio_read_strided_c
#define ADIO_ReadStridedColl plenum_adio_read_strided_coll
#define ADIO_ReadStridedColl_c plenum_adio_read_strided_coll_c
#define ADIO_WriteContig plenum_adio_write_contig
#define ADIO_WriteContig_c plenum_adio_write_contig_c
#define ADIO_WriteContigColl plenum_adio_write_contig_coll
#define ADIO_WriteContigColl_c plenum_adio_write_contig_coll_c
#define ADIO_WriteStrided plenum_adio_write_strided
#define ADIO_WriteStrided_c plenum_adio_write_strided_c
#define ADIO_WriteStridedColl plenum_adio_write_strided_coll
#define ADIO_WriteStridedColl_c plenum_adio_write_strided_coll_c
#define ADIO_IreadContig plenum_adio_iread_contig
#define ADIO_IreadContig_c plenum_adio_iread_contig_c
#define ADIO_IreadContigColl plenum_adio_iread_contig_coll
#define ADIO_IreadContigColl_c plenum_adio_iread_contig_coll_c
#define ADIO_IreadStrided plenum_adio_iread_strided
#define ADIO_IreadStrided_c plenum_adio_iread_strided_c
#define ADIO_IreadStridedColl plenum_adio_iread_strided_coll
#define ADIO_IreadStridedColl_c plenum_adio_iread_strided_coll_c
#define ADIO_IwriteContig plenum_adio_iwrite_contig
#define ADIO_IwriteContig_c plenum_adio_iwrite_contig_c
#define ADIO_IwriteContigColl plenum_adio_iwrite_contig_coll
#define ADIO_IwriteContigColl_c plenum_adio_iwrite_contig_coll_c
#define ADIO_IwriteStrided plenum_adio_iwrite_strided
#define ADIO_IwriteStrided_c plenum_adio_iwrite_strided_c
#define ADIO_IwriteStridedColl plenum_adio_iwrite_strided_coll
#define ADIO_IwriteStridedColl_c plenum_adio_iwrite_strided_coll_c
#define ADIO_SeekIndividual plenum_adio_seek_individual
#define ADIO_ReadDone plenum_adio_read_done
#define ADIO_WriteDone plenum_adio_write_done
#define ADIO_ReadIcomplete plenum_adio_read_icomplete
#define ADIO_WriteIcomplete plenum_adio_write_icomplete
#define ADIO_ReadComplete plenum_adio_read_complete
#define ADIO_WriteComplete plenum_adio_write_complete
#define ADIO_Delete plenum_adio_delete
#define ADIO_Resize plenum_adio_resize
#define ADIO_Flush plenum_adio_flush
#define ADIO_Get_size plenum_adio_get_size
#define ADIO_Reserve plenum_adio_reserve
#define ADIO_Set_view plenum_adio_set_view
#define ADIO_Set_atomicity plenum_adio_set_atomicity
#define ADIO_Hints_create plenum_adio_hints_create
#define ADIO_Hints_set plenum_adio_hints_set
#define ADIO_Hints_get plenum_adio_hints_get
#define ADIO_Hints_to_info plenum_adio_hints_to_info
#define ADIO_Hints_free plenum_adio_hints_free
#define ADIO_Set_hints plenum_adio_set_hints
#define ADIO_Get_hints plenum_adio_get_hints
#define ADIO_Bytes plenum_adio_bytes
#define ADIO_Error_string plenum_adio_error_string

/* ---- Types and constants --------------------------------------------------------------------------------------- */

typedef MPI_Offset ADIO_Offset; /* [bytes] 64 bits [3.2] */
typedef MPI_Status ADIO_Status;
typedef struct plenum_adio_file* ADIO_File;       /* an open file; values are never used again */
typedef struct plenum_adio_request* ADIO_Request; /* a nonblocking access; values are never used again */
typedef struct plenum_adio_hints ADIO_Hints;      /* a list of keys and values, made by ADIO_Hints_create() */

#define ADIO_FILE_NULL ((ADIO_File)0)
#define ADIO_REQUEST_NULL ((ADIO_Request)0)
#define ADIO_STATUS_IGNORE MPI_STATUS_IGNORE

/*
 * Access modes [3.1]: exactly one of RDONLY, WRONLY and RDWR, with any of the others. They are distinct bits, so that
 * the paper's exclusive-or combines them as well as | does; but a mode given twice with ^ is cancelled. Values that
 * ROMIO has too are ROMIO's.
 */
#define ADIO_CREATE 1 /* create the file if it does not exist; an existing one keeps its content [Choice] */
#define ADIO_RDONLY 2
#define ADIO_WRONLY 4
#define ADIO_RDWR 8
#define ADIO_DELETE_ON_CLOSE 16 /* ADIO_Close removes the file */
#define ADIO_EXCLUSIVE 32 /* a promise: only the processes of this open access the file, so that it may be cached */
#define ADIO_EXCL 64      /* with CREATE: fail with MPI_ERR_FILE_EXISTS if there is such a file [Completion] */
#define ADIO_ATOMIC 512   /* conflicting accesses of these processes happen one after the other; else undefined */

#define ADIO_PERM_NULL (-1) /* perm: as the hint file_perm says, else 0666 less the umask */
#define ADIO_IOMODE_NULL 0  /* iomode: none */

/* file_ptr_type [3.2]: where an access begins. */
#define ADIO_EXPLICIT_OFFSET 100 /* at `offset` */
#define ADIO_INDIVIDUAL 101      /* at this process's file pointer; `offset` is ignored */

/* whence [3.6] */
#define ADIO_SEEK_SET 0
#define ADIO_SEEK_CUR 1
#define ADIO_SEEK_END 2

/* ---- Beginning and end ----------------------------------------------------------------------------------------- */

/*
 * Begins the use of ADIO.
 *
 *   argc, argv   the arguments of main(), or NULL; not used, not changed
 *
 * Local. MPI must have been initialized. May be called again; ADIO_End() then counts back. Choice: the other
 * functions work without it. Errors: MPI_ERR_OTHER if MPI is not initialized or already finalized. Source: [3.8].
 */
void ADIO_Init(int* argc, char*** argv, int* error_code);

/*
 * Ends the use of ADIO, when called as often as ADIO_Init().
 *
 * Local; before MPI_Finalize(). Choice: files that are still open are closed, by each process for itself: what this
 * process wrote is safe. MPI_Finalize() does the same where ADIO_End() is forgotten. Errors: MPI_ERR_FILE_IN_USE if a
 * file was still open; its name is in the text. Source: [3.8].
 */
void ADIO_End(int* error_code);

/* ---- Open and close -------------------------------------------------------------------------------------------- */

/*
 * Opens a file for a group of processes.
 *
 *   comm          the processes that take part; MPI_COMM_SELF for one alone. ADIO works on a duplicate
 *   filename      the same file for all; may begin with the name of a device and a colon: "posix:/scratch/a.dat"
 *   file_system   NULL: found out from the name and the file system it is on. Choice: else a `const char*`, the name
 *                 of a device ("posix"), as the hint plenum_device gives it
 *   access_mode   ADIO_RDONLY and so on, the same on all processes
 *   disp          [bytes] where the view begins in the file
 *   etype         the unit of strided access; MPI_BYTE if there is none. The same extent on all processes
 *   filetype      which bytes from disp on this process sees in strided access: copies of filetype, one extent apart.
 *                 Made of whole etypes, at displacements that never go back; MPI_BYTE for all bytes. May differ
 *                 between processes
 *   iomode        an I/O mode of Intel PFS, kept for an interface that has such modes; any value, without effect on
 *                 the calls of this header [Choice]
 *   hints         NULL for none; need not stay
 *   perm          permissions of a file that is created, such as 0644, less the umask; ADIO_PERM_NULL
 *
 * Collective over comm. Returns the file, or ADIO_FILE_NULL after an error. Its file pointer is 0.
 *
 * Errors: MPI_ERR_COMM for a null communicator or an intercommunicator (local); MPI_ERR_AMODE for no or several of
 * RDONLY, WRONLY and RDWR, unknown bits, or CREATE with RDONLY; MPI_ERR_NOT_SAME if name, mode or hints that must be
 * equal differ, or the etypes' extents; MPI_ERR_ARG for a null name, a negative disp or bad permissions; MPI_ERR_TYPE
 * for types that make no view (as in MPI: also if the filetype overlaps itself and the file is written);
 * MPI_ERR_INFO_VALUE for a hint from the environment that has no meaning; MPI_ERR_UNSUPPORTED_OPERATION for
 * ADIO_ATOMIC where the device has no range locks; MPI_ERR_NO_SUCH_FILE, MPI_ERR_FILE_EXISTS, MPI_ERR_ACCESS,
 * MPI_ERR_BAD_FILE, ... as the device says.
 *
 * Source: [3.1]; disp, etype and filetype as the file view of MPI.
 */
ADIO_File ADIO_Open(MPI_Comm comm, const char* filename, void* file_system, int access_mode, ADIO_Offset disp,
                    MPI_Datatype etype, MPI_Datatype filetype, int iomode, ADIO_Hints* hints, int perm,
                    int* error_code);

/*
 * Closes a file; with ADIO_DELETE_ON_CLOSE, removes it.
 *
 * Collective. Choice: accesses still under way are brought to their end first, and their requests and all others of
 * this file become invalid; the error of such an access is reported here, on the process where it happened, so that
 * none is lost. The file is closed whatever the error. What has been written is visible to processes that open the
 * file from now on; durable only after ADIO_Flush(). Errors: the device's. Source: [3.1].
 */
void ADIO_Close(ADIO_File fd, int* error_code);

/* ---- Data access ----------------------------------------------------------------------------------------------- */

/*
 * Rules common to the 32 functions that follow.
 *
 * Names: Read and Write; I...: nonblocking; Contig and Strided; ...Coll: collective, else independent. Each exists
 * with an `int` length or count, and as ..._c with an MPI_Count for more than 2^31 - 1 [Completion].
 *
 * Contiguous access: `len` bytes of memory at `buf`, and as many consecutive bytes of the file. An explicit offset
 * counts bytes from the start of the file [3.2], whatever disp and filetype are [Choice].
 *
 * Strided access: `count` items of `datatype` at `buf`, and those bytes of the file that the filetype shows [3.3]. An
 * explicit offset counts bytes within the view: offset 0 is the first byte of the file that this process sees, and
 * bytes it does not see are not counted. It must be a multiple of the etype's size, and so must the size of the data
 * [Choice]. With disp 0 and filetype MPI_BYTE both kinds of offsets are the same.
 *
 * Individual file pointer: a number of bytes that an access takes for its offset, and that moves on by the bytes
 * asked for (not those transferred) when the call is made; it stays where it was if the arguments are wrong [Choice,
 * as in MPI]. There are no shared file pointers [3.2].
 *
 * Short transfers: a read is short only at the end of the file, which is no error; the rest of the memory keeps its
 * value. A write is never short without an error.
 *
 * Memory: the buffer of a write is not changed. The buffer of a nonblocking access must be left alone until a test
 * has found the access complete [3.4]; the datatype may be freed before. Overlapping items are allowed in what is
 * written only.
 *
 * Concurrent accesses to the same bytes, one of them a write: undefined without ADIO_ATOMIC; of a collective write,
 * each byte comes from one of its writers [Choice].
 *
 * Errors: MPI_ERR_COUNT for a negative len or count, MPI_ERR_BUFFER for a null buf with something to move,
 * MPI_ERR_TYPE for a null datatype or data that are not whole etypes, MPI_ERR_ARG for a negative offset, one that is
 * no multiple of the etype's size, or another file_ptr_type; MPI_ERR_ACCESS for reading a file that is open for
 * writing only, MPI_ERR_READ_ONLY for the converse; MPI_ERR_NO_SPACE, MPI_ERR_QUOTA, MPI_ERR_IO, ... as the device
 * says. In a collective access, one process's error is every process's.
 */

/* Contiguous, blocking. Independent. Source: [3.2]. */
void ADIO_ReadContig(ADIO_File fd, void* buf, int len, int file_ptr_type, ADIO_Offset offset, ADIO_Status* status,
                     int* error_code);
void ADIO_ReadContig_c(ADIO_File fd, void* buf, MPI_Count len, int file_ptr_type, ADIO_Offset offset,
                       ADIO_Status* status, int* error_code);
void ADIO_WriteContig(ADIO_File fd, const void* buf, int len, int file_ptr_type, ADIO_Offset offset,
                      ADIO_Status* status, int* error_code);
void ADIO_WriteContig_c(ADIO_File fd, const void* buf, MPI_Count len, int file_ptr_type, ADIO_Offset offset,
                        ADIO_Status* status, int* error_code);

/* Strided, blocking. Independent. Source: [3.3]. */
void ADIO_ReadStrided(ADIO_File fd, void* buf, int count, MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                      ADIO_Status* status, int* error_code);
void ADIO_ReadStrided_c(ADIO_File fd, void* buf, MPI_Count count, MPI_Datatype datatype, int file_ptr_type,
                        ADIO_Offset offset, ADIO_Status* status, int* error_code);
void ADIO_WriteStrided(ADIO_File fd, const void* buf, int count, MPI_Datatype datatype, int file_ptr_type,
                       ADIO_Offset offset, ADIO_Status* status, int* error_code);
void ADIO_WriteStrided_c(ADIO_File fd, const void* buf, MPI_Count count, MPI_Datatype datatype, int file_ptr_type,
                         ADIO_Offset offset, ADIO_Status* status, int* error_code);

/*
 * Nonblocking. Independent.
 *
 *   request   out: to be given to the functions under "Test and wait"; ADIO_REQUEST_NULL after an error. Choice: a
 *             pointer in all forms. The paper has it by value in the strided ones, where nothing could be returned
 *
 * Any number of accesses may be under way. They start at once and go on by themselves. Errors in the arguments are in
 * error_code, those of the transfer in that of the completing test. Source: [3.4].
 */
void ADIO_IreadContig(ADIO_File fd, void* buf, int len, int file_ptr_type, ADIO_Offset offset, ADIO_Request* request,
                      int* error_code);
void ADIO_IreadContig_c(ADIO_File fd, void* buf, MPI_Count len, int file_ptr_type, ADIO_Offset offset,
                        ADIO_Request* request, int* error_code);
void ADIO_IwriteContig(ADIO_File fd, const void* buf, int len, int file_ptr_type, ADIO_Offset offset,
                       ADIO_Request* request, int* error_code);
void ADIO_IwriteContig_c(ADIO_File fd, const void* buf, MPI_Count len, int file_ptr_type, ADIO_Offset offset,
                         ADIO_Request* request, int* error_code);
void ADIO_IreadStrided(ADIO_File fd, void* buf, int count, MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                       ADIO_Request* request, int* error_code);
void ADIO_IreadStrided_c(ADIO_File fd, void* buf, MPI_Count count, MPI_Datatype datatype, int file_ptr_type,
                         ADIO_Offset offset, ADIO_Request* request, int* error_code);
void ADIO_IwriteStrided(ADIO_File fd, const void* buf, int count, MPI_Datatype datatype, int file_ptr_type,
                        ADIO_Offset offset, ADIO_Request* request, int* error_code);
void ADIO_IwriteStrided_c(ADIO_File fd, const void* buf, MPI_Count count, MPI_Datatype datatype, int file_ptr_type,
                          ADIO_Offset offset, ADIO_Request* request, int* error_code);

/* Collective, blocking. A process with nothing to move gives len or count 0. Source: [3.5]. */
void ADIO_ReadContigColl(ADIO_File fd, void* buf, int len, int file_ptr_type, ADIO_Offset offset, ADIO_Status* status,
                         int* error_code);
void ADIO_ReadContigColl_c(ADIO_File fd, void* buf, MPI_Count len, int file_ptr_type, ADIO_Offset offset,
                           ADIO_Status* status, int* error_code);
void ADIO_WriteContigColl(ADIO_File fd, const void* buf, int len, int file_ptr_type, ADIO_Offset offset,
                          ADIO_Status* status, int* error_code);
void ADIO_WriteContigColl_c(ADIO_File fd, const void* buf, MPI_Count len, int file_ptr_type, ADIO_Offset offset,
                            ADIO_Status* status, int* error_code);
void ADIO_ReadStridedColl(ADIO_File fd, void* buf, int count, MPI_Datatype datatype, int file_ptr_type,
                          ADIO_Offset offset, ADIO_Status* status, int* error_code);
void ADIO_ReadStridedColl_c(ADIO_File fd, void* buf, MPI_Count count, MPI_Datatype datatype, int file_ptr_type,
                            ADIO_Offset offset, ADIO_Status* status, int* error_code);
void ADIO_WriteStridedColl(ADIO_File fd, const void* buf, int count, MPI_Datatype datatype, int file_ptr_type,
                           ADIO_Offset offset, ADIO_Status* status, int* error_code);
void ADIO_WriteStridedColl_c(ADIO_File fd, const void* buf, MPI_Count count, MPI_Datatype datatype, int file_ptr_type,
                             ADIO_Offset offset, ADIO_Status* status, int* error_code);

/*
 * Collective, nonblocking. Several may be under way on a file; all processes start them in the same order, and may
 * complete them in any. They go on while this process tests or waits for any of them. A blocking collective call on
 * the same file completes them first. Choice: errors in the arguments, too, are reported by the completing test, on
 * all processes. Source: [3.5].
 */
void ADIO_IreadContigColl(ADIO_File fd, void* buf, int len, int file_ptr_type, ADIO_Offset offset,
                          ADIO_Request* request, int* error_code);
void ADIO_IreadContigColl_c(ADIO_File fd, void* buf, MPI_Count len, int file_ptr_type, ADIO_Offset offset,
                            ADIO_Request* request, int* error_code);
void ADIO_IwriteContigColl(ADIO_File fd, const void* buf, int len, int file_ptr_type, ADIO_Offset offset,
                           ADIO_Request* request, int* error_code);
void ADIO_IwriteContigColl_c(ADIO_File fd, const void* buf, MPI_Count len, int file_ptr_type, ADIO_Offset offset,
                             ADIO_Request* request, int* error_code);
void ADIO_IreadStridedColl(ADIO_File fd, void* buf, int count, MPI_Datatype datatype, int file_ptr_type,
                           ADIO_Offset offset, ADIO_Request* request, int* error_code);
void ADIO_IreadStridedColl_c(ADIO_File fd, void* buf, MPI_Count count, MPI_Datatype datatype, int file_ptr_type,
                             ADIO_Offset offset, ADIO_Request* request, int* error_code);
void ADIO_IwriteStridedColl(ADIO_File fd, const void* buf, int count, MPI_Datatype datatype, int file_ptr_type,
                            ADIO_Offset offset, ADIO_Request* request, int* error_code);
void ADIO_IwriteStridedColl_c(ADIO_File fd, const void* buf, MPI_Count count, MPI_Datatype datatype, int file_ptr_type,
                              ADIO_Offset offset, ADIO_Request* request, int* error_code);

/* ---- Seek ------------------------------------------------------------------------------------------------------ */

/*
 * Moves this process's file pointer.
 *
 *   offset   [bytes] may be negative, and may lead past the end of the file
 *   whence   from where: ADIO_SEEK_SET: 0; ADIO_SEEK_CUR: the pointer; ADIO_SEEK_END: the size of the file in bytes,
 *            whatever the view shows of it [Choice]
 *
 * Independent. Returns the new pointer [bytes], or -1 after an error, when it has not moved. Errors: MPI_ERR_ARG if
 * it would become negative or too large, or for another whence; the device's, if the size cannot be found out.
 * Source: [3.6].
 */
ADIO_Offset ADIO_SeekIndividual(ADIO_File fd, ADIO_Offset offset, int whence, int* error_code);

/* ---- Test and wait --------------------------------------------------------------------------------------------- */

/*
 * Returns 1 if a nonblocking access is complete and requires no further action, else 0.
 *
 * Local; helps the access along, but does not wait. Choice: the request stays valid after a 1, so that one of the
 * functions below can still say how the access ended; if none is called, ADIO_Close() does that. 1 for
 * ADIO_REQUEST_NULL and for a request that is completed already. The Read and Write forms are the same. Source:
 * [3.7].
 */
int ADIO_ReadDone(ADIO_Request request);
int ADIO_WriteDone(ADIO_Request request);

/*
 * Helps a nonblocking access along. If it is complete: returns 1, reports status and error_code, and ends the
 * request, which must not be used again; else returns 0 and reports success and 0 bytes.
 *
 * Local; does not wait. For ADIO_REQUEST_NULL: 1, success, 0 bytes, as MPI_Test() has it. Errors: MPI_ERR_REQUEST
 * (and 1) for a request that has ended; those of the access. Source: [3.7].
 */
int ADIO_ReadIcomplete(ADIO_Request request, ADIO_Status* status, int* error_code);
int ADIO_WriteIcomplete(ADIO_Request request, ADIO_Status* status, int* error_code);

/*
 * The same, but waits until the access is complete.
 *
 * Local; for a collective access, the other processes must complete it, too. Completion: the paper's section is
 * called "Test and Wait" and has no wait; the names are those of later versions of ADIO.
 */
void ADIO_ReadComplete(ADIO_Request request, ADIO_Status* status, int* error_code);
void ADIO_WriteComplete(ADIO_Request request, ADIO_Status* status, int* error_code);

/* Completion. The number of bytes that `status` reports. Local. */
MPI_Count ADIO_Bytes(const ADIO_Status* status);

/* ---- The file as a whole --------------------------------------------------------------------------------------- */

/*
 * Removes a file, which need not be open. Independent. Errors: MPI_ERR_ARG for a null name, MPI_ERR_NO_SUCH_FILE,
 * MPI_ERR_ACCESS, ... as the device says. Source: [3.8].
 */
void ADIO_Delete(const char* filename, int* error_code);

/*
 * Makes the file `size` bytes long; bytes it gains read as zeros. Choice: file pointers do not move.
 *
 * Collective, with the same size on all processes [Choice: the paper does not say]. Errors: MPI_ERR_NOT_SAME,
 * MPI_ERR_ARG for a negative size, MPI_ERR_READ_ONLY for a file open for reading only; the device's. Source: [3.8].
 */
void ADIO_Resize(ADIO_File fd, ADIO_Offset size, int* error_code);

/*
 * Makes what this process wrote durable and visible to all other processes, also those that opened the file
 * otherwise.
 *
 * Independent [Choice: the paper does not say]: complete nonblocking accesses and let the processes synchronize
 * before, where the order matters. Errors: the device's. Source: [3.8].
 */
void ADIO_Flush(ADIO_File fd, int* error_code);

/* Completion. The size of the file [bytes], or -1 after an error. Independent. */
ADIO_Offset ADIO_Get_size(ADIO_File fd, int* error_code);

/*
 * Completion. Reserves storage for the first `size` bytes of the file; a shorter file grows to that size, a longer
 * one is not cut. Collective, with the same size on all processes. Errors: as ADIO_Resize(); MPI_ERR_NO_SPACE.
 */
void ADIO_Reserve(ADIO_File fd, ADIO_Offset size, int* error_code);

/*
 * Completion. Gives an open file another displacement, etype and filetype, as in ADIO_Open(), and sets its pointer to
 * 0. Collective. After an error the old ones hold.
 */
void ADIO_Set_view(ADIO_File fd, ADIO_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, int* error_code);

/*
 * Completion. Turns the mode ADIO_ATOMIC on (1) or off (0) for an open file. Collective, with the same value on all
 * processes. Errors: MPI_ERR_NOT_SAME; MPI_ERR_UNSUPPORTED_OPERATION where the device has no range locks.
 */
void ADIO_Set_atomicity(ADIO_File fd, int flag, int* error_code);

/* ---- Hints ----------------------------------------------------------------------------------------------------- */

/*
 * The paper leaves the hints structure open [3.1]. Choice: a list of keys and values with the keys of MPI_Info hints,
 * those of the MPI standard, of ROMIO, and Plenum's own: cb_nodes, striping_unit, plenum_strategy and so on. A
 * program never needs one. Hints with unknown keys are kept and ignored. What the environment says (PLENUM_HINTS)
 * holds where the program says nothing.
 */

/*
 * A new list with the hints of `info`, or none for MPI_INFO_NULL. NULL after an error. Local. Errors:
 * MPI_ERR_INFO_VALUE for a known hint whose value has no meaning.
 */
ADIO_Hints* ADIO_Hints_create(MPI_Info info, int* error_code);

/*
 * Adds a hint, or replaces its value. Local. Errors: MPI_ERR_INFO_VALUE as above, and then the old value stays;
 * MPI_ERR_ARG for a null pointer or an empty key.
 */
void ADIO_Hints_set(ADIO_Hints* hints, const char* key, const char* value, int* error_code);

/*
 * The value of a hint, or NULL if it is not in the list. Local. The text stays until the list changes or is freed.
 */
const char* ADIO_Hints_get(const ADIO_Hints* hints, const char* key);

/* A new MPI_Info with the list's hints, to be freed with MPI_Info_free(). MPI_INFO_NULL after an error. Local. */
MPI_Info ADIO_Hints_to_info(const ADIO_Hints* hints, int* error_code);

/* Frees a list and sets the pointer to NULL. Local. A null pointer is left alone. */
void ADIO_Hints_free(ADIO_Hints** hints);

/*
 * Gives hints to an open file. Those that only count when a file is opened (placement, device) are ignored. NULL:
 * none. Collective. Errors: MPI_ERR_NOT_SAME if hints that must be equal differ.
 */
void ADIO_Set_hints(ADIO_File fd, const ADIO_Hints* hints, int* error_code);

/*
 * A new list of all hints in effect for an open file, given or not, and of what Plenum decided: plenum_device,
 * plenum_file_system, plenum_strategies. Local. NULL after an error.
 */
ADIO_Hints* ADIO_Get_hints(ADIO_File fd, int* error_code);

/* ---- Errors ---------------------------------------------------------------------------------------------------- */

/*
 * Completion. What an error_code means. If it is that of the last ADIO call that failed in this thread: the full
 * text, with file, operation, position, rank and reason; else the MPI library's text for the class. Local. The text
 * stays until the next ADIO call of this thread. Never NULL.
 */
const char* ADIO_Error_string(int error_code);

#ifdef __cplusplus
}
#endif

#endif
