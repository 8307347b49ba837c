// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "base/byte_range.hpp"
#include "base/result.hpp"

namespace plenum {

// Owns a set of MPI requests that end together.
//
// Destroying it while some are active completes them, because MPI cannot take back a send or a collective operation and
// the other ranks count on this one's part: it waits until they have done theirs. After an MPI error nothing is waited
// for.
class MpiRequests {
 public:
  MpiRequests() = default;
  MpiRequests(const MpiRequests&) = delete;
  MpiRequests& operator=(const MpiRequests&) = delete;
  ~MpiRequests();

  bool empty() const { return requests_.empty(); }

  // Room for one more request, to be given to MPI at once; valid until the next call. After it, pass the return code
  // and the function's name to started().
  MPI_Request* send();
  MPI_Request* receive(ConstBytes into);  // it must bring exactly these bytes
  void started(const char* function, int return_code);

  // Makes progress; true once all have ended, or MPI has failed. Then see outcome().
  bool test();

  // The first error. Internal: a message has not the size expected.
  const Status& outcome() const { return outcome_; }

 private:
  void find_failure(int return_code);
  void check_sizes();

  static constexpr std::int64_t kNotReceive = -1;

  std::vector<MPI_Request> requests_;
  std::vector<std::int64_t> expected_;  // bytes each receive must bring [requests]
  std::vector<MPI_Status> statuses_;
  bool has_receives_ = false;
  bool done_ = false;
  Status outcome_;
};

}  // namespace plenum
