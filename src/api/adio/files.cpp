// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <mutex>

#include "api/adio/adio.hpp"
#include "base/hints.hpp"
#include "comm/mpi_comm.hpp"
#include "comm/mpi_datatype.hpp"
#include "comm/mpi_handle.hpp"

namespace plenum::adio {

// The tables are never destroyed: what is in them at the program's end belongs to an MPI library that may be gone.
FileTable& files() {
  static auto* const table = new FileTable;
  return *table;
}

RequestTable& requests() {
  static auto* const table = new RequestTable;
  return *table;
}

Result<std::int64_t> finish(OpenRequest& request) {
  request.ended = true;
  return request.request->wait();
}

Result<std::shared_ptr<OpenFile>> find_file(ADIO_File handle) {
  auto found = files().find(handle);
  if (found == nullptr) return Error{Code::BadHandle, "not an open ADIO file: null, or closed already"};
  return found;
}

Error explain(const OpenFile& open, std::string_view operation, Error error) {
  if (error.detail.empty()) error.detail = text_of(error.code);
  error.detail = open.file->name() + ": " + std::string(operation) + ": rank " +
                 std::to_string(open.file->comm().rank()) + ": " + error.detail;
  return error;
}

namespace {

// ADIO_Init less ADIO_End. Atomic, because both are local and any thread may call them.
std::atomic<int> uses{0};

Status mpi_is_usable() {
  int initialized = 0;
  PMPI_Initialized(&initialized);
  if (initialized != 0 && mpi_is_alive()) return {};
  return Error{Code::Communication, "ADIO: MPI is not initialized, or already finalized"};
}

// Closes what is still open without asking the other processes. The first error; InUse if there was a file without one.
Status close_everything() {
  Status first;
  const auto note = [&](const auto& outcome) {
    if (first.ok() && !outcome.ok()) first = outcome.error();
  };
  // Collective accesses under way come to their end, too: all processes pass here, with the same ones.
  for (const auto& request : requests().take_all([](const OpenRequest&) { return true; })) note(finish(*request));
  std::string names;
  for (const auto& open : files().take_all([](const OpenFile&) { return true; })) {
    names += (names.empty() ? "" : ", ") + open->file->name();
    note(open->file->close_alone());
  }
  if (!names.empty()) note(Status(Error{Code::InUse, "ADIO_End: still open, and closed now: " + names}));
  return first;
}

int on_finalize(MPI_Comm, int, void*, void*) noexcept {
  // MPI_Finalize has no way to hand an error to the program: who wants to know calls ADIO_Close or ADIO_End.
  entry(nullptr, close_everything);
  return MPI_SUCCESS;
}

// MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF (MPI-3.1, section 8.7.1), when MPI still works.
void watch_finalize() {
  static std::once_flag once;
  std::call_once(once, [] {
    int key = MPI_KEYVAL_INVALID;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &key, nullptr) != MPI_SUCCESS) return;
    PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    PMPI_Comm_free_keyval(&key);
  });
}

Result<AccessMode> access_mode(int bits) {
  constexpr int kDirections = ADIO_RDONLY | ADIO_WRONLY | ADIO_RDWR;
  constexpr int kKnown = kDirections | ADIO_CREATE | ADIO_DELETE_ON_CLOSE | ADIO_EXCLUSIVE | ADIO_EXCL | ADIO_ATOMIC;
  const auto text = [&] { return "access_mode " + std::to_string(bits); };
  if ((bits & ~kKnown) != 0) return Error{Code::BadMode, text() + " has unknown bits"};
  if (std::popcount(static_cast<unsigned>(bits & kDirections)) != 1) {
    return Error{Code::BadMode, text() + " is not exactly one of ADIO_RDONLY, ADIO_WRONLY and ADIO_RDWR"};
  }
  AccessMode mode;
  mode.read = (bits & (ADIO_RDONLY | ADIO_RDWR)) != 0;
  mode.write = (bits & (ADIO_WRONLY | ADIO_RDWR)) != 0;
  mode.create = (bits & ADIO_CREATE) != 0;
  mode.exclusive = (bits & ADIO_EXCL) != 0;
  mode.delete_on_close = (bits & ADIO_DELETE_ON_CLOSE) != 0;
  mode.unique_open = (bits & ADIO_EXCLUSIVE) != 0;
  return mode;
}

Result<View> decode_view(ADIO_Offset disp, MPI_Datatype etype, MPI_Datatype filetype) {
  View view;
  view.displacement = disp;
  view.etype = PLENUM_TRY(decode(etype));
  view.filetype = PLENUM_TRY(decode(filetype));
  return view;
}

// The arguments of ADIO_Open that are not given to the core as they are.
struct OpenArguments {
  const char* name;
  const void* file_system;
  int access_mode;
  const ADIO_Hints* hints;
  int permissions;
};

// Fills `hints`; the mode is an Error if anything is wrong on this process, so that no process opens the file.
Result<AccessMode> translate(const OpenArguments& arguments, const Result<View>& view, Hints& hints) {
  if (arguments.name == nullptr) return Error{Code::Argument, "ADIO_Open: null filename"};
  if (!view.ok()) return view.error();
  if (arguments.permissions < ADIO_PERM_NULL || arguments.permissions > 07777) {
    return Error{Code::Argument, "ADIO_Open: perm " + std::to_string(arguments.permissions)};
  }
  hints = PLENUM_TRY(hints_of(arguments.hints));
  if (arguments.file_system != nullptr) hints.device = static_cast<const char*>(arguments.file_system);
  if (arguments.permissions != ADIO_PERM_NULL) hints.file_permissions = arguments.permissions;
  return access_mode(arguments.access_mode);
}

Result<std::shared_ptr<File>> open_file(MPI_Comm comm, const OpenArguments& arguments, Result<View> view) {
  PLENUM_TRY(mpi_is_usable());
  std::unique_ptr<Comm> group = PLENUM_TRY(make_mpi_comm(comm));
  Hints hints;
  Result<AccessMode> mode = translate(arguments, view, hints);
  const std::string name = arguments.name == nullptr ? "" : arguments.name;
  auto file = PLENUM_TRY(File::open(std::move(group), name, std::move(mode), hints));
  Status outcome = file->set_view(std::move(view));
  // All processes call this whatever they want, so that a different access_mode on one of them is found out.
  if (outcome.ok()) outcome = file->set_atomic((arguments.access_mode & ADIO_ATOMIC) != 0);
  if (outcome.ok()) return file;
  static_cast<void>(file->close());
  return std::move(outcome.error());
}

// Brings the requests of `open` to their end. The first error.
Status finish_requests(const std::shared_ptr<OpenFile>& open) {
  Status first;
  for (const auto& request : requests().take_all([&](const OpenRequest& r) { return r.file == open; })) {
    auto result = finish(*request);
    if (first.ok() && !result.ok()) first = std::move(result.error());
  }
  return first;
}

Result<std::int64_t> new_pointer(OpenFile& open, ADIO_Offset offset, int whence) {
  std::int64_t from = 0;
  switch (whence) {
    case ADIO_SEEK_SET:
      break;
    case ADIO_SEEK_CUR:
      from = open.pointer.load();
      break;
    case ADIO_SEEK_END:
      from = PLENUM_TRY(open.file->size());
      break;
    default:
      return explain(open, "seek", {Code::Argument, "whence is " + std::to_string(whence)});
  }
  std::int64_t target = 0;
  if (__builtin_add_overflow(from, std::int64_t{offset}, &target) || target < 0) {
    const std::string text = std::to_string(offset) + " bytes from byte " + std::to_string(from);
    return explain(open, "seek", {Code::Argument, text + " is outside of any file"});
  }
  return target;
}

// The entry for functions that are one call of the open file.
template <class Body>
void on_file(ADIO_File fd, int* error_code, Body&& body) {
  entry(error_code, [&]() -> Status {
    const auto open = PLENUM_TRY(find_file(fd));
    return body(*open);
  });
}

}  // namespace
}  // namespace plenum::adio

using namespace plenum;
using namespace plenum::adio;

void ADIO_Init(int*, char***, int* error_code) {
  entry(error_code, []() -> Status {
    PLENUM_TRY(mpi_is_usable());
    watch_finalize();
    uses.fetch_add(1);
    return {};
  });
}

void ADIO_End(int* error_code) {
  entry(error_code, []() -> Status {
    if (uses.fetch_sub(1) > 1) return {};
    uses.store(0);
    return close_everything();
  });
}

ADIO_File ADIO_Open(MPI_Comm comm, const char* filename, void* file_system, int access_mode, ADIO_Offset disp,
                    MPI_Datatype etype, MPI_Datatype filetype, int /*iomode*/, ADIO_Hints* hints, int perm,
                    int* error_code) {
  ADIO_File opened = ADIO_FILE_NULL;
  entry(error_code, [&]() -> Status {
    auto open = std::make_shared<OpenFile>();
    open->file = PLENUM_TRY(
        open_file(comm, {filename, file_system, access_mode, hints, perm}, decode_view(disp, etype, filetype)));
    watch_finalize();
    opened = files().add(std::move(open));
    return {};
  });
  return opened;
}

void ADIO_Close(ADIO_File fd, int* error_code) {
  entry(error_code, [&]() -> Status {
    const auto open = files().take(fd);
    if (open == nullptr) return find_file(fd).error();
    Status outcome = finish_requests(open);
    Status closed = open->file->close();
    return outcome.ok() ? std::move(closed) : std::move(outcome);
  });
}

ADIO_Offset ADIO_SeekIndividual(ADIO_File fd, ADIO_Offset offset, int whence, int* error_code) {
  ADIO_Offset result = -1;
  on_file(fd, error_code, [&](OpenFile& open) -> Status {
    result = PLENUM_TRY(new_pointer(open, offset, whence));
    open.pointer.store(result);
    return {};
  });
  return result;
}

void ADIO_Delete(const char* filename, int* error_code) {
  entry(error_code, [&]() -> Status {
    if (filename == nullptr) return Error{Code::Argument, "ADIO_Delete: null filename"};
    return File::remove(filename, PLENUM_TRY(hints_of(nullptr)));
  });
}

void ADIO_Resize(ADIO_File fd, ADIO_Offset size, int* error_code) {
  on_file(fd, error_code, [&](OpenFile& open) { return open.file->resize(size); });
}

void ADIO_Reserve(ADIO_File fd, ADIO_Offset size, int* error_code) {
  on_file(fd, error_code, [&](OpenFile& open) { return open.file->reserve(size); });
}

void ADIO_Flush(ADIO_File fd, int* error_code) {
  on_file(fd, error_code, [](OpenFile& open) { return open.file->flush(); });
}

ADIO_Offset ADIO_Get_size(ADIO_File fd, int* error_code) {
  ADIO_Offset size = -1;
  on_file(fd, error_code, [&](OpenFile& open) -> Status {
    size = PLENUM_TRY(open.file->size());
    return {};
  });
  return size;
}

void ADIO_Set_view(ADIO_File fd, ADIO_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, int* error_code) {
  on_file(fd, error_code, [&](OpenFile& open) -> Status {
    PLENUM_TRY(open.file->set_view(decode_view(disp, etype, filetype)));
    open.pointer.store(0);
    return {};
  });
}

void ADIO_Set_atomicity(ADIO_File fd, int flag, int* error_code) {
  on_file(fd, error_code, [&](OpenFile& open) { return open.file->set_atomic(flag != 0); });
}
