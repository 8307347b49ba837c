// SPDX-License-Identifier: BSD-3-Clause
#include "comm/mpi_datatype.hpp"

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/mpi_handle.hpp"

namespace plenum {

namespace {

using Numbers = std::vector<std::int64_t>;

Error too_large(const char* what) { return {Code::TooLarge, std::string("datatype: ") + what}; }

// ---- combiners

// Types of Fortran 77 with INTEGER displacements. Removed in MPI-3.0, but some libraries still give names to them.
#if defined(OPEN_MPI) && !OMPI_ENABLE_MPI1_COMPAT
constexpr int kHvectorInteger = OMPI_WAS_MPI_COMBINER_HVECTOR_INTEGER;
constexpr int kHindexedInteger = OMPI_WAS_MPI_COMBINER_HINDEXED_INTEGER;
constexpr int kStructInteger = OMPI_WAS_MPI_COMBINER_STRUCT_INTEGER;
#elif defined(OPEN_MPI) || defined(MPICH_NUMVERSION)
constexpr int kHvectorInteger = MPI_COMBINER_HVECTOR_INTEGER;
constexpr int kHindexedInteger = MPI_COMBINER_HINDEXED_INTEGER;
constexpr int kStructInteger = MPI_COMBINER_STRUCT_INTEGER;
#else
constexpr int kHvectorInteger = -1;
constexpr int kHindexedInteger = -2;
constexpr int kStructInteger = -3;
#endif

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
constexpr int kValueIndex = MPI_COMBINER_VALUE_INDEX;
#else
constexpr int kValueIndex = -4;
#endif

// Types that the program has not made and must not free.
bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER || combiner == kValueIndex;
}

// ---- what the MPI library says of a type

struct Envelope {
  int combiner = MPI_COMBINER_NAMED;
  std::int64_t integers = 0;
  std::int64_t addresses = 0;
  std::int64_t counts = 0;  // > 0: made by a large-count function
  std::int64_t types = 0;
};

Result<Envelope> envelope_of(MPI_Datatype type) {
  Envelope envelope;
#ifdef PLENUM_HAVE_TYPE_ENVELOPE_C
  // The older function fails for types made by large-count functions.
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  PLENUM_TRY(check_mpi("MPI_Type_get_envelope_c",
                       PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &envelope.combiner)));
  envelope.counts = counts;
#else
  int integers = 0, addresses = 0, types = 0;
  PLENUM_TRY(check_mpi("MPI_Type_get_envelope",
                       PMPI_Type_get_envelope(type, &integers, &addresses, &types, &envelope.combiner)));
#endif
  envelope.integers = integers;
  envelope.addresses = addresses;
  envelope.types = types;
  return envelope;
}

// A constructor's arguments, and the types that were put into it.
struct Contents {
  Numbers arguments;  // as the `int` constructor takes them; displacements in bytes last
  std::vector<MPI_Datatype> types;
  std::vector<MpiTypeHandle> owners;  // of those that are not predefined
};

// Large-count constructors store what may be large apart from what is always small: puts that together again.
Numbers arguments_in_order(int combiner, std::span<const std::int64_t> integers, const Numbers& large) {
  if (combiner != MPI_COMBINER_SUBARRAY && combiner != MPI_COMBINER_DARRAY) return large;
  const std::ptrdiff_t before = combiner == MPI_COMBINER_SUBARRAY ? 1 : 3;
  Numbers arguments(integers.begin(), integers.begin() + before);
  arguments.insert(arguments.end(), large.begin(), large.end());
  arguments.insert(arguments.end(), integers.begin() + before, integers.end());
  return arguments;
}

Result<Contents> contents_of(MPI_Datatype type, const Envelope& envelope) {
  std::vector<int> integers(static_cast<std::size_t>(envelope.integers));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses));
  Contents contents;
  contents.types.resize(static_cast<std::size_t>(envelope.types));
  Numbers large;
#ifdef PLENUM_HAVE_TYPE_ENVELOPE_C
  std::vector<MPI_Count> counts(static_cast<std::size_t>(envelope.counts));
  PLENUM_TRY(
      check_mpi("MPI_Type_get_contents_c",
                PMPI_Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.counts, envelope.types,
                                         integers.data(), addresses.data(), counts.data(), contents.types.data())));
  large.assign(counts.begin(), counts.end());
#else
  PLENUM_TRY(check_mpi("MPI_Type_get_contents",
                       PMPI_Type_get_contents(type, static_cast<int>(envelope.integers),
                                              static_cast<int>(envelope.addresses), static_cast<int>(envelope.types),
                                              integers.data(), addresses.data(), contents.types.data())));
#endif
  contents.arguments.assign(integers.begin(), integers.end());
  contents.arguments.insert(contents.arguments.end(), addresses.begin(), addresses.end());
  if (envelope.counts > 0) contents.arguments = arguments_in_order(envelope.combiner, contents.arguments, large);

  // The same handle may be there several times, and then has to be freed as often.
  contents.owners.reserve(contents.types.size());
  std::optional<bool> predefined;
  for (std::size_t i = 0; i < contents.types.size(); ++i) {
    if (i == 0 || contents.types[i] != contents.types[i - 1]) {
      const Envelope inner = PLENUM_TRY(envelope_of(contents.types[i]));
      predefined = is_predefined(inner.combiner);
    }
    if (!*predefined) contents.owners.emplace_back(contents.types[i]);
  }
  return contents;
}

// The layout with lower bound and extent as the MPI library has them.
Result<Layout> with_bounds_of(MPI_Datatype type, const Layout& layout) {
  MPI_Count lower_bound = 0;
  MPI_Count extent = 0;
  PLENUM_TRY(check_mpi("MPI_Type_get_extent_x", PMPI_Type_get_extent_x(type, &lower_bound, &extent)));
  const auto in_reach = [](std::int64_t bound) { return -Layout::kReach <= bound && bound <= Layout::kReach; };
  if (!in_reach(lower_bound) || !in_reach(extent)) return too_large("extent out of range");
  const Layout bounded = layout.resized(lower_bound, extent);
  if (!Layout::repeat_fits(1, 0, bounded)) return too_large("bounds out of range");
  return bounded;
}

// ---- constructors, checked

std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

Result<Layout> repeated(std::int64_t count, std::int64_t stride, const Layout& element) {
  if (!Layout::repeat_fits(count, stride, element)) return too_large("size or bounds out of range");
  return Layout::repeat(count, stride, element);
}

// A vector, `stride` in bytes.
Result<Layout> vector(std::int64_t count, std::int64_t block, std::int64_t stride, const Layout& element) {
  return repeated(count, stride, PLENUM_TRY(repeated(block, element.extent(), element)));
}

// Blocks; displacements in units of `unit` bytes.
Result<Layout> blocks(std::span<const std::int64_t> counts, std::span<const std::int64_t> displacements,
                      std::int64_t unit, const Layout& element) {
  Numbers offsets(displacements.begin(), displacements.end());
  std::int64_t size = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const bool fits = !__builtin_mul_overflow(displacements[i], unit, &offsets[i]) &&
                      Layout::repeat_fits(counts[i], element.extent(), element, offsets[i]);
    if (!fits) return too_large("displacement out of range");
    size += std::max<std::int64_t>(counts[i], 0) * element.size();  // each summand is in reach, ...
    if (size > Layout::kReach)
      return too_large("size out of range");  // ... so that the sum cannot overflow before this
  }
  return Layout::indexed(counts, offsets, element);
}

// One part of a struct: what is put into it, how often, where.
Result<Layout> joined(std::span<const std::int64_t> counts, std::span<const std::int64_t> displacements,
                      std::span<const Layout> elements) {
  std::vector<Layout> members;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!Layout::repeat_fits(counts[i], elements[i].extent(), elements[i], displacements[i]))
      return too_large("displacement out of range");
    members.push_back(Layout::repeat(counts[i], elements[i].extent(), elements[i]));
    size += members.back().size();
    if (size > Layout::kReach) return too_large("size out of range");
  }
  return Layout::join(displacements, members);
}

// Whether an array of this shape stays in reach.
bool array_fits(std::span<const std::int64_t> sizes, const Layout& element) {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) {
    const std::optional<std::int64_t> all = product(elements, size);
    if (!all) return false;
    elements = *all;
  }
  return Layout::repeat_fits(elements, element.extent(), element);
}

Layout::Order order_of(std::int64_t order) {
  return order == MPI_ORDER_FORTRAN ? Layout::Order::fortran : Layout::Order::c;
}

Result<Layout> subarray(std::span<const std::int64_t> arguments, const Layout& element) {
  const std::size_t n = static_cast<std::size_t>(arguments[0]);
  const auto sizes = arguments.subspan(1, n);
  if (!array_fits(sizes, element)) return too_large("array out of range");
  return Layout::subarray(sizes, arguments.subspan(1 + n, n), arguments.subspan(1 + 2 * n, n),
                          order_of(arguments[1 + 3 * n]), element);
}

// Arguments of MPI_Type_create_darray: number of processes, rank, dimensions n, then n each of sizes, distributions,
// distribution arguments and grid sizes, then the order.
Result<Layout> darray(std::span<const std::int64_t> arguments, const Layout& element) {
  const std::size_t n = static_cast<std::size_t>(arguments[2]);
  const auto sizes = arguments.subspan(3, n);
  const auto kinds = arguments.subspan(3 + n, n);
  const auto chunks = arguments.subspan(3 + 2 * n, n);
  const auto grid = arguments.subspan(3 + 3 * n, n);
  if (!array_fits(sizes, element)) return too_large("array out of range");
  std::vector<Layout::Distribution> dimensions(n);
  std::int64_t rank = arguments[1];
  for (std::size_t d = n; d-- > 0;) {  // the last dimension of the grid varies fastest, whatever the array's order
    Layout::Distribution& dimension = dimensions[d];
    dimension.global = sizes[d];
    dimension.procs = grid[d];
    dimension.coordinate = rank % grid[d];
    rank /= grid[d];
    dimension.chunk = chunks[d];
    if (kinds[d] == MPI_DISTRIBUTE_NONE) dimension.chunk = sizes[d];
    if (kinds[d] != MPI_DISTRIBUTE_NONE && chunks[d] == MPI_DISTRIBUTE_DFLT_DARG)
      dimension.chunk = kinds[d] == MPI_DISTRIBUTE_BLOCK ? ceil_div(sizes[d], grid[d]) : 1;
    dimension.chunk = std::max<std::int64_t>(dimension.chunk, 1);
  }
  return Layout::distributed(dimensions, order_of(arguments[3 + 4 * n]), element);
}

// ---- predefined types

// The pairs for MPI_MINLOC and MPI_MAXLOC are structs of C, gaps included.
template <class First>
Layout pair_with_int() {
  struct Pair {
    First first;
    int second;
  };
  const std::int64_t displacements[] = {0, offsetof(Pair, second)};
  const Layout members[] = {Layout::bytes(sizeof(First)), Layout::bytes(sizeof(int))};
  return Layout::join(displacements, members);
}

// A value and an index, of any predefined types, as a struct of C would hold them.
Layout value_index_pair(const Layout& value, const Layout& index) {
  const std::int64_t alignment = std::min<std::int64_t>(index.size(), alignof(std::max_align_t));
  const std::int64_t displacements[] = {0, ceil_div(value.size(), alignment) * alignment};
  const Layout members[] = {value, index};
  return Layout::join(displacements, members);
}

Result<Layout> decode_named(MPI_Datatype type) {
  if (type == MPI_SHORT_INT) return with_bounds_of(type, pair_with_int<short>());
  if (type == MPI_LONG_INT) return with_bounds_of(type, pair_with_int<long>());
  if (type == MPI_FLOAT_INT) return with_bounds_of(type, pair_with_int<float>());
  if (type == MPI_DOUBLE_INT) return with_bounds_of(type, pair_with_int<double>());
  if (type == MPI_LONG_DOUBLE_INT) return with_bounds_of(type, pair_with_int<long double>());
  const std::int64_t size = type_size(type);
  if (size < 0) return too_large("size out of range");
  return with_bounds_of(type, Layout::bytes(size));
}

// The layouts of the common predefined types, by handle: such a type costs no call of MPI and no allocation.
class PredefinedTypes {
 public:
  PredefinedTypes() {
    // Types that this MPI library lacks are null.
    const MPI_Datatype types[] = {MPI_BYTE,
                                  MPI_PACKED,
                                  MPI_CHAR,
                                  MPI_SIGNED_CHAR,
                                  MPI_UNSIGNED_CHAR,
                                  MPI_WCHAR,
                                  MPI_SHORT,
                                  MPI_UNSIGNED_SHORT,
                                  MPI_INT,
                                  MPI_UNSIGNED,
                                  MPI_LONG,
                                  MPI_UNSIGNED_LONG,
                                  MPI_LONG_LONG,
                                  MPI_UNSIGNED_LONG_LONG,
                                  MPI_FLOAT,
                                  MPI_DOUBLE,
                                  MPI_LONG_DOUBLE,
                                  MPI_C_BOOL,
                                  MPI_INT8_T,
                                  MPI_INT16_T,
                                  MPI_INT32_T,
                                  MPI_INT64_T,
                                  MPI_UINT8_T,
                                  MPI_UINT16_T,
                                  MPI_UINT32_T,
                                  MPI_UINT64_T,
                                  MPI_C_FLOAT_COMPLEX,
                                  MPI_C_DOUBLE_COMPLEX,
                                  MPI_C_LONG_DOUBLE_COMPLEX,
                                  MPI_AINT,
                                  MPI_COUNT,
                                  MPI_OFFSET,
                                  MPI_FLOAT_INT,
                                  MPI_DOUBLE_INT,
                                  MPI_LONG_INT,
                                  MPI_2INT,
                                  MPI_SHORT_INT,
                                  MPI_LONG_DOUBLE_INT,
                                  MPI_CHARACTER,
                                  MPI_LOGICAL,
                                  MPI_INTEGER,
                                  MPI_REAL,
                                  MPI_DOUBLE_PRECISION,
                                  MPI_COMPLEX,
                                  MPI_DOUBLE_COMPLEX,
                                  MPI_2REAL,
                                  MPI_2DOUBLE_PRECISION,
                                  MPI_2INTEGER};
    static_assert(std::size(types) < kSlots / 2);
    for (const MPI_Datatype type : types) {
      if (type == MPI_DATATYPE_NULL) continue;
      Result<Layout> layout = decode_named(type);
      if (layout.ok()) *slot_of(type) = {type, std::move(layout).value(), true};
    }
  }

  // Null if `type` is not one of them.
  const Layout* find(MPI_Datatype type) const {
    const Slot* slot = const_cast<PredefinedTypes*>(this)->slot_of(type);
    return slot->used ? &slot->layout : nullptr;
  }

 private:
  struct Slot {
    MPI_Datatype type{};
    Layout layout;
    bool used = false;
  };

  // Its slot, or the free one where it would be.
  Slot* slot_of(MPI_Datatype type) {
    // Handles are pointers or numbers that differ in few bits.
    const std::uint64_t bits = (std::uint64_t)type;
    std::size_t i = static_cast<std::size_t>((bits * 0x9e3779b97f4a7c15u) >> 56);
    while (slots_[i].used && slots_[i].type != type) i = (i + 1) % kSlots;
    return &slots_[i];
  }

  static constexpr std::size_t kSlots = 256;
  std::array<Slot, kSlots> slots_;
};

const Layout* find_predefined(MPI_Datatype type) {
  static const PredefinedTypes types;
  return types.find(type);
}

// ---- the attribute that derived types keep their layout in

extern "C" {
static int plenum_delete_layout(MPI_Datatype, int, void* layout, void*) {
  delete static_cast<Layout*>(layout);
  return MPI_SUCCESS;
}

// MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF (MPI-3.1, section 8.7.1), when MPI still works.
static int plenum_end_of_datatypes(MPI_Comm, int, void* cache, void*);
}

class Cache {
 public:
  static Cache& instance() {
    static Cache cache;
    return cache;
  }

  // Null if `type` has not been stored.
  const Layout* find(MPI_Datatype type) const {
    void* layout = nullptr;
    int found = 0;
    if (key_ == MPI_KEYVAL_INVALID || PMPI_Type_get_attr(type, key_, &layout, &found) != MPI_SUCCESS) return nullptr;
    return found != 0 ? static_cast<const Layout*>(layout) : nullptr;
  }

  void store(MPI_Datatype type, const Layout& layout) {
    if (key_ == MPI_KEYVAL_INVALID) return;
    const std::lock_guard lock(mutex_);
    if (find(type) != nullptr) return;  // another thread was faster, and may be using what it stored
    auto copy = std::make_unique<Layout>(layout);
    if (PMPI_Type_set_attr(type, key_, copy.get()) == MPI_SUCCESS) (void)copy.release();
  }

  // Whether `type` is fit for communication. There is no function that tells, so it is put into one that checks it,
  // with nothing to be done. MPICH does so in MPI_Pack_size, but does not look at what goes to MPI_PROC_NULL; Open MPI
  // in MPI_Send, while its MPI_Pack_size crashes.
  bool is_committed(MPI_Datatype type) const {
    if (comm_ == MPI_COMM_NULL) return true;
    if (is_type_error(PMPI_Send(nullptr, 0, type, MPI_PROC_NULL, 0, comm_))) return false;
#ifndef OPEN_MPI
    int size = 0;
    if (is_type_error(PMPI_Pack_size(0, type, comm_, &size))) return false;
#endif
    return true;
  }

  void close() {
    if (comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
    if (key_ != MPI_KEYVAL_INVALID) PMPI_Type_free_keyval(&key_);
  }

 private:
  Cache() {
    int at_end = MPI_KEYVAL_INVALID;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, plenum_end_of_datatypes, &at_end, nullptr) != MPI_SUCCESS)
      return;
    PMPI_Comm_set_attr(MPI_COMM_SELF, at_end, this);
    PMPI_Comm_free_keyval(&at_end);
    if (PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, plenum_delete_layout, &key_, nullptr) != MPI_SUCCESS)
      key_ = MPI_KEYVAL_INVALID;
    // Errors are to be returned, whatever the program wants for its own communicators.
    if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm_) == MPI_SUCCESS) PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }

  static bool is_type_error(int return_code) {
    int error_class = MPI_SUCCESS;
    if (return_code != MPI_SUCCESS) PMPI_Error_class(return_code, &error_class);
    return error_class == MPI_ERR_TYPE;
  }

  std::mutex mutex_;
  int key_ = MPI_KEYVAL_INVALID;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

extern "C" {
static int plenum_end_of_datatypes(MPI_Comm, int, void* cache, void*) {
  static_cast<Cache*>(cache)->close();
  return MPI_SUCCESS;
}
}

// ---- decoding

Result<Layout> decode_inner(MPI_Datatype type, int depth);

// The layouts of all types of a constructor; a run of equal handles is decoded once.
Result<std::vector<Layout>> decode_types(const Contents& contents, int depth) {
  std::vector<Layout> layouts;
  for (std::size_t i = 0; i < contents.types.size(); ++i) {
    if (i > 0 && contents.types[i] == contents.types[i - 1]) {
      layouts.push_back(layouts.back());
    } else {
      layouts.push_back(PLENUM_TRY(decode_inner(contents.types[i], depth + 1)));
    }
  }
  return layouts;
}

// A struct whose members are all of one type is a list of blocks, and takes less room as that.
Result<Layout> structure(const Contents& contents, std::span<const Layout> elements) {
  const std::span<const std::int64_t> arguments = contents.arguments;
  const std::size_t n = static_cast<std::size_t>(arguments[0]);
  const auto counts = arguments.subspan(1, n);
  const auto displacements = arguments.subspan(1 + n, n);
  bool same = n > 0;
  for (std::size_t i = 1; i < n; ++i) same = same && contents.types[i] == contents.types[0];
  return same ? blocks(counts, displacements, 1, elements[0]) : joined(counts, displacements, elements);
}

Result<Layout> construct(int combiner, const Contents& contents, std::span<const Layout> elements) {
  const std::span<const std::int64_t> arguments = contents.arguments;
  const Layout element = elements.empty() ? Layout() : elements[0];
  const std::int64_t extent = element.extent();
  // Of a list: its length comes first.
  const std::size_t n = arguments.empty() ? 0 : static_cast<std::size_t>(arguments[0]);
  const auto same_counts = [&] { return Numbers(n, arguments[1]); };
  switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return element;
    case MPI_COMBINER_CONTIGUOUS:
      return repeated(arguments[0], extent, element);
    case MPI_COMBINER_VECTOR: {
      const std::optional<std::int64_t> stride = product(arguments[2], extent);
      if (!stride) return too_large("stride out of range");
      return vector(arguments[0], arguments[1], *stride, element);
    }
    case MPI_COMBINER_HVECTOR:
    case kHvectorInteger:
      return vector(arguments[0], arguments[1], arguments[2], element);
    case MPI_COMBINER_INDEXED:
      return blocks(arguments.subspan(1, n), arguments.subspan(1 + n, n), extent, element);
    case MPI_COMBINER_HINDEXED:
    case kHindexedInteger:
      return blocks(arguments.subspan(1, n), arguments.subspan(1 + n, n), 1, element);
    case MPI_COMBINER_INDEXED_BLOCK:
      return blocks(same_counts(), arguments.subspan(2, n), extent, element);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return blocks(same_counts(), arguments.subspan(2, n), 1, element);
    case MPI_COMBINER_STRUCT:
    case kStructInteger:
      return structure(contents, elements);
    case MPI_COMBINER_SUBARRAY:
      return subarray(arguments, element);
    case MPI_COMBINER_DARRAY:
      return darray(arguments, element);
    case kValueIndex:
      return value_index_pair(elements[0], elements[1]);
    default:
      return Error{Code::Type, "datatype: made by an unknown constructor, combiner " + std::to_string(combiner)};
  }
}

bool has_contents(int combiner) { return !is_predefined(combiner) || combiner == kValueIndex; }

Result<Layout> decode_derived(MPI_Datatype type, const Envelope& envelope, int depth) {
  const Contents contents = PLENUM_TRY(contents_of(type, envelope));
  const std::vector<Layout> elements = PLENUM_TRY(decode_types(contents, depth));
  const Layout layout = PLENUM_TRY(construct(envelope.combiner, contents, elements));
  if (layout.depth() > Layout::kMaxDepth) return too_large("nested too deeply");
  return with_bounds_of(type, layout);
}

Result<Layout> decode_inner(MPI_Datatype type, int depth) {
  if (depth > Layout::kMaxDepth) return too_large("nested too deeply");
  if (const Layout* predefined = find_predefined(type)) return *predefined;
  if (const Layout* known = Cache::instance().find(type)) return *known;
  const Envelope envelope = PLENUM_TRY(envelope_of(type));
  return has_contents(envelope.combiner) ? decode_derived(type, envelope, depth) : decode_named(type);
}

}  // namespace

Result<Layout> decode(MPI_Datatype type) {
  // Zero bits are no handle in any MPI library, but may be all there is in a variable that was never set.
  if (type == MPI_DATATYPE_NULL || type == MPI_Datatype{}) return Error{Code::Type, "datatype: null"};
  if (const Layout* predefined = find_predefined(type)) return *predefined;
  Cache& cache = Cache::instance();
  if (const Layout* known = cache.find(type)) return *known;
  const Envelope envelope = PLENUM_TRY(envelope_of(type));
  if (is_predefined(envelope.combiner)) return decode_inner(type, 0);
  if (!cache.is_committed(type)) return Error{Code::Type, "datatype: not committed"};
  Layout layout = PLENUM_TRY(decode_derived(type, envelope, 0));
  cache.store(type, layout);
  return layout;
}

std::int64_t type_size(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL || type == MPI_Datatype{}) return -1;
  MPI_Count size = 0;
  if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return -1;
  return size;
}

}  // namespace plenum
