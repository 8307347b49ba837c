// SPDX-License-Identifier: BSD-3-Clause
//
// The ADIO core: one file opened by a group of ranks. A group, a view, pointers, hints and a device file; every
// interface in api/ is written on this and on nothing lower. After R. Thakur, W. Gropp, E. Lusk, "An Abstract-Device
// Interface for Implementing Portable Parallel-I/O Interfaces", 1996; semantics of views and pointers from MPI-5.0,
// chapter "I/O".
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.hpp"
#include "base/direction.hpp"
#include "base/export.hpp"
#include "base/hints.hpp"
#include "base/result.hpp"
#include "base/task.hpp"
#include "comm/comm.hpp"
#include "device/device.hpp"
#include "layout/layout.hpp"
#include "strategy/strategy.hpp"

namespace plenum {

struct AccessMode {
  bool read = false;
  bool write = false;
  bool create = false;
  bool exclusive = false;  // with create: the file must not exist
  bool delete_on_close = false;
  bool unique_open = false;  // nobody else opens the file meanwhile
  bool sequential = false;   // only shared file pointers
  bool append = false;       // pointers start at the end of the file
};

// What a rank sees of the file: copies of `filetype`, one extent apart, from `displacement` on, counted in etypes.
struct View {
  std::int64_t displacement = 0;  // [bytes]
  Layout etype = Layout::bytes(1);
  Layout filetype = Layout::bytes(1);
};

// The user's buffer: all bytes of `layout`, at offsets from `address`.
struct Memory {
  std::byte* address = nullptr;
  Layout layout;

  // `count` elements, one extent apart. Errors: Count if negative, TooLarge if the bytes cannot be counted in 63 bits,
  // Buffer if `address` is null and the element not placed absolutely.
  PLENUM_API static Result<Memory> of(void* address, std::int64_t count, const Layout& element);
};

// Where an access begins.
struct Position {
  enum class Kind {
    in_view,     // `offset` [etypes] from the beginning of the view
    individual,  // at this rank's file pointer, which moves on
    absolute     // `offset` [bytes] from the beginning of the file; contiguous in the file, whatever the view
  };
  Kind kind = Kind::individual;
  std::int64_t offset = 0;
};

enum class Whence { set, current, end };

// A nonblocking access. Progress is made in poll() and wait() only, by the thread that calls them, except for what an
// independent access does on the I/O threads. Dropping an unfinished one waits for it.
class Request {
 public:
  virtual ~Request() = default;

  // Makes progress without blocking; true once the access has ended.
  virtual bool poll() = 0;

  // The bytes transferred, or why not. Blocks until the end.
  virtual Result<std::int64_t> wait() = 0;
};

// Thread safety: independent calls may be made by several threads at once; collective ones by one at a time.
//
// Every error names the file, the operation, its position and the rank. Collective calls end the same way on all ranks.
class File : public std::enable_shared_from_this<File> {
 public:
  // Collective over `comm`, which the file then owns. `name` may carry a device prefix. A rank whose arguments are
  // wrong passes the error as `mode`, and all ranks get it. Errors: as the device's; BadMode for a forbidden
  // combination; NotSame if mode, device or a shared hint differ between ranks. Names may differ in how they are
  // written, but must mean one file, which nobody checks.
  PLENUM_API static Result<std::shared_ptr<File>> open(std::unique_ptr<Comm> comm, const std::string& name,
                                                       Result<AccessMode> mode, const Hints& hints);

  // Local. Removes the file that `name` stands for.
  PLENUM_API static Status remove(const std::string& name, const Hints& hints);

  PLENUM_API ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Collective. Waits for what is under way, hands over what the device holds back, and removes the file if the mode
  // says so. The file is closed on every rank whatever comes out, and what touches it after that fails with BadHandle;
  // the error is the first one found. Collective calls must not follow.
  PLENUM_API Status close();

  // Local: as close(), for one rank alone, when the others cannot be asked any more (finalization).
  PLENUM_API Status close_alone();

  // -- Data access. Returns the bytes transferred; a read is short only at the end of the file, and then leaves the
  // rest of the memory as it was. Errors: Access if the mode forbids the direction, Unsupported in sequential mode,
  // Argument for a negative offset, Type if the memory does not hold whole etypes; the device's.

  // Independent, blocking.
  PLENUM_API Result<std::int64_t> transfer(Direction direction, Position position, const Memory& memory);

  // Independent, blocking: as transfer(), of consecutive bytes of memory. Where they are consecutive in the file too,
  // nothing is described or chosen, so that it costs little more than the device's call.
  PLENUM_API Result<std::int64_t> transfer_bytes(Direction direction, Position position, Bytes memory);

  // Collective, blocking. A rank whose arguments are wrong passes the error as `memory`: it takes part with nothing to
  // move, and all ranks get that error.
  PLENUM_API Result<std::int64_t> transfer_all(Direction direction, Position position, Result<Memory> memory);

  // Independent, nonblocking: begins on an I/O thread. `memory` must stay until the request has ended.
  PLENUM_API Result<std::unique_ptr<Request>> start(Direction direction, Position position, const Memory& memory);

  // Collective, nonblocking: the algorithm of transfer_all, advanced by poll() and wait() of any request of this file.
  // Begins after all earlier collective accesses of the file. Argument errors are reported by the request.
  PLENUM_API std::unique_ptr<Request> start_all(Direction direction, Position position, Result<Memory> memory);

  // -- Views and pointers.

  // Collective. Resets the individual pointer to 0. Errors: Argument for a negative displacement; Type for a filetype
  // that is not made of whole etypes, goes backwards, has a negative displacement, or overlaps itself in a file that is
  // open for writing; NotSame if the etypes' extents differ.
  PLENUM_API Status set_view(Result<View> view);
  const View& view() const { return view_; }

  // Local. Errors: Argument if the result would be negative; Unsupported in sequential mode.
  PLENUM_API Status seek(std::int64_t offset_etypes, Whence whence);
  std::int64_t position() const { return pointer_.load(std::memory_order_relaxed); }  // [etypes]

  // Local. The byte of the file where etype `offset_etypes` of the view begins.
  PLENUM_API Result<std::int64_t> byte_offset(std::int64_t offset_etypes) const;

  // -- The file as a whole.

  PLENUM_API Result<std::int64_t> size();        // Local. [bytes]
  PLENUM_API Status resize(std::int64_t size);   // Collective. [bytes] the same on all ranks, else NotSame
  PLENUM_API Status reserve(std::int64_t size);  // Collective. Space for the first `size` bytes; never shrinks
  PLENUM_API Status sync();                      // Collective. What this group wrote is durable and visible
  PLENUM_API Status flush();                     // Local: as sync(), for what this rank wrote
  PLENUM_API Status set_atomic(bool atomic);     // Collective. Unsupported where the device has no range locks
  bool atomic() const { return atomic_; }

  // Collective. Takes over those of `hints` that may change while a file is open (not those of placement and device).
  PLENUM_API Status set_hints(const Hints& hints);

  // -- What it is and what it did. Local.

  const std::string& name() const { return name_; }
  const AccessMode& mode() const { return mode_; }
  const Hints& hints() const { return hints_; }
  Comm& comm() { return *comm_; }

  // Every hint in effect with its value, then what Plenum decided: plenum_device, plenum_file_system,
  // plenum_strategies.
  PLENUM_API std::vector<std::pair<std::string, std::string>> info() const;

 private:
  friend class CollectiveRequest;
  friend class IndependentRequest;
  friend Task<Status> append_report(const File& file, Comm& comm, const std::string& path);

  File(std::unique_ptr<Comm> comm, std::string name, const AccessMode& mode, const Hints& hints);

  Error explain(Error error, std::string_view operation) const;       // of a collective operation
  Error explain_here(Error error, std::string_view operation) const;  // of this rank alone
  Error explain_access(Error error, const Access& access) const;

  Task<Status> open_all(Status arguments);
  Status find_device();
  Status open_device(bool first);
  Status close_device();
  Task<Status> close_all();

  Result<Access> resolve(Direction direction, Position position, const Memory& memory) const;
  Result<Access> resolve_and_move(Direction direction, Position position, const Memory& memory);
  Environment environment();
  std::optional<std::int64_t> run_in_file(Direction direction, Position position, std::int64_t size);
  Result<std::int64_t> carry_out(const Access& access);
  Result<std::int64_t> carry_out_atomic(const Access& access);
  Task<Result<std::int64_t>> carry_out_all(Direction direction, Result<Access> access);
  Task<Result<std::int64_t>> carry_out_each(Result<Access> access);
  void advance_queue();
  void drain_collective();
  void wait_for_independent();
  void drain();

  Status check_view(const View& view) const;
  Task<Status> set_view_all(Result<View> view);
  std::int64_t etypes_before(std::int64_t size) const;
  Task<Status> change_size(std::int64_t size, Status (DeviceFile::*change)(std::int64_t));
  Status sync_device();
  Task<Status> set_atomic_all(bool atomic);
  Task<Status> set_hints_all(Hints hints);

  std::unique_ptr<Comm> comm_;
  std::string name_;  // as given
  std::string path_;  // as the device calls it
  AccessMode mode_;
  Hints hints_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceFile> device_file_;
  Traits traits_;  // as the group agreed on them
  View view_;
  Layout tiles_;                          // the view's filetype, repeated
  std::int64_t plain_view_ = 0;           // [bytes] where a view without holes begins; negative if it has holes
  std::atomic<std::int64_t> pointer_{0};  // [etypes] the individual file pointer
  bool atomic_ = false;
  std::atomic<bool> dirty_{false};  // written since the last sync
  Counters counters_;
  Scratch scratch_;                             // of collective accesses
  std::deque<class CollectiveRequest*> queue_;  // collective accesses under way, in the order of their calls
  std::atomic<std::int64_t> under_way_{0};      // independent requests on the I/O threads
};

}  // namespace plenum
