// SPDX-License-Identifier: BSD-3-Clause
#include "base/hints.hpp"

#include <algorithm>

#include "api/adio/adio.hpp"
#include "comm/mpi_handle.hpp"
#include "comm/mpi_values.hpp"

namespace plenum::adio {
namespace {

Status set_item(plenum_adio_hints& list, std::string_view key, std::string_view value) {
  if (key.empty()) return Error{Code::Argument, "a hint without a key"};
  Hints trial;
  if (set_hint(trial, key, value) == HintOutcome::malformed) return malformed_hint(key, value);
  const auto found =
      std::find_if(list.items.begin(), list.items.end(), [&](const auto& item) { return item.first == key; });
  if (found == list.items.end()) {
    list.items.emplace_back(key, value);
  } else {
    found->second = value;
  }
  return {};
}

Status read_info(MPI_Info info, plenum_adio_hints& list) {
  const auto pairs = PLENUM_TRY(pairs_of(info));
  for (const auto& [key, value] : pairs) PLENUM_TRY(set_item(list, key, value));
  return {};
}

}  // namespace

Status apply_hints(const plenum_adio_hints* list, Hints& hints) {
  if (list == nullptr) return {};
  for (const auto& [key, value] : list->items) {
    if (set_hint(hints, key, value) == HintOutcome::malformed) return malformed_hint(key, value);
  }
  return {};
}

Result<Hints> hints_of(const plenum_adio_hints* list) {
  Hints hints = PLENUM_TRY(hints_from_environment());
  PLENUM_TRY(apply_hints(list, hints));
  return hints;
}

}  // namespace plenum::adio

using namespace plenum;
using namespace plenum::adio;

ADIO_Hints* ADIO_Hints_create(MPI_Info info, int* error_code) {
  ADIO_Hints* created = nullptr;
  entry(error_code, [&]() -> Status {
    auto list = std::make_unique<plenum_adio_hints>();
    PLENUM_TRY(read_info(info, *list));
    created = list.release();
    return {};
  });
  return created;
}

void ADIO_Hints_set(ADIO_Hints* hints, const char* key, const char* value, int* error_code) {
  entry(error_code, [&]() -> Status {
    if (hints == nullptr || key == nullptr || value == nullptr)
      return Error{Code::Argument, "ADIO_Hints_set: null pointer"};
    return set_item(*hints, key, value);
  });
}

const char* ADIO_Hints_get(const ADIO_Hints* hints, const char* key) {
  if (hints == nullptr || key == nullptr) return nullptr;
  for (const auto& item : hints->items) {
    if (item.first == key) return item.second.c_str();
  }
  return nullptr;
}

MPI_Info ADIO_Hints_to_info(const ADIO_Hints* hints, int* error_code) {
  MPI_Info result = MPI_INFO_NULL;
  entry(error_code, [&]() -> Status {
    MpiInfoHandle info;
    PLENUM_TRY(check_mpi("MPI_Info_create", PMPI_Info_create(info.out())));
    if (hints != nullptr) {
      for (const auto& [key, value] : hints->items) {
        if (value.empty() || value.size() >= MPI_MAX_INFO_VAL) continue;  // an MPI_Info cannot hold these
        PLENUM_TRY(check_mpi("MPI_Info_set", PMPI_Info_set(info.get(), key.c_str(), value.c_str())));
      }
    }
    result = std::exchange(*info.out(), MPI_INFO_NULL);
    return {};
  });
  return result;
}

void ADIO_Hints_free(ADIO_Hints** hints) {
  if (hints == nullptr) return;
  delete *hints;
  *hints = nullptr;
}

void ADIO_Set_hints(ADIO_File fd, const ADIO_Hints* hints, int* error_code) {
  entry(error_code, [&]() -> Status {
    const auto open = PLENUM_TRY(find_file(fd));
    Hints merged = open->file->hints();
    PLENUM_TRY(apply_hints(hints, merged));
    return open->file->set_hints(merged);
  });
}

ADIO_Hints* ADIO_Get_hints(ADIO_File fd, int* error_code) {
  ADIO_Hints* created = nullptr;
  entry(error_code, [&]() -> Status {
    const auto open = PLENUM_TRY(find_file(fd));
    created = std::make_unique<plenum_adio_hints>(plenum_adio_hints{open->file->info()}).release();
    return {};
  });
  return created;
}
