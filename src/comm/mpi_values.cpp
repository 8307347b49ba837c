// SPDX-License-Identifier: BSD-3-Clause
#include "comm/mpi_values.hpp"

#include "comm/mpi_handle.hpp"

namespace plenum {

int error_class_of(Code code) {
#ifdef MPI_ERR_VALUE_TOO_LARGE
  if (code == Code::TooLarge) return MPI_ERR_VALUE_TOO_LARGE;
#endif
  switch (code) {
#define X(name, mpi_class, errno_value, text) \
  case Code::name:                            \
    return mpi_class;
    PLENUM_ERRORS(X)
#undef X
  }
  return MPI_ERR_INTERN;
}

Result<std::vector<std::pair<std::string, std::string>>> pairs_of(MPI_Info info) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (info == MPI_INFO_NULL) return pairs;
  int keys = 0;
  PLENUM_TRY(check_mpi("MPI_Info_get_nkeys", PMPI_Info_get_nkeys(info, &keys)));
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    PLENUM_TRY(check_mpi("MPI_Info_get_nthkey", PMPI_Info_get_nthkey(info, i, key)));
    int length = 0;
    int found = 0;
    PLENUM_TRY(check_mpi("MPI_Info_get_valuelen", PMPI_Info_get_valuelen(info, key, &length, &found)));
    std::string value(static_cast<std::size_t>(length) + 1, '\0');
    PLENUM_TRY(check_mpi("MPI_Info_get", PMPI_Info_get(info, key, length, value.data(), &found)));
    value.resize(static_cast<std::size_t>(length));
    pairs.emplace_back(key, std::move(value));
  }
  return pairs;
}

}  // namespace plenum
