// SPDX-License-Identifier: BSD-3-Clause
#include "api/mpiio/handles.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace plenum::mpiio {
namespace {

struct Slot {
  std::atomic<OpenFile*> file{nullptr};
  std::atomic<std::uint32_t> next_free{0};
};

constexpr std::uint32_t kSlots = 1 << 16;

// A closed handle is not given out again before this many others have been closed, so that its use is noticed.
constexpr std::uint32_t kRest = 1024;

// Integers that stand for handles begin here: the MPI ABI keeps those below for predefined handles.
constexpr MPI_Fint kFirstInteger = 1 << 12;

// All zero at first, so that only the part in use takes memory. Slot 0 stays empty.
std::array<Slot, kSlots> slots;

// Which slots are free. Never destroyed: a destructor of the program may still close a file.
struct Allocation {
  std::mutex mutex;
  std::uint32_t fresh = 1;  // this one and all after it have never been used
  std::uint32_t oldest = 0;
  std::uint32_t newest = 0;
  std::uint32_t resting = 0;
};
Allocation& allocation() {
  static Allocation& only = *new Allocation;
  return only;
}

void give_back(std::uint32_t slot) {
  Allocation& state = allocation();
  const std::lock_guard lock(state.mutex);
  slots[slot].next_free = 0;
  if (state.resting == 0) {
    state.oldest = slot;
  } else {
    slots[state.newest].next_free = slot;
  }
  state.newest = slot;
  ++state.resting;
}

// The slot that `handle` points to; 0 if it points to none.
std::uint32_t slot_of(MPI_File handle) {
  const auto address = reinterpret_cast<std::uintptr_t>(handle);
  const auto distance = address - reinterpret_cast<std::uintptr_t>(slots.data());
  if (distance >= sizeof(slots) || distance % sizeof(Slot) != 0) return 0;
  return static_cast<std::uint32_t>(distance / sizeof(Slot));
}

MPI_File handle_of(std::uint32_t slot) { return reinterpret_cast<MPI_File>(&slots[slot]); }

// What Fortran calls MPI_FILE_NULL: in libraries where the null handle is a small number (MPICH, the MPI ABI) the same
// one, else (Open MPI, where it is an address) 0.
MPI_Fint null_integer() {
  const auto value = reinterpret_cast<std::uintptr_t>(MPI_FILE_NULL);
  return value < static_cast<std::uintptr_t>(kFirstInteger) ? static_cast<MPI_Fint>(value) : 0;
}

bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX;
}

}  // namespace

Result<KeptType> KeptType::of(MPI_Datatype type) {
  int combiner = 0;
  PLENUM_TRY(check_mpi("MPI_Type_get_envelope", get_combiner(type, &combiner)));
  KeptType kept;
  if (is_predefined(combiner)) {
    kept.predefined_ = type;
  } else {
    PLENUM_TRY(check_mpi("MPI_Type_dup", PMPI_Type_dup(type, kept.duplicate_.out())));
  }
  return kept;
}

Result<MPI_Datatype> KeptType::handle() const {
  if (duplicate_.get() == MPI_DATATYPE_NULL) return predefined_;
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  PLENUM_TRY(check_mpi("MPI_Type_dup", PMPI_Type_dup(duplicate_.get(), &handle)));
  return handle;
}

Result<Reservation> Reservation::make() {
  Allocation& state = allocation();
  const std::lock_guard lock(state.mutex);
  const bool any_fresh = state.fresh < kSlots;
  if (any_fresh && state.resting <= kRest) return Reservation(state.fresh++);
  if (state.resting == 0) return Error{Code::NoMemory, std::to_string(kSlots - 1) + " files are open already"};
  const std::uint32_t slot = state.oldest;
  state.oldest = slots[slot].next_free;
  --state.resting;
  return Reservation(slot);
}

Reservation::~Reservation() {
  if (slot_ != 0) give_back(slot_);
}

MPI_File Reservation::fill(std::unique_ptr<OpenFile> file) {
  static std::atomic<std::uint64_t> opened{0};
  const std::uint32_t slot = std::exchange(slot_, 0);
  file->sequence = ++opened;
  slots[slot].file.store(file.release(), std::memory_order_release);
  return handle_of(slot);
}

OpenFile* find(MPI_File handle) { return slots[slot_of(handle)].file.load(std::memory_order_acquire); }

Result<OpenFile*> lookup(MPI_File handle) {
  if (OpenFile* file = find(handle)) [[likely]]
    return file;
  const char* what = "this is no file handle";
  if (handle == MPI_FILE_NULL) {
    what = "the file handle is MPI_FILE_NULL";
  } else if (slot_of(handle) != 0) {
    what = "the file handle is that of a closed file";
  }
  return explained(Error{Code::BadHandle, what});
}

Error explained(const OpenFile& open, Error error) {
  if (error.detail.empty()) error.detail = text_of(error.code);
  error.detail = open.file->name() + ": rank " + std::to_string(open.file->comm().rank()) + ": " + error.detail;
  return error;
}

Error explained(Error error) {
  int initialized = 0;
  int rank = 0;
  if (PMPI_Initialized(&initialized) != MPI_SUCCESS || initialized == 0 || !mpi_is_alive()) return error;
  if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) return error;
  if (error.detail.empty()) error.detail = text_of(error.code);
  error.detail = "rank " + std::to_string(rank) + ": " + error.detail;
  return error;
}

std::unique_ptr<OpenFile> take(MPI_File handle) {
  const std::uint32_t slot = slot_of(handle);
  std::unique_ptr<OpenFile> file(slots[slot].file.exchange(nullptr, std::memory_order_acq_rel));
  if (file != nullptr) give_back(slot);
  return file;
}

std::vector<MPI_File> open_files() {
  std::uint32_t used = 0;
  {
    Allocation& state = allocation();
    const std::lock_guard lock(state.mutex);
    used = state.fresh;
  }
  std::vector<MPI_File> handles;
  for (std::uint32_t slot = 1; slot < used; ++slot) {
    if (find(handle_of(slot)) != nullptr) handles.push_back(handle_of(slot));
  }
  std::sort(handles.begin(), handles.end(),
            [](MPI_File a, MPI_File b) { return find(a)->sequence < find(b)->sequence; });
  return handles;
}

MPI_Fint to_integer(const char*, MPI_File handle) {
  return find(handle) == nullptr ? null_integer() : kFirstInteger + static_cast<MPI_Fint>(slot_of(handle));
}

MPI_File from_integer(const char*, MPI_Fint integer) {
  const std::int64_t slot = std::int64_t{integer} - kFirstInteger;
  if (slot < 0 || slot >= std::int64_t{kSlots}) return MPI_FILE_NULL;
  const MPI_File handle = handle_of(static_cast<std::uint32_t>(slot));
  return find(handle) == nullptr ? MPI_FILE_NULL : handle;
}

}  // namespace plenum::mpiio
