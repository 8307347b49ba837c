// SPDX-License-Identifier: BSD-3-Clause
//
// Makes a quiet local disk behave as badly as the system is allowed to: every positioned transfer moves about half of
// what was asked for, and every third one is interrupted before it has moved anything. A program that continues short
// and interrupted calls does not notice.
//
//   cc -shared -fPIC -o libshort_io.so short_io.c
//   LD_PRELOAD=$PWD/libshort_io.so SHORT_IO_REPORT=1 a_test
//
// With SHORT_IO_REPORT set it prints at exit how many calls it has changed, as proof that it was there.
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;
static atomic_long interrupted;
static atomic_long shortened;

static int interrupt_this_one(void) {
  if (atomic_fetch_add(&calls, 1) % 3 != 2) return 0;
  atomic_fetch_add(&interrupted, 1);
  errno = EINTR;
  return 1;
}

static size_t half_of(size_t size) {
  if (size < 2) return size;
  atomic_fetch_add(&shortened, 1);
  return size / 2;
}

static ssize_t one_buffer(long number, int fd, void* memory, size_t size, off_t offset) {
  if (interrupt_this_one()) return -1;
  return syscall(number, fd, memory, half_of(size), offset);
}

enum { kMost = 1024 };

static ssize_t many_buffers(long number, int fd, const struct iovec* buffers, int count, off_t offset) {
  struct iovec cut[kMost];
  size_t size = 0;
  size_t left;
  int used = 0;
  if (interrupt_this_one()) return -1;
  if (count < 0 || count > kMost) {
    errno = EINVAL;
    return -1;
  }
  for (int i = 0; i < count; ++i) size += buffers[i].iov_len;
  for (left = half_of(size); left > 0; ++used) {
    cut[used] = buffers[used];
    if (cut[used].iov_len > left) cut[used].iov_len = left;
    left -= cut[used].iov_len;
  }
  // The system takes the offset in two halves; on a 64-bit machine the second one is unused.
  return syscall(number, fd, cut, used, offset, 0L);
}

ssize_t pread(int fd, void* memory, size_t size, off_t offset) {
  return one_buffer(SYS_pread64, fd, memory, size, offset);
}
ssize_t pread64(int fd, void* memory, size_t size, off_t offset) {
  return one_buffer(SYS_pread64, fd, memory, size, offset);
}
ssize_t pwrite(int fd, const void* memory, size_t size, off_t offset) {
  return one_buffer(SYS_pwrite64, fd, (void*)memory, size, offset);
}
ssize_t pwrite64(int fd, const void* memory, size_t size, off_t offset) {
  return one_buffer(SYS_pwrite64, fd, (void*)memory, size, offset);
}
ssize_t preadv(int fd, const struct iovec* buffers, int count, off_t offset) {
  return many_buffers(SYS_preadv, fd, buffers, count, offset);
}
ssize_t preadv64(int fd, const struct iovec* buffers, int count, off_t offset) {
  return many_buffers(SYS_preadv, fd, buffers, count, offset);
}
ssize_t pwritev(int fd, const struct iovec* buffers, int count, off_t offset) {
  return many_buffers(SYS_pwritev, fd, buffers, count, offset);
}
ssize_t pwritev64(int fd, const struct iovec* buffers, int count, off_t offset) {
  return many_buffers(SYS_pwritev, fd, buffers, count, offset);
}

__attribute__((destructor)) static void report(void) {
  if (getenv("SHORT_IO_REPORT") == NULL) return;
  fprintf(stderr, "short_io: %ld calls, %ld interrupted, %ld shortened\n", atomic_load(&calls),
          atomic_load(&interrupted), atomic_load(&shortened));
}
