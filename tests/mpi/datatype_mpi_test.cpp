// SPDX-License-Identifier: BSD-3-Clause
//
// Random datatypes, decoded, against MPI_Pack of a buffer whose bytes are their own offsets.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "comm/mpi_datatype.hpp"
#include "comm/mpi_handle.hpp"

namespace plenum {
namespace {

using Offsets = std::vector<std::int64_t>;

// A datatype and the words to find it again by.
struct Made {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool derived = false;
  std::string text;

  std::int64_t size() const {
    MPI_Count size = 0;
    MPI_Type_size_x(type, &size);
    return size;
  }
  std::int64_t extent() const {
    MPI_Count lower = 0, extent = 0;
    MPI_Type_get_extent_x(type, &lower, &extent);
    return extent;
  }
};

void release(Made& made) {
  if (made.derived) MPI_Type_free(&made.type);
}

template <class List>
std::string text_of_list(const List& list) {
  std::ostringstream text;
  for (const auto& value : list) text << (text.tellp() > 0 ? "," : "") << value;
  return "{" + text.str() + "}";
}

// ---- what the MPI libraries do wrong, each found by expanding the type by hand

#ifdef OPEN_MPI
constexpr bool kIsOpenMpi = true;
#else
constexpr bool kIsOpenMpi = false;
#endif
#ifdef MPICH_NUMVERSION
constexpr bool kIsMpich = true;
#else
constexpr bool kIsMpich = false;
#endif

// Open MPI 4.1 crashes in MPI_Type_create_darray, or reports MPI_ERR_TYPE, if the old type has no data.
constexpr bool kDarrayOfNothingCrashes = kIsOpenMpi;

// Open MPI 4.1 takes a vector's stride of -1 byte for "contiguous": it packs vector {2,1,-1}(BYTE) from 0, 1 instead of
// 0, -1.
constexpr bool kStrideOfMinusOneByteIsIgnored = kIsOpenMpi;

// MPICH 4.0 divides by zero in MPI_Pack of struct {3}{294}(vector {5,0,5}(resized {0,46}(SHORT))).
// The same with other types that are empty because all their blocks are, as indexed_block 0{0,8}(hvector {5,1,2}(INT)).
constexpr bool kEmptyBlocksCrash = kIsMpich;

// MPICH 4.0 gives struct {1,1}{-3,0}(contiguous 0 (INT), INT) a true lower bound of -3, though all its data are at 0
// to 3.
constexpr bool kEmptyPartsCountInTrueBounds = kIsMpich;

// Makes random datatypes with every constructor; the large-count ones too where the library has them.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : engine_(seed) {}

  Made make(int depth) {
    if (depth == 0) return leaf();
    if (chance(14)) return structure(depth);
    Made element = make(depth - 1);
    Made made = wrap(element);
    made.derived = true;
    made.text += "(" + element.text + ")";
    release(element);
    return made;
  }

  std::int64_t in(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool chance(int percent) { return in(0, 99) < percent; }

 private:
  static constexpr std::int64_t kMostBytes = 1500;

  Made leaf() {
    // MPI_LONG_DOUBLE and its pair have padding that MPI_Pack need not copy.
    static const struct {
      MPI_Datatype type;
      const char* name;
    } leaves[] = {{MPI_BYTE, "BYTE"},
                  {MPI_CHAR, "CHAR"},
                  {MPI_SHORT, "SHORT"},
                  {MPI_INT, "INT"},
                  {MPI_DOUBLE, "DOUBLE"},
                  {MPI_SHORT_INT, "SHORT_INT"},
                  {MPI_DOUBLE_INT, "DOUBLE_INT"},
                  {MPI_LONG_INT, "LONG_INT"},
                  {MPI_FLOAT_INT, "FLOAT_INT"},
                  {MPI_2INT, "2INT"}};
    const auto& leaf = leaves[in(0, std::size(leaves) - 1)];
    return {leaf.type, false, leaf.name};
  }

  int count_for(const Made& element, int most) {
    const std::int64_t room = kMostBytes / std::max<std::int64_t>(1, element.size());
    return static_cast<int>(in(chance(85) ? std::min<std::int64_t>(1, room) : 0, std::min<std::int64_t>(most, room)));
  }

  // Counts and displacements of blocks; displacements in units of `unit` bytes.
  void make_blocks(const Made& element, std::int64_t unit, std::vector<int>& counts, std::vector<MPI_Aint>& at) {
    std::int64_t room = kMostBytes / std::max<std::int64_t>(1, element.size());
    std::int64_t next = in(-3, 3);
    for (std::int64_t n = in(0, 5); n > 0; --n) {
      const int count =
          static_cast<int>(in(chance(80) ? std::min<std::int64_t>(1, room) : 0, std::min<std::int64_t>(3, room)));
      room -= count;
      counts.push_back(count);
      at.push_back(static_cast<MPI_Aint>(next));
      const std::int64_t length = unit == 1 ? count * element.extent() : count;
      next = chance(20) ? in(-20, 20) : next + length + (chance(50) ? 0 : in(0, 9));
    }
    if (kEmptyBlocksCrash && element.derived && !counts.empty()) counts[0] = std::max(counts[0], 1);
  }

  Made wrap(const Made& element) {
    switch (in(0, 11)) {
      case 0:
        return dup(element);
      case 1:
        return contiguous(element);
      case 2:
        return vector(element);
      case 3:
        return hvector(element);
      case 4:
        return indexed(element);
      case 5:
        return hindexed(element);
      case 6:
        return indexed_block(element);
      case 7:
        return hindexed_block(element);
      case 8:
      case 9:
        return subarray(element);
      case 10:
        return darray(element);
      default:
        return resized(element);
    }
  }

  // Whether to use a large-count function; notes it in `made`.
  bool large(Made& made) {
#ifdef PLENUM_HAVE_TYPE_ENVELOPE_C
    if (chance(40)) {
      made.text += "_c";
      return true;
    }
#endif
    (void)made;
    return false;
  }

// Calls FUNCTION(arguments) or, on demand, FUNCTION_c with the same arguments.
#ifdef PLENUM_HAVE_TYPE_ENVELOPE_C
#define MAKE(made, function, large_arguments, arguments) \
  if (large(made)) {                                     \
    function##_c large_arguments;                        \
  } else {                                               \
    function arguments;                                  \
  }
#else
#define MAKE(made, function, large_arguments, arguments) \
  (void)large(made);                                     \
  function arguments;
#endif

  template <class List>
  static std::vector<MPI_Count> wide(const List& list) {
    return {list.begin(), list.end()};
  }

  Made dup(const Made& element) {
    Made made{MPI_DATATYPE_NULL, true, "dup"};
    MPI_Type_dup(element.type, &made.type);
    return made;
  }

  Made contiguous(const Made& element) {
    const int count = count_for(element, 5);
    Made made{MPI_DATATYPE_NULL, true, "contiguous " + std::to_string(count)};
    MAKE(made, MPI_Type_contiguous, (count, element.type, &made.type), (count, element.type, &made.type))
    return made;
  }

  // Counts of a vector: blocks, elements in each.
  std::pair<int, int> vector_counts(const Made& element) {
    int block = count_for(element, 3);
    if (kEmptyBlocksCrash && element.derived) block = std::max(block, 1);
    const std::int64_t most = kMostBytes / std::max<std::int64_t>(1, block * element.size());
    return {std::min(count_for(element, 5), static_cast<int>(most)), block};
  }

  Made vector(const Made& element) {
    const auto [count, block] = vector_counts(element);
    int stride = static_cast<int>(in(-4, 6));
    if (kStrideOfMinusOneByteIsIgnored && stride * element.extent() == -1) stride = 0;
    Made made{MPI_DATATYPE_NULL, true, "vector " + text_of_list(std::vector{count, block, stride})};
    MAKE(made, MPI_Type_vector, (count, block, stride, element.type, &made.type),
         (count, block, stride, element.type, &made.type))
    return made;
  }

  Made hvector(const Made& element) {
    const auto [count, block] = vector_counts(element);
    MPI_Aint stride = static_cast<MPI_Aint>(chance(30) ? block * element.extent() : in(-40, 60));
    if (kStrideOfMinusOneByteIsIgnored && stride == -1) stride = 0;
    Made made{MPI_DATATYPE_NULL, true, "hvector " + text_of_list(std::vector<MPI_Aint>{count, block, stride})};
    MAKE(made, MPI_Type_create_hvector, (count, block, stride, element.type, &made.type),
         (count, block, stride, element.type, &made.type))
    return made;
  }

  Made indexed(const Made& element) {
    std::vector<int> counts;
    std::vector<MPI_Aint> at;
    make_blocks(element, element.extent(), counts, at);
    const std::vector<int> displacements(at.begin(), at.end());
    Made made{MPI_DATATYPE_NULL, true, "indexed " + text_of_list(counts) + text_of_list(at)};
    const int n = static_cast<int>(counts.size());
    MAKE(made, MPI_Type_indexed, (n, wide(counts).data(), wide(at).data(), element.type, &made.type),
         (n, counts.data(), displacements.data(), element.type, &made.type))
    return made;
  }

  Made hindexed(const Made& element) {
    std::vector<int> counts;
    std::vector<MPI_Aint> at;
    make_blocks(element, 1, counts, at);
    Made made{MPI_DATATYPE_NULL, true, "hindexed " + text_of_list(counts) + text_of_list(at)};
    const int n = static_cast<int>(counts.size());
    MAKE(made, MPI_Type_create_hindexed, (n, wide(counts).data(), wide(at).data(), element.type, &made.type),
         (n, counts.data(), at.data(), element.type, &made.type))
    return made;
  }

  // A length for all blocks, none of which was to be shorter.
  static int common_count(const Made& element, const std::vector<int>& counts) {
    const int least = counts.empty() ? 1 : *std::min_element(counts.begin(), counts.end());
    return kEmptyBlocksCrash && element.derived ? std::max(least, 1) : least;
  }

  Made indexed_block(const Made& element) {
    std::vector<int> counts;
    std::vector<MPI_Aint> at;
    make_blocks(element, element.extent(), counts, at);
    const int block = common_count(element, counts);
    const std::vector<int> displacements(at.begin(), at.end());
    Made made{MPI_DATATYPE_NULL, true, "indexed_block " + std::to_string(block) + text_of_list(at)};
    const int n = static_cast<int>(at.size());
    MAKE(made, MPI_Type_create_indexed_block, (n, block, wide(at).data(), element.type, &made.type),
         (n, block, displacements.data(), element.type, &made.type))
    return made;
  }

  Made hindexed_block(const Made& element) {
    std::vector<int> counts;
    std::vector<MPI_Aint> at;
    make_blocks(element, 1, counts, at);
    const int block = common_count(element, counts);
    Made made{MPI_DATATYPE_NULL, true, "hindexed_block " + std::to_string(block) + text_of_list(at)};
    const int n = static_cast<int>(at.size());
    MAKE(made, MPI_Type_create_hindexed_block, (n, block, wide(at).data(), element.type, &made.type),
         (n, block, at.data(), element.type, &made.type))
    return made;
  }

  Made structure(int depth) {
    std::vector<Made> members;
    std::vector<MPI_Datatype> types;
    std::vector<int> counts;
    std::vector<MPI_Aint> at;
    std::int64_t room = kMostBytes;
    MPI_Aint next = static_cast<MPI_Aint>(in(-9, 9));
    Made made{MPI_DATATYPE_NULL, true, ""};
    for (std::int64_t n = in(1, 4); n > 0; --n) {
      members.push_back(make(static_cast<int>(in(0, depth - 1))));
      const Made& member = members.back();
      const std::int64_t most = std::clamp<std::int64_t>(room / std::max<std::int64_t>(1, member.size()), 0, 3);
      counts.push_back(static_cast<int>(in(0, most)));
      room -= counts.back() * member.size();
      types.push_back(member.type);
      at.push_back(next);
      next = static_cast<MPI_Aint>(chance(25) ? in(-30, 30)
                                              : next + counts.back() * member.extent() + (chance(50) ? 0 : in(0, 5)));
      made.text += (made.text.empty() ? "" : "; ") + member.text;
      if (chance(20) && n > 1) {  // the same type once more
        types.push_back(types.back());
        counts.push_back(counts.back());
        room -= counts.back() * member.size();
        at.push_back(next);
      }
    }
    made.text = "struct " + text_of_list(counts) + text_of_list(at) + "(" + made.text + ")";
    const int n = static_cast<int>(types.size());
    MAKE(made, MPI_Type_create_struct, (n, wide(counts).data(), wide(at).data(), types.data(), &made.type),
         (n, counts.data(), at.data(), types.data(), &made.type))
    for (Made& member : members) release(member);
    return made;
  }

  Made subarray(const Made& element) {
    const int n = static_cast<int>(in(1, 3));
    std::vector<int> sizes, subsizes, starts;
    std::int64_t room = kMostBytes / std::max<std::int64_t>(1, element.size());
    for (int d = 0; d < n; ++d) {
      sizes.push_back(static_cast<int>(in(1, 5)));
      subsizes.push_back(static_cast<int>(in(1, std::clamp<std::int64_t>(room, 1, sizes.back()))));
      starts.push_back(static_cast<int>(in(0, sizes.back() - subsizes.back())));
      room /= subsizes.back();
    }
    const int order = chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    Made made{MPI_DATATYPE_NULL, true, order == MPI_ORDER_C ? "subarray C " : "subarray F "};
    made.text += text_of_list(sizes) + text_of_list(subsizes) + text_of_list(starts);
    MAKE(made, MPI_Type_create_subarray,
         (n, wide(sizes).data(), wide(subsizes).data(), wide(starts).data(), order, element.type, &made.type),
         (n, sizes.data(), subsizes.data(), starts.data(), order, element.type, &made.type))
    return made;
  }

  Made darray(const Made& element) {
    if (element.size() == 0 && kDarrayOfNothingCrashes) return dup(element);
    const int n = static_cast<int>(in(1, 3));
    std::vector<int> sizes, kinds, chunks, grid;
    int procs = 1;
    for (int d = 0; d < n; ++d) {
      const std::int64_t kind = in(0, 2);
      sizes.push_back(static_cast<int>(in(1, 6)));
      kinds.push_back(kind == 0 ? MPI_DISTRIBUTE_NONE : kind == 1 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC);
      grid.push_back(kind == 0 ? 1 : static_cast<int>(in(1, 3)));
      chunks.push_back(MPI_DISTRIBUTE_DFLT_DARG);
      const int least = kind == 1 ? (sizes.back() + grid.back() - 1) / grid.back() : 1;
      if (kind != 0 && chance(50)) chunks.back() = static_cast<int>(in(least, least + 2));
      procs *= grid.back();
    }
    const int rank = static_cast<int>(in(0, procs - 1));
    const int order = chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    Made made{MPI_DATATYPE_NULL, true, order == MPI_ORDER_C ? "darray C " : "darray F "};
    made.text += std::to_string(rank) + "/" + std::to_string(procs) + text_of_list(sizes) + text_of_list(kinds) +
                 text_of_list(chunks) + text_of_list(grid);
    MAKE(
        made, MPI_Type_create_darray,
        (procs, rank, n, wide(sizes).data(), kinds.data(), chunks.data(), grid.data(), order, element.type, &made.type),
        (procs, rank, n, sizes.data(), kinds.data(), chunks.data(), grid.data(), order, element.type, &made.type))
    return made;
  }

  Made resized(const Made& element) {
    const MPI_Aint lower = static_cast<MPI_Aint>(chance(50) ? 0 : in(-20, 20));
    const MPI_Aint extent = static_cast<MPI_Aint>(in(0, 60));
    Made made{MPI_DATATYPE_NULL, true, "resized " + text_of_list(std::vector{lower, extent})};
    MAKE(made, MPI_Type_create_resized, (element.type, lower, extent, &made.type),
         (element.type, lower, extent, &made.type))
    return made;
  }

#undef MAKE

  std::mt19937_64 engine_;
};

Offsets offsets_of(const Layout& layout) {
  Offsets offsets;
  for (Cursor at(layout); !at.done();) {
    const Run run = at.next_run();
    for (std::int64_t i = 0; i < run.size; ++i) offsets.push_back(run.offset + i);
  }
  return offsets;
}

// The offsets of one element's bytes, in type map order, as MPI_Pack sees them.
Offsets packed_offsets(MPI_Datatype type, ByteRange bounds, std::int64_t size) {
  Offsets offsets(static_cast<std::size_t>(size));
  std::vector<unsigned char> buffer(static_cast<std::size_t>(bounds.size()) + 1);
  int room = 0;
  MPI_Pack_size(1, type, MPI_COMM_SELF, &room);
  std::vector<unsigned char> packed(static_cast<std::size_t>(std::max<std::int64_t>(room, size)) + 1);
  for (const int shift : {0, 8}) {
    for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = static_cast<unsigned char>(i >> shift);
    int position = 0;
    const auto origin = reinterpret_cast<std::uintptr_t>(buffer.data()) - static_cast<std::uintptr_t>(bounds.begin);
    MPI_Pack(reinterpret_cast<void*>(origin), 1, type, packed.data(), static_cast<int>(packed.size()), &position,
             MPI_COMM_SELF);
    EXPECT_EQ(position, size);
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] += std::int64_t{packed[i]} << shift;
  }
  for (std::int64_t& offset : offsets) offset += bounds.begin;
  return offsets;
}

void compare_with_the_library(MPI_Datatype type) {
  const Result<Layout> decoded = decode(type);
  ASSERT_TRUE(decoded.ok()) << decoded.error().detail;
  const Layout& layout = decoded.value();
  MPI_Count size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  MPI_Type_size_x(type, &size);
  MPI_Type_get_extent_x(type, &lower, &extent);
  MPI_Type_get_true_extent_x(type, &true_lower, &true_extent);
  ASSERT_EQ(layout.size(), size);
  ASSERT_EQ(type_size(type), size);
  ASSERT_EQ(layout.lower_bound(), lower);
  ASSERT_EQ(layout.extent(), extent);
  if (size > 0) {  // without data they mean nothing
    const ByteRange true_bounds = {true_lower, true_lower + true_extent};
    ASSERT_TRUE(true_bounds.contains(layout.bounds()));
    ASSERT_TRUE(true_bounds == layout.bounds() || kEmptyPartsCountInTrueBounds);
  }
  ASSERT_EQ(offsets_of(layout), packed_offsets(type, layout.bounds(), size));
}

TEST(Datatype, random_types_agree_with_mpi_pack) {
  int tested = 0;
  for (std::uint64_t seed = 0; tested < 8000; ++seed) {
    Generator generator(seed);
    Made made = generator.make(static_cast<int>(1 + seed % 4));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + made.text);
    MPI_Type_commit(&made.type);
    MPI_Count true_lower = 0, true_extent = 0;
    MPI_Type_get_true_extent_x(made.type, &true_lower, &true_extent);
    if (true_extent < 65536) {
      compare_with_the_library(made.type);
      ++tested;
    }
    release(made);
    if (HasFatalFailure()) return;
  }
}

// ---- one by one

// Owns what a test makes.
MpiTypeHandle committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return MpiTypeHandle(type);
}

TEST(Datatype, predefined_types_have_their_size_and_extent) {
  const MPI_Datatype types[] = {MPI_BYTE,
                                MPI_PACKED,
                                MPI_CHAR,
                                MPI_WCHAR,
                                MPI_INT,
                                MPI_LONG_DOUBLE,
                                MPI_C_BOOL,
                                MPI_COUNT,
                                MPI_OFFSET,
                                MPI_C_DOUBLE_COMPLEX,
                                MPI_CXX_BOOL,
                                MPI_LONG_DOUBLE_INT,
                                MPI_DOUBLE_INT,
                                MPI_2INT,
                                MPI_INTEGER,
                                MPI_DOUBLE_PRECISION,
                                MPI_DOUBLE_COMPLEX,
                                MPI_2REAL,
                                MPI_2INTEGER,
                                MPI_2DOUBLE_PRECISION,
                                MPI_CHARACTER,
                                MPI_LOGICAL,
                                MPI_INTEGER8,
                                MPI_REAL4};
  for (const MPI_Datatype type : types) {
    if (type == MPI_DATATYPE_NULL) continue;
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    MPI_Type_get_name(type, name, &length);
    SCOPED_TRACE(name);
    const Result<Layout> decoded = decode(type);
    ASSERT_TRUE(decoded.ok());
    MPI_Count size = 0, lower = 0, extent = 0;
    MPI_Type_size_x(type, &size);
    MPI_Type_get_extent_x(type, &lower, &extent);
    EXPECT_EQ(decoded.value().size(), size);
    EXPECT_EQ(type_size(type), size);
    EXPECT_EQ(decoded.value().extent(), extent);
    EXPECT_EQ(decoded.value().is_dense(), size == extent);
  }
}

TEST(Datatype, pairs_keep_the_gaps_of_their_struct) {
  struct ShortInt {
    short value;
    int index;
  };
  EXPECT_EQ(offsets_of(decode(MPI_SHORT_INT).value()), (Offsets{0, 1, 4, 5, 6, 7}));
  EXPECT_EQ(decode(MPI_SHORT_INT).value().extent(), std::int64_t{sizeof(ShortInt)});
  const Layout pair = decode(MPI_LONG_DOUBLE_INT).value();
  struct LongDoubleInt {
    long double value;
    int index;
  };
  EXPECT_EQ(pair.extent(), std::int64_t{sizeof(LongDoubleInt)});
  EXPECT_EQ(pair.bounds().end, std::int64_t{offsetof(LongDoubleInt, index) + sizeof(int)});
}

TEST(Datatype, fortran_kinds_are_decoded_again_and_again) {
  MPI_Datatype real = MPI_DATATYPE_NULL, complex = MPI_DATATYPE_NULL, integer = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real);
  MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &complex);
  MPI_Type_create_f90_integer(9, &integer);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(decode(real).value().size(), 8);
    EXPECT_EQ(decode(complex).value().size(), 8);
    EXPECT_EQ(decode(integer).value().size(), 4);
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, real, &pair);
    const MpiTypeHandle owner = committed(pair);
    EXPECT_EQ(offsets_of(decode(pair).value()).back(), 23);
  }
}

TEST(Datatype, null_and_uncommitted_types_are_errors) {
  ASSERT_FALSE(decode(MPI_DATATYPE_NULL).ok());
  EXPECT_EQ(decode(MPI_DATATYPE_NULL).error().code, Code::Type);
  EXPECT_EQ(type_size(MPI_DATATYPE_NULL), -1);
  MpiTypeHandle type;
  MPI_Type_vector(3, 1, 2, MPI_INT, type.out());
  ASSERT_FALSE(decode(type.get()).ok());
  EXPECT_EQ(decode(type.get()).error().code, Code::Type);
  EXPECT_EQ(type_size(type.get()), 12);
  MPI_Type_commit(type.out());
  EXPECT_TRUE(decode(type.get()).ok());
}

TEST(Datatype, what_exceeds_the_reach_is_too_large) {
  // Not what is merely larger than an int.
  MPI_Datatype gib = MPI_DATATYPE_NULL, many = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &gib);
  const MpiTypeHandle gib_owner = committed(gib);
  EXPECT_EQ(decode(gib).value().size(), std::int64_t{1} << 33);
  MPI_Type_vector(1 << 20, 1, 2, gib, &many);
  const MpiTypeHandle many_owner = committed(many);
  EXPECT_EQ(decode(many).value().size(), std::int64_t{1} << 53);
  EXPECT_EQ(type_size(many), std::int64_t{1} << 53);

  MPI_Datatype far = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(2, 1, MPI_Aint{1} << 61, MPI_DOUBLE, &far);
  const MpiTypeHandle far_owner = committed(far);
  ASSERT_FALSE(decode(far).ok());
  EXPECT_EQ(decode(far).error().code, Code::TooLarge);

  MPI_Datatype wide = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, MPI_Aint{1} << 62, MPI_Aint{1} << 62, &wide);
  const MpiTypeHandle wide_owner = committed(wide);
  ASSERT_FALSE(decode(wide).ok());
  EXPECT_EQ(decode(wide).error().code, Code::TooLarge);
}

TEST(Datatype, nesting_has_a_limit) {
  const auto nest = [](int levels) {
    MPI_Datatype type = MPI_INT;
    for (int i = 0; i < levels; ++i) {
      MPI_Datatype next = MPI_DATATYPE_NULL;
      MPI_Type_dup(type, &next);
      if (i > 0) MPI_Type_free(&type);
      type = next;
    }
    return MpiTypeHandle(type);
  };
  const MpiTypeHandle fine = nest(900);
  EXPECT_TRUE(decode(fine.get()).ok());
  const MpiTypeHandle deep = nest(1100);
  ASSERT_FALSE(decode(deep.get()).ok());
  EXPECT_EQ(decode(deep.get()).error().code, Code::TooLarge);
}

TEST(Datatype, a_duplicate_and_a_reused_handle_are_decoded_anew) {
  // A layout must never outlive its type: libraries reuse handles at once.
  for (int i = 1; i < 50; ++i) {
    MPI_Datatype type = MPI_DATATYPE_NULL, duplicate = MPI_DATATYPE_NULL;
    MPI_Type_vector(i, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    ASSERT_EQ(decode(type).value().size(), 4 * i);
    ASSERT_EQ(decode(type).value().size(), 4 * i);
    MPI_Type_dup(type, &duplicate);
    MPI_Type_free(&type);
    ASSERT_EQ(decode(duplicate).value().size(), 4 * i);
    MPI_Type_free(&duplicate);
  }
}

TEST(Datatype, a_decoded_struct_of_equal_members_is_a_list) {
  std::vector<int> counts;
  std::vector<MPI_Aint> at;
  for (int i = 0; i < 20000; ++i) {
    counts.push_back(1);
    at.push_back(MPI_Aint{i} * 100 + i % 7);
  }
  const std::vector<MPI_Datatype> types(counts.size(), MPI_DOUBLE_INT);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(static_cast<int>(counts.size()), counts.data(), at.data(), types.data(), &type);
  const MpiTypeHandle owner = committed(type);
  EXPECT_LT(decode(type).value().memory(), 8u * 20000 + 1024);
}

// Absolute addresses, with MPI_BOTTOM as the buffer.
TEST(Datatype, addresses_are_offsets) {
  double a = 1;
  int b = 2;
  const int counts[] = {1, 1};
  MPI_Aint at[2] = {};
  MPI_Get_address(&a, &at[0]);
  MPI_Get_address(&b, &at[1]);
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, counts, at, types, &type);
  const MpiTypeHandle owner = committed(type);
  const Layout layout = decode(type).value();
  ASSERT_EQ(layout.size(), 12);
  std::byte packed[12] = {};
  pack({layout, 0, 0, 12}, nullptr, packed);
  EXPECT_EQ(std::memcmp(packed, &a, 8), 0);
  EXPECT_EQ(std::memcmp(packed + 8, &b, 4), 0);
}

double nanoseconds_of_decoding(MPI_Datatype type) {
  constexpr int kCalls = 100000;
  double best = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    std::int64_t sum = 0;
    for (int i = 0; i < kCalls; ++i) sum += decode(type).value().size();
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    if (sum != 0) best = std::min(best, elapsed.count() / kCalls);
  }
  return best;
}

// Measured 20 to 40 ns; the bounds leave room for slow machines and sanitizers, but not for decoding anew.
TEST(Datatype, decoding_again_costs_next_to_nothing) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int sizes[] = {100, 100, 100}, subsizes[] = {50, 50, 50}, starts[] = {1, 2, 3};
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  const MpiTypeHandle owner = committed(type);
  const double predefined = nanoseconds_of_decoding(MPI_BYTE);
  const double derived = nanoseconds_of_decoding(type);
  RecordProperty("predefined_ns", std::to_string(predefined));
  RecordProperty("derived_ns", std::to_string(derived));
  EXPECT_LT(predefined, 1000);
  EXPECT_LT(derived, 2000);
}

}  // namespace
}  // namespace plenum
