// SPDX-License-Identifier: BSD-3-Clause
#include "api/mpiio/files.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "api/mpiio/error_handlers.hpp"
#include "api/mpiio/finalization.hpp"
#include "api/mpiio/handles.hpp"
#include "api/mpiio/info.hpp"
#include "comm/mpi_comm.hpp"

namespace plenum::mpiio {
namespace {

Result<AccessMode> access_mode(int amode) {
  constexpr int kAll = MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL |
                       MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN | MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND;
  const auto has = [amode](int flag) { return (amode & flag) != 0; };
  const auto bad = [amode](const char* why) {
    return Error{Code::BadMode, "access mode " + std::to_string(amode) + ": " + why};
  };
  if ((amode & ~kAll) != 0) return bad("unknown flags");
  if (int{has(MPI_MODE_RDONLY)} + int{has(MPI_MODE_RDWR)} + int{has(MPI_MODE_WRONLY)} != 1)
    return bad("exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY must be given");
  if (has(MPI_MODE_RDONLY) && (has(MPI_MODE_CREATE) || has(MPI_MODE_EXCL)))
    return bad("MPI_MODE_CREATE and MPI_MODE_EXCL do not go with MPI_MODE_RDONLY");
  if (has(MPI_MODE_RDWR) && has(MPI_MODE_SEQUENTIAL)) return bad("MPI_MODE_SEQUENTIAL does not go with MPI_MODE_RDWR");

  AccessMode mode;
  mode.read = !has(MPI_MODE_WRONLY);
  mode.write = !has(MPI_MODE_RDONLY);
  mode.create = has(MPI_MODE_CREATE);
  mode.exclusive = has(MPI_MODE_EXCL);
  mode.delete_on_close = has(MPI_MODE_DELETE_ON_CLOSE);
  mode.unique_open = has(MPI_MODE_UNIQUE_OPEN);
  mode.sequential = has(MPI_MODE_SEQUENTIAL);
  mode.append = has(MPI_MODE_APPEND);
  return mode;
}

// All that opening needs on this rank alone. It comes first, so that nothing can fail here once the group has opened
// the file.
struct Preparation {
  Reservation slot;
  std::unique_ptr<OpenFile> open;
  AccessMode mode;
  Hints hints;
};

Result<Preparation> prepare(MPI_Comm comm, const char* filename, int amode, MPI_Info info) {
  if (filename == nullptr || *filename == '\0') return Error{Code::BadName, "the file name is empty"};
  const AccessMode mode = PLENUM_TRY(access_mode(amode));
  PLENUM_TRY(watch_finalize());
  GivenHints given{PLENUM_TRY(hints_from_environment()), {}};
  PLENUM_TRY(add_hints(info, given));
  auto open = std::make_unique<OpenFile>();
  open->amode = amode;
  open->rejected_hints = std::move(given.rejected);
  open->handler = default_handler();
  PLENUM_TRY(check_mpi("MPI_Comm_group", PMPI_Comm_group(comm, open->group.out())));
  Reservation slot = PLENUM_TRY(Reservation::make());
  return Preparation{std::move(slot), std::move(open), mode, std::move(given.hints)};
}

Status set_key(MPI_Info info, const std::string& key, const std::string& value) {
  constexpr std::size_t kMaxValue = MPI_MAX_INFO_VAL - 1;
  if (value.empty() || key.size() >= MPI_MAX_INFO_KEY) return {};
  return check_mpi("MPI_Info_set", PMPI_Info_set(info, key.c_str(), value.substr(0, kMaxValue).c_str()));
}

}  // namespace

int open(const char* function, MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* handle) {
  const std::string_view name = filename == nullptr ? "" : filename;
  return entry({function, MPI_FILE_NULL, filename}, [&]() -> Status {
    if (handle != nullptr) *handle = MPI_FILE_NULL;
    Result<std::unique_ptr<Comm>> own = make_mpi_comm(comm);
    if (!own.ok()) return explained(own.error());
    Result<Preparation> mine = guarded([&]() -> Result<Preparation> {
      if (handle == nullptr) return Error{Code::Argument, "no place for the file handle"};
      return prepare(comm, filename, amode, info);
    });
    // Not PLENUM_TRY before here: a rank whose arguments are wrong takes part all the same.
    Result<AccessMode> mode = mine.ok() ? Result<AccessMode>(mine.value().mode) : mine.error();
    std::shared_ptr<File> file = PLENUM_TRY(File::open(std::move(own.value()), std::string(name), std::move(mode),
                                                       mine.ok() ? mine.value().hints : Hints{}));
    mine.value().open->file = std::move(file);
    *handle = mine.value().slot.fill(std::move(mine.value().open));
    return {};
  });
}

int close(const char* function, MPI_File* handle) {
  const MPI_File file = handle == nullptr ? MPI_FILE_NULL : *handle;
  // The handle lives until the error handler has had it.
  const int code = on_file(function, file, [](OpenFile& open) { return open.file->close(); });
  const std::unique_ptr<OpenFile> closed = take(file);
  if (closed != nullptr) *handle = MPI_FILE_NULL;
  return code;
}

int remove(const char* function, const char* filename, MPI_Info info) {
  return entry({function, MPI_FILE_NULL, filename}, [&]() -> Status {
    if (filename == nullptr || *filename == '\0') return explained(Error{Code::BadName, "the file name is empty"});
    Result<Hints> hints = hints_from_environment();
    if (!hints.ok()) return explained(hints.error());
    GivenHints given{std::move(hints.value()), {}};
    PLENUM_TRY(add_hints(info, given));
    const Status removed = File::remove(filename, given.hints);
    if (!removed.ok()) return explained(removed.error());
    return {};
  });
}

int set_size(const char* function, MPI_File handle, MPI_Offset size) {
  return on_file(function, handle, [&](OpenFile& open) { return open.file->resize(size); });
}

int preallocate(const char* function, MPI_File handle, MPI_Offset size) {
  return on_file(function, handle, [&](OpenFile& open) { return open.file->reserve(size); });
}

int get_size(const char* function, MPI_File handle, MPI_Offset* size) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    *size = PLENUM_TRY(open.file->size());
    return {};
  });
}

int get_group(const char* function, MPI_File handle, MPI_Group* group) {
  return on_file(function, handle, [&](OpenFile& open) {
    // MPI has no MPI_Group_dup; leaving out nobody makes a new handle too.
    return check_mpi("MPI_Group_excl", PMPI_Group_excl(open.group.get(), 0, nullptr, group));
  });
}

int get_amode(const char* function, MPI_File handle, int* amode) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    *amode = open.amode;
    return {};
  });
}

int set_info(const char* function, MPI_File handle, MPI_Info info) {
  return on_file(function, handle, [&](OpenFile& open) { return take_over_hints(info, open); });
}

int get_info(const char* function, MPI_File handle, MPI_Info* info) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    MpiInfoHandle made;
    PLENUM_TRY(check_mpi("MPI_Info_create", PMPI_Info_create(made.out())));
    for (const auto& [key, value] : open.file->info()) PLENUM_TRY(set_key(made.get(), key, value));
    PLENUM_TRY(set_key(made.get(), "plenum_hints_rejected", open.rejected_hints));
    *info = std::exchange(*made.out(), MPI_INFO_NULL);
    return {};
  });
}

int sync(const char* function, MPI_File handle) {
  return on_file(function, handle, [](OpenFile& open) { return open.file->sync(); });
}

int set_atomicity(const char* function, MPI_File handle, int flag) {
  return on_file(function, handle, [&](OpenFile& open) { return open.file->set_atomic(flag != 0); });
}

int get_atomicity(const char* function, MPI_File handle, int* flag) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    *flag = open.file->atomic() ? 1 : 0;
    return {};
  });
}

int not_yet(const char* function, MPI_File handle, const char* what, MPI_Request* request) {
  if (request != nullptr) *request = MPI_REQUEST_NULL;
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    return explained(open, Error{Code::Unsupported, std::string(what) + ": not supported yet"});
  });
}

int not_yet_registered(const char* function, const char* datarep) {
  return entry({function, MPI_FILE_NULL}, [&]() -> Status {
    const std::string name = datarep == nullptr ? "" : datarep;
    return Error{Code::Unsupported,
                 "data representation \"" + name + "\": those of the program's own are not supported yet"};
  });
}

}  // namespace plenum::mpiio
