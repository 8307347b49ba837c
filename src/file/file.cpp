// SPDX-License-Identifier: BSD-3-Clause
#include "file/file.hpp"

#include <algorithm>
#include <map>

#include "file/report.hpp"
#include "file/requests.hpp"

namespace plenum {

namespace {

// The whole file as one run: what an absolute position refers to.
const Layout& all_bytes() {
  static const Layout layout = Layout::tiled(Layout::bytes(1));
  return layout;
}

Status check_mode(const AccessMode& mode) {
  const auto bad = [](const char* why) { return Error{Code::BadMode, why}; };
  if (!mode.read && !mode.write) return bad("one of read-only, write-only and read-write must be given");
  if (mode.create && !mode.write) return bad("a file opened for reading only cannot be created");
  if (mode.exclusive && !mode.create && !mode.write) return bad("exclusive creation of a file opened for reading only");
  if (mode.sequential && mode.read && mode.write) return bad("sequential access must be either reading or writing");
  return {};
}

Status check_hints(const Hints& hints) {
  if (hints.strategy.empty()) return {};
  for (const Strategy* strategy : strategies()) {
    if (hints.strategy == strategy->name) return {};
  }
  return Error{Code::InfoValue, "plenum_strategy=" + hints.strategy + ": no such strategy"};
}

std::string mode_text(const AccessMode& mode) {
  const std::pair<const char*, bool> flags[] = {{"read", mode.read},
                                                {"write", mode.write},
                                                {"create", mode.create},
                                                {"exclusive", mode.exclusive},
                                                {"sequential", mode.sequential},
                                                {"delete_on_close", mode.delete_on_close},
                                                {"append", mode.append},
                                                {"unique_open", mode.unique_open}};
  std::string text = "access mode=";
  for (const auto& [name, on] : flags) {
    if (on) text += std::string(text.back() == '=' ? "" : "|") + name;
  }
  return text + "\n";
}

using Settings = std::map<std::string_view, std::string_view>;

// "key=value" lines, taken apart.
Settings settings_of(std::string_view text) {
  Settings settings;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t equals = std::min(line.size(), line.find('='));
    settings[line.substr(0, equals)] = line.substr(std::min(line.size(), equals + 1));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return settings;
}

// Names the first setting that is not what it is on rank 0, and both values.
std::string difference(std::string_view here, std::string_view first) {
  const Settings mine = settings_of(here);
  const Settings theirs = settings_of(first);
  const auto text_of = [](const Settings& settings, std::string_view key) {
    const auto found = settings.find(key);
    return std::string(key) + (found == settings.end() ? " not set" : "=" + std::string(found->second));
  };
  Settings all = theirs;
  all.insert(mine.begin(), mine.end());
  for (const auto& [key, value] : all) {
    const std::string a = text_of(mine, key);
    const std::string b = text_of(theirs, key);
    if (a != b) return a + ", but " + b + " on rank 0";
  }
  return "settings differ";
}

// NotSame, on every rank, unless `settings` ("key=value" lines) are equal on all; the text names the first that is not.
Task<Status> agree_settings(Comm& comm, const std::string& settings) {
  const Status same = co_await agree_same(comm, "settings", std::as_bytes(std::span(settings)));
  if (same.ok() || same.error().code != Code::NotSame) co_return same;
  std::int64_t size = static_cast<std::int64_t>(settings.size());
  PLENUM_CO_TRY(co_await comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0));
  std::string first = settings;
  first.resize(static_cast<std::size_t>(size));
  PLENUM_CO_TRY(co_await comm.broadcast(std::as_writable_bytes(std::span(first)), 0));
  Status verdict;
  if (first != settings) verdict = Error{Code::NotSame, difference(settings, first)};
  co_return co_await agree(comm, std::move(verdict));
}

// What the ranks know of a file's traits, taken together: a promise holds if all ranks can give it.
Task<Result<Traits>> agree_traits(Comm& comm, Traits mine) {
  std::int64_t values[] = {mine.byte_range_locks, mine.shared_between_nodes, mine.seekable,     mine.keeps_data,
                           -mine.preferred_unit,  -mine.stripe_unit,         -mine.stripe_count};
  PLENUM_CO_TRY(co_await comm.allreduce(values, Reduction::min));
  mine.byte_range_locks = values[0] != 0;
  mine.shared_between_nodes = values[1] != 0;
  mine.seekable = values[2] != 0;
  mine.keeps_data = values[3] != 0;
  mine.preferred_unit = -values[4];
  mine.stripe_unit = -values[5];
  mine.stripe_count = -values[6];
  co_return mine;
}

// What is left of a device file that has been closed: an error, however it is used.
class ClosedFile final : public DeviceFile {
 public:
  const Traits& traits() const override { return traits_; }
  Result<std::int64_t> read(Transfers) override { return closed(); }
  Status write(Transfers) override { return closed(); }
  Result<std::int64_t> size() override { return closed(); }
  Status resize(std::int64_t) override { return closed(); }
  Status reserve(std::int64_t) override { return closed(); }
  Status sync() override { return closed(); }
  Status close() override { return closed(); }
  Result<RangeLock> lock(ByteRange, Sharing) override { return closed(); }

 private:
  static Error closed() { return {Code::BadHandle, "the file has been closed"}; }

  Traits traits_;
};

// Independent accesses of several threads may run at once, each with buffers of its own.
Scratch& thread_scratch() {
  thread_local Scratch scratch;
  return scratch;
}

const char* verb(Direction direction) { return direction == Direction::read ? "read" : "write"; }

}  // namespace

Result<Memory> Memory::of(void* address, std::int64_t count, const Layout& element) {
  if (count < 0) return Error{Code::Count, "count " + std::to_string(count) + " is negative"};
  if (!Layout::repeat_fits(count, element.extent(), element))
    return Error{Code::TooLarge, std::to_string(count) + " elements of " + std::to_string(element.size()) + " bytes"};
  // MPI_BOTTOM is null as well, with a datatype of absolute addresses.
  if (address == nullptr && count > 0 && element.size() > 0 && element.bounds().begin < 4096)
    return Error{Code::Buffer, "the buffer is a null pointer"};
  const bool whole = count == 1;
  return Memory{static_cast<std::byte*>(address), whole ? element : Layout::repeat(count, element.extent(), element)};
}

File::File(std::unique_ptr<Comm> comm, std::string name, const AccessMode& mode, const Hints& hints)
    : comm_(std::move(comm)), name_(std::move(name)), path_(name_), mode_(mode), hints_(hints), tiles_(all_bytes()) {}

File::~File() = default;

Error File::explain(Error error, std::string_view operation) const {
  if (error.detail.empty()) error.detail = text_of(error.code);
  error.detail = name_ + ": " + std::string(operation) + ": " + error.detail;
  return error;
}

Error File::explain_here(Error error, std::string_view operation) const {
  if (error.detail.empty()) error.detail = text_of(error.code);
  error.detail = "rank " + std::to_string(comm_->rank()) + ": " + error.detail;
  return explain(std::move(error), operation);
}

// -- Open and close.

Status File::find_device() {
  Target target = PLENUM_TRY(plenum::resolve(name_, hints_));
  device_ = std::move(target.device);
  path_ = std::move(target.path);
  return {};
}

Status File::open_device(bool first) {
  OpenMode mode;
  mode.read = mode_.read;
  mode.write = mode_.write;
  mode.create = mode_.create && first;
  mode.exclusive = mode_.exclusive && first;
  if (hints_.file_permissions >= 0) mode.permissions = static_cast<unsigned>(hints_.file_permissions);
  device_file_ = PLENUM_TRY(device_->open(path_, mode, hints_));
  return {};
}

// One rank creates the file, so that "exclusive" means what it says; then all open it.
Task<Status> File::open_all(Status arguments) {
  if (arguments.ok()) arguments = find_device();
  PLENUM_CO_TRY(co_await agree(*comm_, std::move(arguments)));
  const std::string device = "device=" + std::string(device_->name()) + "\n";
  PLENUM_CO_TRY(co_await agree_settings(*comm_, mode_text(mode_) + device + shared_hint_values(hints_)));
  const bool creator = mode_.create && comm_->rank() == 0;
  if (mode_.create) {
    Status created;
    if (creator) created = open_device(true);
    PLENUM_CO_TRY(co_await agree(*comm_, std::move(created)));
  }
  Status opened;
  if (!creator) opened = open_device(false);
  PLENUM_CO_TRY(co_await agree(*comm_, std::move(opened)));
  Result<Traits> traits = co_await agree_traits(*comm_, device_file_->traits());
  if (!traits.ok()) co_return traits.error();
  traits_ = traits.value();
  hints_.kept["filename"] = name_;
  hints_.kept["romio_filesystem_type"] = traits_.file_system;
  if (mode_.append) {
    const Result<std::int64_t> end = device_file_->size();
    PLENUM_CO_TRY(co_await agree(*comm_, status_of(end)));
    pointer_ = end.value();
  }
  co_return Status{};
}

Result<std::shared_ptr<File>> File::open(std::unique_ptr<Comm> comm, const std::string& name, Result<AccessMode> mode,
                                         const Hints& hints) {
  const AccessMode given = mode.ok() ? mode.value() : AccessMode{};
  const std::shared_ptr<File> file(new File(std::move(comm), name, given, hints));
  Status arguments;
  if (!mode.ok()) {
    arguments = mode.error();
  } else {
    arguments = check_mode(given);
    if (arguments.ok()) arguments = check_hints(hints);
  }
  const Status opened = file->open_all(std::move(arguments)).wait();
  if (!opened.ok()) return file->explain(opened.error(), "open");
  return file;
}

Status File::remove(const std::string& name, const Hints& hints) {
  Result<Target> target = plenum::resolve(name, hints);
  Status removed = target.ok() ? target.value().device->remove(target.value().path) : Status{target.error()};
  if (removed.ok()) return {};
  return Error{removed.error().code, name + ": delete: " + removed.error().detail};
}

Status File::close_device() {
  Status closed = device_file_->close();
  device_file_ = std::make_unique<ClosedFile>();
  return closed;
}

Task<Status> File::close_all() {
  Status mine = close_device();
  // Everybody has closed the file before it is removed: a device may refuse to remove an open one.
  Status closed = co_await agree(*comm_, std::move(mine));
  if (!mode_.delete_on_close) co_return closed;
  Status removed;
  if (comm_->rank() == 0) removed = device_->remove(path_);
  removed = co_await agree(*comm_, std::move(removed));
  co_return closed.ok() ? removed : closed;
}

Status File::close() {
  drain();
  const Status reported = hints_.report.empty() ? Status{} : append_report(*this, *comm_, hints_.report).wait();
  const Status closed = close_all().wait();
  if (!closed.ok()) return explain(closed.error(), "close");
  if (!reported.ok()) return explain(reported.error(), "report");
  return {};
}

Status File::close_alone() {
  wait_for_independent();
  Status closed = close_device();
  if (mode_.delete_on_close && comm_->rank() == 0) {
    const Status removed = device_->remove(path_);
    if (closed.ok()) closed = removed;
  }
  if (!closed.ok()) return explain_here(closed.error(), "close");
  return {};
}

void File::drain_collective() {
  for (Backoff backoff; !queue_.empty(); advance_queue()) backoff.pause();
}

void File::wait_for_independent() {
  for (std::int64_t left = under_way_.load(std::memory_order_acquire); left != 0;
       left = under_way_.load(std::memory_order_acquire))
    under_way_.wait(left, std::memory_order_acquire);
}

// Collective calls other than accesses come after all accesses before them.
void File::drain() {
  drain_collective();
  wait_for_independent();
}

// -- Data access.

Result<Access> File::resolve(Direction direction, Position position, const Memory& memory) const {
  const bool reading = direction == Direction::read;
  if (reading && !mode_.read) return Error{Code::Access, "the file is open for writing only"};
  if (!reading && !mode_.write)
    return Error{mode_.read ? Code::ReadOnly : Code::Access, "the file is open for reading only"};
  if (mode_.sequential)
    return Error{Code::Unsupported, "a file opened for sequential access has no pointers but the shared one"};
  if (position.offset < 0) return Error{Code::Argument, "offset " + std::to_string(position.offset) + " is negative"};

  const std::int64_t size = memory.layout.size();
  const bool in_view = position.kind != Position::Kind::absolute;
  const std::int64_t unit = in_view ? view_.etype.size() : 1;
  if (size % unit != 0)
    return Error{Code::Type, std::to_string(size) + " bytes are no whole number of etypes of " + std::to_string(unit)};
  const Layout& tiles = in_view ? tiles_ : all_bytes();
  if (size > 0 && tiles.size() == 0) return Error{Code::Type, "the file view has no bytes"};
  std::int64_t begin = 0;
  std::int64_t end = 0;
  if (__builtin_mul_overflow(position.offset, unit, &begin) || __builtin_add_overflow(begin, size, &end) ||
      (size > 0 && end > tiles.size()))
    return Error{Code::TooLarge, "offset " + std::to_string(position.offset) + " is beyond what a file can have"};
  return Access{
      direction, memory.address, {memory.layout, 0, 0, size}, {tiles, in_view ? view_.displacement : 0, begin, end}};
}

// As resolve(), for any position; the individual pointer moves on by what is going to be accessed.
Result<Access> File::resolve_and_move(Direction direction, Position position, const Memory& memory) {
  if (position.kind != Position::Kind::individual) return resolve(direction, position, memory);
  position.offset = pointer_.load(std::memory_order_relaxed);
  for (;;) {
    Access access = PLENUM_TRY(resolve(direction, position, memory));
    const std::int64_t moved = position.offset + access.size() / view_.etype.size();
    // If another thread has moved the pointer meanwhile, begin where that one's access ends.
    if (pointer_.compare_exchange_weak(position.offset, moved, std::memory_order_relaxed)) return access;
  }
}

Environment File::environment() { return {*comm_, *device_file_, traits_, hints_}; }

// Under a lock of all that the access spans: others see all of it or nothing.
Result<std::int64_t> File::carry_out_atomic(const Access& access) {
  const Sharing sharing = access.direction == Direction::write ? Sharing::exclusive : Sharing::shared;
  const RangeLock lock = PLENUM_TRY(device_file_->lock(access.file.bounds(), sharing));
  return plenum::carry_out(environment(), access, thread_scratch(), counters_);
}

Result<std::int64_t> File::carry_out(const Access& access) {
  if (access.size() == 0) return std::int64_t{0};
  if (access.direction == Direction::write) dirty_.store(true, std::memory_order_relaxed);
  Result<std::int64_t> moved =
      atomic_ ? carry_out_atomic(access) : plenum::carry_out(environment(), access, thread_scratch(), counters_);
  if (!moved.ok()) return explain_access(moved.error(), access);
  return moved;
}

Error File::explain_access(Error error, const Access& access) const {
  return explain_here(std::move(error), std::string(verb(access.direction)) + " of " + std::to_string(access.size()) +
                                            " bytes at byte " + std::to_string(access.file.bounds().begin));
}

Task<Result<std::int64_t>> File::carry_out_all(Direction direction, Result<Access> access) {
  if (direction == Direction::write) dirty_.store(true, std::memory_order_relaxed);
  Result<std::int64_t> moved = std::int64_t{0};
  if (atomic_) {
    moved = co_await carry_out_each(std::move(access));
  } else {
    moved = co_await plenum::carry_out_all(environment(), std::move(access), scratch_, counters_);
  }
  if (!moved.ok()) co_return explain(moved.error(), std::string("collective ") + verb(direction));
  co_return moved;
}

// Each rank's access is atomic by itself; what the ranks agree on is only how it ended.
Task<Result<std::int64_t>> File::carry_out_each(Result<Access> access) {
  PLENUM_CO_TRY(co_await agree(*comm_, status_of(access)));
  Result<std::int64_t> moved = std::int64_t{0};
  if (access.value().size() > 0) moved = carry_out_atomic(access.value());
  PLENUM_CO_TRY(co_await agree(*comm_, status_of(moved)));
  co_return moved;
}

Result<std::int64_t> File::transfer(Direction direction, Position position, const Memory& memory) {
  const Result<Access> access = resolve_and_move(direction, position, memory);
  if (!access.ok()) return explain_here(access.error(), verb(direction));
  return carry_out(access.value());
}

// Where `size` bytes at `position` lie in the file, if they are consecutive there and nothing is unusual about them;
// the individual pointer has moved on then.
std::optional<std::int64_t> File::run_in_file(Direction direction, Position position, std::int64_t size) {
  constexpr std::int64_t kReach = Layout::kReach / 2;
  const bool allowed = direction == Direction::read ? mode_.read : mode_.write;
  if (!allowed || mode_.sequential || atomic_ || device_file_ == nullptr || size <= 0 || size > kReach) return {};
  if (!hints_.strategy.empty() && hints_.strategy != "direct") return {};
  if (position.kind == Position::Kind::absolute) {
    if (position.offset < 0 || position.offset > kReach) return {};
    return position.offset;
  }
  const std::int64_t unit = view_.etype.size();
  if (plain_view_ < 0 || plain_view_ > kReach || size % unit != 0) return {};
  std::int64_t at = position.offset;
  if (position.kind == Position::Kind::individual) {
    at = pointer_.load(std::memory_order_relaxed);
    do {
      if (at > kReach / unit) return {};
    } while (!pointer_.compare_exchange_weak(at, at + size / unit, std::memory_order_relaxed));
  }
  if (at < 0 || at > kReach / unit) return {};
  return plain_view_ + at * unit;
}

Result<std::int64_t> File::transfer_bytes(Direction direction, Position position, Bytes memory) {
  const auto size = static_cast<std::int64_t>(memory.size());
  const std::optional<std::int64_t> at =
      memory.data() != nullptr ? run_in_file(direction, position, size) : std::nullopt;
  if (!at) {
    const Result<Memory> described = Memory::of(memory.data(), 1, Layout::bytes(size));
    if (!described.ok()) return explain_here(described.error(), verb(direction));
    return transfer(direction, position, described.value());
  }
  const Transfer one{*at, memory.data(), size};
  Result<std::int64_t> moved = size;
  if (direction == Direction::read) {
    moved = device_file_->read({&one, 1});
  } else {
    dirty_.store(true, std::memory_order_relaxed);
    Status written = device_file_->write({&one, 1});
    if (!written.ok()) moved = std::move(written.error());
  }
  if (!moved.ok())
    return explain_access(std::move(moved.error()), {direction, memory.data(), {}, {all_bytes(), 0, *at, *at + size}});
  counters_.add(direction, false, "direct", "contiguous in memory and file", moved.value());
  return moved;
}

Result<std::int64_t> File::transfer_all(Direction direction, Position position, Result<Memory> memory) {
  drain_collective();
  Result<Access> access = memory.ok() ? resolve_and_move(direction, position, memory.value()) : memory.error();
  return carry_out_all(direction, std::move(access)).wait();
}

Result<std::unique_ptr<Request>> File::start(Direction direction, Position position, const Memory& memory) {
  Result<Access> access = resolve_and_move(direction, position, memory);
  if (!access.ok()) return explain_here(access.error(), verb(direction));
  return std::unique_ptr<Request>(new IndependentRequest(shared_from_this(), std::move(access.value())));
}

std::unique_ptr<Request> File::start_all(Direction direction, Position position, Result<Memory> memory) {
  Result<Access> access = memory.ok() ? resolve_and_move(direction, position, memory.value()) : memory.error();
  auto request = std::make_unique<CollectiveRequest>(shared_from_this(), carry_out_all(direction, std::move(access)));
  request->poll();
  return request;
}

// Ranks start collective accesses in the same order, but suspend them at different places; one at a time, in that
// order, they never take each other's messages.
void File::advance_queue() {
  while (!queue_.empty()) {
    CollectiveRequest& front = *queue_.front();
    if (!front.task_.advance()) return;
    front.result_ = front.task_.take();
    queue_.pop_front();
  }
}

// -- Views and pointers.

Status File::check_view(const View& view) const {
  if (view.displacement < 0)
    return Error{Code::Argument, "the view's displacement " + std::to_string(view.displacement) + " is negative"};
  if (view.displacement > Layout::kReach)
    return Error{Code::TooLarge, "the view's displacement " + std::to_string(view.displacement)};
  const Layout& filetype = view.filetype;
  if (view.etype.size() <= 0) return Error{Code::Type, "the etype has no bytes"};
  if (filetype.size() % view.etype.size() != 0)
    return Error{Code::Type, "the filetype's " + std::to_string(filetype.size()) +
                                 " bytes are no whole number of etypes of " + std::to_string(view.etype.size())};
  if (filetype.size() == 0) return {};
  if (filetype.bounds().begin < 0) return Error{Code::Type, "the filetype has a negative displacement"};
  if (!filetype.monotonic())
    return Error{Code::Type, "the filetype goes backwards: its displacements must not decrease"};
  if (mode_.write && !filetype.ordered())
    return Error{Code::Type, "the filetype overlaps itself, and the file is open for writing"};
  if (filetype.extent() <= 0) return Error{Code::Type, "the filetype's extent is not positive"};
  return {};
}

Task<Status> File::set_view_all(Result<View> view) {
  Status mine = status_of(view);
  if (mine.ok()) mine = check_view(view.value());
  PLENUM_CO_TRY(co_await agree(*comm_, std::move(mine)));
  const std::int64_t extent = view.value().etype.extent();
  PLENUM_CO_TRY(co_await agree_settings(*comm_, "extent of the etype=" + std::to_string(extent)));
  view_ = std::move(view.value());
  tiles_ = view_.filetype.size() == 0 ? Layout() : Layout::tiled(view_.filetype);
  plain_view_ = tiles_.is_one_run() && tiles_.size() > 0 ? view_.displacement + tiles_.bounds().begin : -1;
  pointer_.store(0, std::memory_order_relaxed);
  co_return Status{};
}

Status File::set_view(Result<View> view) {
  drain_collective();
  const Status set = set_view_all(std::move(view)).wait();
  if (!set.ok()) return explain(set.error(), "set_view");
  return {};
}

// The first etype of the view that begins at or after byte `size` of the file: what MPI calls the end of the file.
std::int64_t File::etypes_before(std::int64_t size) const {
  const std::int64_t end = size - view_.displacement;
  if (tiles_.size() == 0 || end <= 0) return 0;
  if (tiles_.ordered()) return ceil_div(tiles_.bytes_below(end), view_.etype.size());
  // Tiles that reach into each other: the first that reaches beyond the end, and the first run of it that does.
  const Layout& tile = view_.filetype;
  const std::int64_t index = std::max<std::int64_t>(0, floor_div(end - tile.bounds().end, tile.extent()) + 1);
  std::int64_t bytes = index * tile.size();
  for (Cursor at(tile, index * tile.extent()); !at.done();) {
    const Run run = at.next_run();
    bytes += std::clamp<std::int64_t>(end - run.offset, 0, run.size);
    if (run.offset + run.size > end) break;
  }
  return ceil_div(bytes, view_.etype.size());
}

Status File::seek(std::int64_t offset_etypes, Whence whence) {
  const auto failed = [&](Error error) { return explain_here(std::move(error), "seek"); };
  if (mode_.sequential)
    return failed({Code::Unsupported, "a file opened for sequential access has no individual pointer"});
  std::int64_t from = 0;
  if (whence == Whence::current) from = pointer_.load(std::memory_order_relaxed);
  if (whence == Whence::end) {
    const Result<std::int64_t> end = device_file_->size();
    if (!end.ok()) return failed(end.error());
    from = etypes_before(end.value());
  }
  std::int64_t target = 0;
  if (__builtin_add_overflow(from, offset_etypes, &target) || target < 0)
    return failed(
        {Code::Argument, "offset " + std::to_string(offset_etypes) + " leads to before the beginning of the view"});
  pointer_.store(target, std::memory_order_relaxed);
  return {};
}

Result<std::int64_t> File::byte_offset(std::int64_t offset_etypes) const {
  std::int64_t byte = 0;
  if (offset_etypes < 0)
    return explain_here({Code::Argument, "offset " + std::to_string(offset_etypes) + " is negative"},
                        "get_byte_offset");
  if (__builtin_mul_overflow(offset_etypes, view_.etype.size(), &byte) || byte >= tiles_.size())
    return explain_here({Code::TooLarge, "offset " + std::to_string(offset_etypes) + " is beyond the view"},
                        "get_byte_offset");
  Cursor at(tiles_, view_.displacement);
  at.seek(byte);
  return at.run().offset;
}

// -- The file as a whole.

Result<std::int64_t> File::size() {
  Result<std::int64_t> size = device_file_->size();
  if (!size.ok()) return explain_here(size.error(), "get_size");
  return size;
}

// One rank does it, with what all ranks agree on.
Task<Status> File::change_size(std::int64_t size, Status (DeviceFile::*change)(std::int64_t)) {
  Status mine;
  if (size < 0) mine = Error{Code::Argument, "size " + std::to_string(size) + " is negative"};
  if (mode_.sequential) mine = Error{Code::Unsupported, "the file is open for sequential access"};
  if (!mode_.write) mine = Error{Code::ReadOnly, "the file is open for reading only"};
  PLENUM_CO_TRY(co_await agree(*comm_, std::move(mine)));
  PLENUM_CO_TRY(co_await agree_settings(*comm_, "size=" + std::to_string(size)));
  if (comm_->rank() == 0) {
    dirty_.store(true, std::memory_order_relaxed);
    mine = (device_file_.get()->*change)(size);
  }
  co_return co_await agree(*comm_, std::move(mine));
}

Status File::resize(std::int64_t size) {
  drain();
  const Status done = change_size(size, &DeviceFile::resize).wait();
  if (!done.ok()) return explain(done.error(), "set_size");
  return {};
}

Status File::reserve(std::int64_t size) {
  drain();
  const Status done = change_size(size, &DeviceFile::reserve).wait();
  if (!done.ok()) return explain(done.error(), "preallocate");
  return {};
}

Status File::sync_device() {
  if (!dirty_.exchange(false, std::memory_order_relaxed)) return {};
  Status synced = device_file_->sync();
  if (!synced.ok()) dirty_.store(true, std::memory_order_relaxed);
  return synced;
}

Status File::sync() {
  drain();
  const Status synced = agree(*comm_, sync_device()).wait();
  if (!synced.ok()) return explain(synced.error(), "sync");
  return {};
}

Status File::flush() {
  wait_for_independent();
  const Status synced = sync_device();
  if (!synced.ok()) return explain_here(synced.error(), "flush");
  return {};
}

Task<Status> File::set_atomic_all(bool atomic) {
  Status mine;
  if (atomic && !traits_.byte_range_locks)
    mine = Error{Code::Unsupported, "atomic mode takes range locks, which " + traits_.file_system + " does not have"};
  const std::string flag = atomic ? "atomicity flag=true" : "atomicity flag=false";
  PLENUM_CO_TRY(co_await agree_settings(*comm_, flag));
  co_return co_await agree(*comm_, std::move(mine));
}

Status File::set_atomic(bool atomic) {
  drain();
  const Status agreed = set_atomic_all(atomic).wait();
  if (!agreed.ok()) return explain(agreed.error(), "set_atomicity");
  atomic_ = atomic;
  return {};
}

Task<Status> File::set_hints_all(Hints hints) {
  PLENUM_CO_TRY(co_await agree(*comm_, check_hints(hints)));
  PLENUM_CO_TRY(co_await agree_settings(*comm_, shared_hint_values(hints)));
  hints_ = std::move(hints);
  co_return Status{};
}

Status File::set_hints(const Hints& hints) {
  drain();
  Hints changed = hints;
  // Where the file lies has been decided when it was opened.
  changed.device = hints_.device;
  changed.fault = hints_.fault;
  changed.striping_factor = hints_.striping_factor;
  changed.striping_unit = hints_.striping_unit;
  changed.file_permissions = hints_.file_permissions;
  for (const char* key : {"filename", "romio_filesystem_type"}) changed.kept[key] = hints_.kept[key];
  const Status set = set_hints_all(std::move(changed)).wait();
  if (!set.ok()) return explain(set.error(), "set_info");
  return {};
}

std::vector<std::pair<std::string, std::string>> File::info() const {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const HintRow& row : hint_rows()) {
    std::string value = row.get(hints_);
    if (!value.empty() && row.key != "plenum_device") pairs.emplace_back(row.key, std::move(value));
  }
  pairs.emplace_back("plenum_device", std::string(device_->name()));
  pairs.emplace_back("plenum_file_system", traits_.file_system);
  std::string chosen;
  for (const Counters::Row& row : counters_.rows()) {
    chosen += chosen.empty() ? "" : "; ";
    chosen +=
        std::string(row.collective ? "collective " : "") + (row.direction == Direction::read ? "read " : "write ");
    chosen += std::string(row.strategy) + " (" + std::string(row.reason) + ")";
  }
  if (!chosen.empty()) pairs.emplace_back("plenum_strategies", std::move(chosen));
  return pairs;
}

}  // namespace plenum
