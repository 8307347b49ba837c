// SPDX-License-Identifier: BSD-3-Clause
//
// Gives up the core when MPICH over UCX has nothing to do. Such an MPICH polls without a pause while it waits, so that
// with more ranks than cores every message costs a time slice. Preloaded into the ranks in tests and benchmarks, with
// and without Plenum alike. An MPICH built on something else never calls this function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

typedef unsigned (*Progress)(void* worker);

enum { kIdleCallsBeforeYield = 16 };

static Progress find_progress(void) {
  void* found = dlsym(RTLD_NEXT, "ucp_worker_progress");
  // A Python process loads the library too late, and too privately, for RTLD_NEXT.
  if (found == NULL) found = dlsym(dlopen("libucp.so.0", RTLD_LAZY), "ucp_worker_progress");
  Progress progress;
  *(void**)&progress = found;  // the form POSIX gives for functions
  return progress;
}

unsigned ucp_worker_progress(void* worker) {
  static __thread Progress progress;
  static __thread int idle_calls;
  if (progress == NULL) progress = find_progress();
  const unsigned events = progress(worker);
  if (events != 0) {
    idle_calls = 0;
  } else if (++idle_calls == kIdleCallsBeforeYield) {
    idle_calls = 0;
    sched_yield();
  }
  return events;
}
