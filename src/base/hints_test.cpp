// SPDX-License-Identifier: BSD-3-Clause
#include "base/hints.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace plenum {
namespace {

std::string value_of(const Hints& hints, std::string_view key) {
  for (const HintRow& row : hint_rows()) {
    if (row.key == key) return row.get(hints);
  }
  ADD_FAILURE() << "no row " << key;
  return {};
}

// Every value of every row, to see that nothing has changed.
std::string all_values(const Hints& hints) {
  std::string values;
  for (const HintRow& row : hint_rows()) values += std::string(row.key) + "=" + row.get(hints) + "\n";
  return values;
}

void expect_malformed(std::string_view key, std::initializer_list<std::string_view> values) {
  for (const std::string_view value : values) {
    Hints hints;
    EXPECT_EQ(set_hint(hints, key, value), HintOutcome::malformed) << key << "=" << value;
    EXPECT_EQ(all_values(hints), all_values(Hints{})) << key << "=" << value;
  }
}

void expect_set(std::string_view key, std::initializer_list<std::string_view> values) {
  for (const std::string_view value : values) {
    Hints hints;
    EXPECT_EQ(set_hint(hints, key, value), HintOutcome::set) << key << "=" << value;
  }
}

// Sets environment variables for one test, and a file of hints.
class HintsEnvironment : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"PLENUM_HINTS", "PLENUM_HINTS_FILE", "ROMIO_HINTS", "PLENUM_DEVICE", "PLENUM_STRATEGY",
                             "PLENUM_REPORT", "PLENUM_FAULT"}) {
      unsetenv(name);
    }
    // Keeps a hints file of the machine that runs the tests out of them.
    set("ROMIO_HINTS", "/nonexistent/hints");
  }
  void TearDown() override {
    for (const auto& name : names_) unsetenv(name.c_str());
    if (!path_.empty()) std::filesystem::remove(path_);
  }

  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.insert(name);
  }
  std::string file(const std::string& text) {
    path_ = testing::TempDir() + "plenum_hints_" + std::to_string(getpid());
    std::ofstream(path_) << text;
    return path_;
  }

 private:
  std::set<std::string> names_;
  std::string path_;
};

TEST(Hints, every_row_has_its_own_key_and_a_help_text) {
  std::set<std::string_view> keys;
  for (const HintRow& row : hint_rows()) {
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
    EXPECT_GT(row.help.size(), 20u) << row.key;
    EXPECT_TRUE(row.help.ends_with('.')) << row.key;
    EXPECT_TRUE(row.source == "MPI-5.0" || row.source == "ROMIO" || row.source == "Plenum") << row.key;
  }
}

TEST(Hints, the_reserved_hints_of_the_standard_are_known) {
  for (const std::string_view key :
       {"access_style", "collective_buffering", "cb_block_size", "cb_buffer_size", "cb_nodes", "chunked",
        "chunked_item", "chunked_size", "filename", "file_perm", "io_node_list", "nb_proc", "num_io_nodes",
        "striping_factor", "striping_unit", "mpi_assert_memory_alloc_kinds", "mpi_memory_alloc_kinds"}) {
    Hints hints;
    EXPECT_NE(set_hint(hints, key, "1"), HintOutcome::unknown) << key;
  }
}

TEST(Hints, every_value_that_is_reported_can_be_given_back) {
  const Hints defaults;
  for (const HintRow& row : hint_rows()) {
    const std::string value = row.get(defaults);
    if (value.empty()) continue;
    Hints hints;
    EXPECT_EQ(set_hint(hints, row.key, value), HintOutcome::set) << row.key << "=" << value;
    EXPECT_EQ(row.get(hints), value) << row.key;
  }
}

TEST(Hints, defaults_are_those_programs_know_from_romio) {
  const Hints hints;
  EXPECT_EQ(value_of(hints, "cb_buffer_size"), "16777216");
  EXPECT_EQ(value_of(hints, "ind_rd_buffer_size"), "4194304");
  EXPECT_EQ(value_of(hints, "ind_wr_buffer_size"), "524288");
  EXPECT_EQ(value_of(hints, "romio_cb_read"), "automatic");
  EXPECT_EQ(value_of(hints, "romio_no_indep_rw"), "false");
  EXPECT_EQ(value_of(hints, "romio_cb_pfr"), "");
}

TEST(Hints, unknown_keys_are_told_apart_and_change_nothing) {
  Hints hints;
  EXPECT_EQ(set_hint(hints, "no_such_hint", "1"), HintOutcome::unknown);
  EXPECT_EQ(set_hint(hints, "CB_NODES", "1"), HintOutcome::unknown);
  EXPECT_EQ(set_hint(hints, "", "1"), HintOutcome::unknown);
  EXPECT_EQ(all_values(hints), all_values(Hints{}));
}

TEST(Hints, malformed_values_change_nothing) {
  expect_malformed("cb_buffer_size", {"", "x", "0", "-1", "16M", "1 2", "1.5", "99999999999999999999"});
  expect_malformed("cb_nodes", {"", "all", "1x"});
  expect_malformed("romio_cb_write", {"", "maybe", "1", "enableX"});
  expect_malformed("collective_buffering", {"", "automatic", "yes"});
  expect_malformed("romio_no_indep_rw", {"automatic", ""});
  expect_malformed("file_perm", {"", "9", "rw", "17777", "-1", "0x1ff"});
  expect_malformed("access_style", {"", "often", "random,", "read_once,,random"});
  expect_malformed("chunked", {"", "1,x", "0", "1,"});
  expect_malformed("romio_cb_alltoall", {"perhaps"});
  expect_malformed("plenum_device", {"", ":", "posix::null", "Posix", "/tmp"});
  expect_malformed("plenum_strategy", {"", "two phase"});
  expect_malformed("striping_factor", {"-2", "x"});
}

TEST(Hints, well_formed_values_are_taken) {
  expect_set("romio_cb_read", {"enable", "ENABLE", "requested", "true", " disable ", "automatic"});
  expect_set("access_style", {"random", "read_once, sequential"});
  expect_set("chunked", {"10,20,30"});
  expect_set("striping_factor", {"-1", "0", "8"});
  expect_set("plenum_device", {"posix", "faulty:posix", "faulty:posix:"});
  expect_set("romio_cb_fr_types", {"aar", "0", "-2", "1048576"});
}

TEST(Hints, the_host_list_has_the_syntax_of_romio) {
  expect_set("cb_config_list", {"*:*", "*", "*:1", "node1:2,node2", "a.b-c_d:0, *:4"});
  expect_malformed("cb_config_list", {"", ",", "a,,b", ":3", "a:", "a:x", "a:-1", "a b", "a:1:2", "*:1,"});
}

TEST(Hints, integers_go_through_unchanged) {
  Hints hints;
  EXPECT_EQ(set_hint(hints, "cb_buffer_size", " 6442450944 "), HintOutcome::set);
  EXPECT_EQ(hints.cb_buffer_size, 6442450944);
  EXPECT_EQ(value_of(hints, "cb_buffer_size"), "6442450944");
  EXPECT_EQ(set_hint(hints, "cb_nodes", "-1"), HintOutcome::set);
  EXPECT_EQ(hints.cb_nodes, 0);
  EXPECT_EQ(set_hint(hints, "file_perm", "0640"), HintOutcome::set);
  EXPECT_EQ(hints.file_permissions, 0640);
  EXPECT_EQ(value_of(hints, "file_perm"), "640");
}

TEST(Hints, the_standards_switch_and_romios_act_on_the_same_thing) {
  Hints hints;
  set_hint(hints, "collective_buffering", "true");
  EXPECT_EQ(hints.cb_read, Toggle::enable);
  EXPECT_EQ(hints.cb_write, Toggle::enable);
  EXPECT_EQ(value_of(hints, "collective_buffering"), "true");
  set_hint(hints, "romio_cb_write", "disable");
  EXPECT_EQ(hints.cb_read, Toggle::enable);
  EXPECT_EQ(hints.cb_write, Toggle::disable);
  EXPECT_EQ(value_of(hints, "collective_buffering"), "");
  set_hint(hints, "collective_buffering", "false");
  EXPECT_EQ(value_of(hints, "romio_cb_read"), "disable");
}

TEST(Hints, the_promise_of_collective_access_and_collective_buffering_go_together) {
  Hints hints;
  set_hint(hints, "romio_no_indep_rw", "true");
  EXPECT_TRUE(hints.no_independent_access);
  EXPECT_EQ(hints.cb_read, Toggle::enable);
  EXPECT_EQ(hints.cb_write, Toggle::enable);
  set_hint(hints, "romio_cb_read", "disable");
  EXPECT_FALSE(hints.no_independent_access);
}

TEST(Hints, hints_without_effect_are_kept_and_reported) {
  Hints hints;
  EXPECT_EQ(set_hint(hints, "access_style", "random"), HintOutcome::set);
  EXPECT_EQ(value_of(hints, "access_style"), "random");
  EXPECT_EQ(set_hint(hints, "romio_lustre_co_ratio", "4"), HintOutcome::set);
  EXPECT_EQ(value_of(hints, "romio_lustre_co_ratio"), "4");
  EXPECT_EQ(set_hint(hints, "romio_lustre_co_ratio", "four"), HintOutcome::malformed);
  EXPECT_EQ(value_of(hints, "romio_lustre_co_ratio"), "4");
}

TEST(Hints, what_a_file_states_about_itself_cannot_be_given) {
  Hints hints;
  hints.kept["filename"] = "a.dat";
  EXPECT_EQ(set_hint(hints, "filename", "b.dat"), HintOutcome::set);
  EXPECT_EQ(value_of(hints, "filename"), "a.dat");
}

TEST(Hints, shared_values_differ_exactly_where_ranks_must_agree) {
  Hints one;
  Hints other;
  set_hint(other, "direct_read", "true");
  set_hint(other, "plenum_fault", "op=write");
  set_hint(other, "access_style", "random");
  EXPECT_EQ(shared_hint_values(one), shared_hint_values(other));
  set_hint(other, "nb_proc", "2");
  EXPECT_NE(shared_hint_values(one), shared_hint_values(other));
  EXPECT_NE(shared_hint_values(other).find("nb_proc=2\n"), std::string::npos);
  set_hint(one, "nb_proc", "2");
  EXPECT_EQ(shared_hint_values(one), shared_hint_values(other));
}

TEST(Hints, the_error_of_a_malformed_value_teaches_the_syntax) {
  const Error error = malformed_hint("cb_buffer_size", "16M");
  EXPECT_EQ(error.code, Code::InfoValue);
  EXPECT_NE(error.detail.find("cb_buffer_size=16M"), std::string::npos);
  EXPECT_NE(error.detail.find("Bytes"), std::string::npos);
}

TEST_F(HintsEnvironment, nothing_set_gives_the_defaults) {
  const auto hints = hints_from_environment();
  ASSERT_TRUE(hints.ok());
  EXPECT_EQ(all_values(hints.value()), all_values(Hints{}));
}

TEST_F(HintsEnvironment, inline_hints) {
  set("PLENUM_HINTS", "cb_nodes=3; no_such=1 ;;romio_ds_read = disable;plenum_fault=op=write,nth=3;");
  const auto hints = hints_from_environment();
  ASSERT_TRUE(hints.ok()) << hints.error().detail;
  EXPECT_EQ(hints.value().cb_nodes, 3);
  EXPECT_EQ(hints.value().ds_read, Toggle::disable);
  EXPECT_EQ(hints.value().fault, "op=write,nth=3");
}

TEST_F(HintsEnvironment, a_file_of_hints) {
  set("PLENUM_HINTS", file("# comment\n\ncb_nodes 3 # three\n\tcb_buffer_size=4096\nunknown x\nplenum_report /tmp/a#b\n"
                           "plenum_fault op=read"));
  const auto hints = hints_from_environment();
  ASSERT_TRUE(hints.ok()) << hints.error().detail;
  EXPECT_EQ(hints.value().cb_nodes, 3);
  EXPECT_EQ(hints.value().cb_buffer_size, 4096);
  EXPECT_EQ(hints.value().report, "/tmp/a#b");
  EXPECT_EQ(hints.value().fault, "op=read");
}

TEST_F(HintsEnvironment, malformed_lines_are_errors_that_say_where) {
  const std::string path = file("cb_nodes 3\n\ncb_buffer_size none\n");
  set("PLENUM_HINTS", path);
  const auto from_file = hints_from_environment();
  ASSERT_FALSE(from_file.ok());
  EXPECT_EQ(from_file.error().code, Code::InfoValue);
  EXPECT_NE(from_file.error().detail.find(path + ":3: hint cb_buffer_size=none"), std::string::npos)
      << from_file.error().detail;

  for (const char* value : {"cb_nodes=x", "cb_nodes=1;garbage", "=1"}) {
    set("PLENUM_HINTS", value);
    const auto from_text = hints_from_environment();
    ASSERT_FALSE(from_text.ok()) << value;
    EXPECT_EQ(from_text.error().code, Code::InfoValue);
    EXPECT_TRUE(from_text.error().detail.starts_with("PLENUM_HINTS: ")) << from_text.error().detail;
  }
  set("PLENUM_HINTS", file("cb_nodes\n"));
  EXPECT_FALSE(hints_from_environment().ok());
}

TEST_F(HintsEnvironment, a_missing_file_is_an_error_only_where_plenum_was_told_to_read_it) {
  set("ROMIO_HINTS", "/nonexistent/file");
  EXPECT_TRUE(hints_from_environment().ok());
  set("PLENUM_HINTS_FILE", "/nonexistent/file");
  ASSERT_FALSE(hints_from_environment().ok());
  EXPECT_EQ(hints_from_environment().error().code, Code::InfoValue);
  unsetenv("PLENUM_HINTS_FILE");
  set("PLENUM_HINTS", "/nonexistent/file");
  EXPECT_FALSE(hints_from_environment().ok());
}

TEST_F(HintsEnvironment, stronger_sources_override_weaker_ones) {
  set("ROMIO_HINTS", file("cb_nodes 1\ncb_buffer_size 1\nplenum_device null\nplenum_strategy direct\n"));
  set("PLENUM_STRATEGY", "sieve");
  set("PLENUM_DEVICE", "posix");
  set("PLENUM_REPORT", "r.txt");
  set("PLENUM_HINTS", "cb_nodes=2;plenum_device=faulty:posix");
  const auto hints = hints_from_environment();
  ASSERT_TRUE(hints.ok()) << hints.error().detail;
  EXPECT_EQ(hints.value().cb_buffer_size, 1);
  EXPECT_EQ(hints.value().cb_nodes, 2);
  EXPECT_EQ(hints.value().strategy, "sieve");
  EXPECT_EQ(hints.value().device, "faulty:posix");
  EXPECT_EQ(hints.value().report, "r.txt");
}

}  // namespace
}  // namespace plenum
