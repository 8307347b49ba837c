// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "api/adio/adio.hpp"
#include "comm/mpi_values.hpp"

namespace plenum::adio {
namespace {

struct Failure {
  int error_class = MPI_SUCCESS;
  std::string text;
};

Failure& last_failure() {
  thread_local Failure failure;
  return failure;
}

}  // namespace

void report(int error_class, std::string_view text, int* error_code) noexcept {
  if (error_code != nullptr) *error_code = error_class;
  if (error_class == MPI_SUCCESS) return;
  Failure& failure = last_failure();
  failure.error_class = error_class;
  try {
    failure.text = text;
  } catch (const std::bad_alloc&) {
    failure.text.clear();  // then the class alone has to do
  }
}

void report(const Status& outcome, int* error_code) noexcept {
  if (outcome.ok()) return report(MPI_SUCCESS, {}, error_code);
  const Error& error = outcome.error();
  report(error_class_of(error.code), error.detail.empty() ? text_of(error.code) : error.detail, error_code);
}

}  // namespace plenum::adio

using namespace plenum::adio;

const char* ADIO_Error_string(int error_code) {
  const Failure& failure = last_failure();
  if (failure.error_class == error_code && !failure.text.empty()) return failure.text.c_str();
  thread_local char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  if (PMPI_Error_string(error_code, text, &length) != MPI_SUCCESS) length = 0;
  text[length] = '\0';
  return text;
}
