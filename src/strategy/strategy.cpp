// SPDX-License-Identifier: BSD-3-Clause
#include "strategy/strategy.hpp"

#include <algorithm>
#include <limits>
#include <new>

namespace plenum {

#define PLENUM_STRATEGY(name) const Strategy& name##_strategy();
#include "strategy_table.inc"
#undef PLENUM_STRATEGY

const std::vector<const Strategy*>& strategies() {
  static const std::vector<const Strategy*> table = {
#define PLENUM_STRATEGY(name) &name##_strategy(),
#include "strategy_table.inc"
#undef PLENUM_STRATEGY
  };
  return table;
}

Result<std::byte*> Scratch::get(std::size_t index, std::int64_t size) {
  if (index >= buffers_.size()) buffers_.resize(index + 1);
  Buffer& buffer = buffers_[index];
  if (buffer.size < size || buffer.bytes == nullptr) {
    buffer.size = 0;
    buffer.bytes.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(std::max<std::int64_t>(size, 1))]);
    if (buffer.bytes == nullptr) return Error{Code::NoMemory, "a buffer of " + std::to_string(size) + " bytes"};
    buffer.size = size;
  }
  return buffer.bytes.get();
}

Shape shape_of(const Access& access) {
  Shape shape;
  shape.direction = access.direction;
  shape.range = access.file.bounds();
  shape.bytes = access.size();
  shape.runs = access.file.runs();
  shape.span = shape.range.size();
  shape.active = access.size() > 0 ? 1 : 0;
  shape.ordered = access.file.ordered();
  return shape;
}

Choice choose(const Shape& shape, const Environment& environment, bool collective) {
  Choice best;
  double least = std::numeric_limits<double>::infinity();
  for (const Strategy* strategy : strategies()) {
    if (strategy->run == nullptr && !collective) continue;
    const std::optional<Estimate> offer = strategy->estimate(shape, environment, collective);
    if (!offer) continue;
    if (environment.hints.strategy == strategy->name) return {strategy, "hint plenum_strategy"};
    if (offer->seconds < least) {
      least = offer->seconds;
      best = {strategy, offer->reason};
    }
  }
  // Hints may have ruled everything out; the first of the table can carry out any access.
  if (best.strategy == nullptr) best = {strategies().front(), "no other strategy fits the hints"};
  return best;
}

Result<std::int64_t> carry_out(const Environment& environment, const Access& access, Scratch& scratch,
                               Counters& counters) {
  const Choice choice = choose(shape_of(access), environment, false);
  Result<std::int64_t> moved = choice.strategy->run(environment, access, scratch);
  if (moved.ok()) counters.add(access.direction, false, choice.strategy->name, choice.reason, moved.value());
  return moved;
}

namespace {

// What the ranks tell each other before a collective access, and what they agree on. Collective.
Task<Result<Shape>> shape_of_group(Comm& comm, const Access& access, const Result<std::int64_t>& file_size) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  Shape shape = shape_of(access);
  const bool idle = access.size() == 0;
  // A share of what the sum can hold: spans may be as long as the longest file.
  const std::int64_t span = std::min(shape.span, kNone / comm.size());
  std::int64_t sums[] = {shape.bytes, shape.runs, span, shape.active, file_size.ok() ? 0 : 1};
  PLENUM_CO_TRY(co_await comm.allreduce(sums, Reduction::sum));
  if (sums[4] != 0) {
    const Status failed = co_await agree(comm, status_of(file_size));
    co_return failed.error();
  }
  std::int64_t lows[] = {idle ? kNone : shape.range.begin, idle ? kNone : -shape.range.end,
                         idle || shape.ordered ? 1 : 0, -file_size.value()};
  PLENUM_CO_TRY(co_await comm.allreduce(lows, Reduction::min));
  shape.bytes = sums[0];
  shape.runs = sums[1];
  shape.span = sums[2];
  shape.active = sums[3];
  shape.ranks = comm.size();
  shape.range = shape.active == 0 ? ByteRange{0, 0} : ByteRange{lows[0], -lows[1]};
  shape.ordered = lows[2] == 1;
  shape.file_size = -lows[3];
  co_return shape;
}

// Whether reads end where the file does, and the ranks can know that beforehand.
bool ends(const Environment& environment, const Access& access) {
  const Traits& traits = environment.traits;
  return access.direction == Direction::read && traits.seekable && traits.keeps_data;
}

// Leaves out what lies beyond the end of the file, as every rank sees it.
void cut_off(Access& access, std::int64_t file_size) {
  if (access.file.ordered())
    access.file = access.file.within({std::numeric_limits<std::int64_t>::min() / 2, file_size});
  access.memory.end = access.memory.begin + access.file.size();
}

}  // namespace

Task<Result<std::int64_t>> carry_out_all(Environment environment, Result<Access> given, Scratch& scratch,
                                         Counters& counters) {
  Comm& comm = environment.comm;
  Access access = given.ok() ? given.value() : Access{};
  // A read beyond the end is cut off for all ranks alike, at the size that any of them sees.
  Result<std::int64_t> file_size = std::int64_t{0};
  if (!given.ok()) {
    file_size = given.error();
  } else if (ends(environment, access)) {
    file_size = environment.file.size();
  }
  Result<Shape> shape = co_await shape_of_group(comm, access, file_size);
  if (!shape.ok()) co_return shape.error();
  const Choice choice = choose(shape.value(), environment, true);

  Result<std::int64_t> moved = std::int64_t{0};
  if (choice.strategy->run_all == nullptr) {
    if (access.size() > 0) moved = choice.strategy->run(environment, access, scratch);
    PLENUM_CO_TRY(co_await agree(comm, status_of(moved)));
  } else if (shape.value().active > 0) {
    if (ends(environment, access)) cut_off(access, shape.value().file_size);
    const std::int64_t size = access.size();
    PLENUM_CO_TRY(co_await choice.strategy->run_all(environment, std::move(access), shape.value(), scratch));
    moved = size;
  }
  counters.add(shape.value().direction, true, choice.strategy->name, choice.reason, moved.value());
  co_return moved;
}

}  // namespace plenum
