// SPDX-License-Identifier: BSD-3-Clause
//
// Which device a file name means.
#include "device/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace plenum {
namespace {

struct Meaning {
  const char* name;
  const char* hint;
  const char* device;
  const char* path;
};

void expect(const Meaning& meaning) {
  Hints hints;
  hints.device = meaning.hint;
  const auto target = resolve(meaning.name, hints);
  ASSERT_TRUE(target.ok()) << meaning.name << ": " << target.error().detail;
  EXPECT_EQ(target.value().device->name(), meaning.device) << meaning.name;
  EXPECT_EQ(target.value().path, meaning.path) << meaning.name;
}

TEST(Resolve, a_name_without_prefix_is_a_posix_path) {
  for (const char* path : {"/a/b", "a", "./ab:c", "/ab:c", "a:b", "AB:c", "Posix:x", " posix:x", "a-b:c", "a.b:c"}) {
    expect({path, "", "posix", path});
  }
}

TEST(Resolve, a_prefix_is_matched_exactly_and_taken_off) {
  expect({"posix:/a", "", "posix", "/a"});
  expect({"posix:a:b", "", "posix", "a:b"});
  expect({"posix:null:b", "", "posix", "null:b"});
  expect({"null:x", "", "null", "x"});
}

TEST(Resolve, prefixes_of_romio_mean_posix) {
  for (const std::string prefix :
       {"ufs", "nfs", "xfs", "pfs", "piofs", "sfs", "pvfs", "pvfs2", "panfs", "lustre", "gpfs"}) {
    const std::string name = prefix + ":/a";
    expect({name.c_str(), "", "posix", "/a"});
  }
}

TEST(Resolve, an_unknown_prefix_is_a_bad_name_that_says_what_there_is) {
  for (const char* name : {"posi:/a", "posixx:/a", "nul:/a", "ufss:a", "faulty:nosuch:/a", "s3_x:/a", "ab:c"}) {
    const auto target = resolve(name, Hints{});
    ASSERT_FALSE(target.ok()) << name;
    EXPECT_EQ(target.error().code, Code::BadName) << name;
    EXPECT_NE(target.error().detail.find(name), std::string::npos) << target.error().detail;
    EXPECT_NE(target.error().detail.find("posix"), std::string::npos) << target.error().detail;
  }
}

TEST(Resolve, an_empty_name_or_one_with_a_zero_byte_is_a_bad_name) {
  for (const std::string& name :
       {std::string(), std::string("posix:"), std::string("faulty:posix:"), std::string("a\0b", 3)}) {
    const auto target = resolve(name, Hints{});
    ASSERT_FALSE(target.ok()) << name;
    EXPECT_EQ(target.error().code, Code::BadName);
  }
}

TEST(Resolve, a_device_over_another_one_takes_its_prefix_too) {
  expect({"faulty:posix:/a", "", "faulty", "/a"});
  expect({"faulty:/a", "", "faulty", "/a"});
  expect({"faulty:ufs:/a", "", "faulty", "/a"});
  expect({"faulty:faulty:null:x", "", "faulty", "x"});
  expect({"faulty:posix:b:c", "", "faulty", "b:c"});
}

TEST(Resolve, what_is_below_a_device_is_what_the_name_says) {
  const auto target = resolve("faulty:null:/no/such/directory/x", Hints{});
  ASSERT_TRUE(target.ok());
  const auto file = target.value().device->open(target.value().path, OpenMode{}, Hints{});
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file.value()->traits().file_system, "null");
}

TEST(Resolve, the_hint_speaks_for_names_without_prefix) {
  expect({"x", "null", "null", "x"});
  expect({"x", "null:", "null", "x"});
  expect({"a:b", "null", "null", "a:b"});
  expect({"x", "faulty:null", "faulty", "x"});
  expect({"x", "faulty", "faulty", "x"});
  expect({"x", "lustre", "posix", "x"});
  expect({"posix:x", "null", "posix", "x"});
}

TEST(Resolve, a_hint_that_names_no_device_is_a_malformed_value) {
  for (const char* hint : {"nosuch", "faulty:nosuch", "posix:null", "POSIX"}) {
    Hints hints;
    hints.device = hint;
    const auto target = resolve("x", hints);
    ASSERT_FALSE(target.ok()) << hint;
    EXPECT_EQ(target.error().code, Code::InfoValue) << hint;
    EXPECT_NE(target.error().detail.find(hint), std::string::npos) << target.error().detail;
    EXPECT_TRUE(resolve("posix:x", hints).ok()) << hint;
  }
}

TEST(Resolve, every_registered_device_can_be_named) {
  const auto names = device_names();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), "posix");
  for (const auto name : names) {
    const auto target = resolve(std::string(name) + ":/x", Hints{});
    ASSERT_TRUE(target.ok()) << name;
    EXPECT_EQ(target.value().device->name(), name);
  }
}

TEST(DeviceDefaults, a_device_without_locks_says_so) {
  const auto target = resolve("null:x", Hints{});
  ASSERT_TRUE(target.ok());
  const auto file = target.value().device->open("x", OpenMode{}, Hints{});
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file.value()->traits().byte_range_locks);
  const auto lock = file.value()->lock({0, 1}, Sharing::exclusive);
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.error().code, Code::Unsupported);
}

}  // namespace
}  // namespace plenum
