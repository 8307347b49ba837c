// SPDX-License-Identifier: BSD-3-Clause
#include "comm/mpi_requests.hpp"

#include <string>

#include "base/task.hpp"
#include "comm/mpi_handle.hpp"

namespace plenum {
namespace {

int error_class(int return_code) {
  int found = MPI_ERR_UNKNOWN;
  PMPI_Error_class(return_code, &found);
  return found;
}

}  // namespace

MpiRequests::~MpiRequests() {
  if (done_ || requests_.empty() || !mpi_is_alive()) return;
  for (Backoff backoff; !test();) backoff.pause();
  if (outcome_.ok()) return;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (expected_[i] == kNotReceive || requests_[i] == MPI_REQUEST_NULL) continue;
    PMPI_Cancel(&requests_[i]);
    PMPI_Request_free(&requests_[i]);
  }
}

MPI_Request* MpiRequests::send() {
  expected_.push_back(kNotReceive);
  return &requests_.emplace_back(MPI_REQUEST_NULL);
}

MPI_Request* MpiRequests::receive(ConstBytes into) {
  has_receives_ = true;
  expected_.push_back(static_cast<std::int64_t>(into.size()));
  return &requests_.emplace_back(MPI_REQUEST_NULL);
}

void MpiRequests::started(const char* function, int return_code) {
  if (return_code == MPI_SUCCESS) return;
  if (outcome_.ok()) outcome_ = check_mpi(function, return_code);
}

bool MpiRequests::test() {
  if (done_ || !outcome_.ok() || requests_.empty()) return true;
  int ended = 0;
  MPI_Status* statuses = MPI_STATUSES_IGNORE;
  if (has_receives_) {
    statuses_.resize(requests_.size());
    statuses = statuses_.data();
  }
  const int count = static_cast<int>(requests_.size());
  const int return_code = PMPI_Testall(count, requests_.data(), &ended, statuses);
  if (return_code != MPI_SUCCESS) {
    find_failure(return_code);
    return true;
  }
  done_ = ended != 0;
  if (done_ && has_receives_) check_sizes();
  return done_;
}

// MPI_ERR_IN_STATUS says nothing by itself; the status of the failed request does.
void MpiRequests::find_failure(int return_code) {
  outcome_ = check_mpi("MPI_Testall", return_code);
  if (error_class(return_code) != MPI_ERR_IN_STATUS || !has_receives_) return;
  for (const MPI_Status& status : statuses_) {
    const int found = error_class(status.MPI_ERROR);
    if (found == MPI_SUCCESS || found == MPI_ERR_PENDING) continue;
    outcome_ = check_mpi("MPI_Testall", status.MPI_ERROR);
    if (found == MPI_ERR_TRUNCATE) outcome_.error().code = Code::Internal;
    return;
  }
}

void MpiRequests::check_sizes() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (expected_[i] == kNotReceive) continue;
    int received = 0;
    PMPI_Get_count(&statuses_[i], MPI_BYTE, &received);
    if (received == expected_[i]) continue;
    outcome_ = Error{Code::Internal, "exchange: " + std::to_string(received) + " bytes from rank " +
                                         std::to_string(statuses_[i].MPI_SOURCE) + ", expected " +
                                         std::to_string(expected_[i])};
    return;
  }
}

}  // namespace plenum
