// SPDX-License-Identifier: BSD-3-Clause
//
// Hints: a member of Hints and a row of the table in hints.cpp each. Parsing, reporting, the check that ranks agree,
// and the page of documentation are loops over the table.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.hpp"
#include "base/result.hpp"

namespace plenum {

enum class Toggle { automatic, enable, disable };

// The values in effect for one open file. Defaults are what a good choice is without knowing the program.
struct Hints {
  // Collective buffering.
  Toggle cb_read = Toggle::automatic;
  Toggle cb_write = Toggle::automatic;
  std::int64_t cb_nodes = 0;               // aggregators; 0: chosen
  std::int64_t cb_buffer_size = 16 << 20;  // [bytes] per aggregator and round
  std::string cb_config_list = "*:*";      // aggregators per host, ROMIO's syntax
  bool no_independent_access = false;      // a promise: collective data access only

  // Independent noncontiguous access.
  Toggle ds_read = Toggle::automatic;
  Toggle ds_write = Toggle::automatic;
  std::int64_t ind_rd_buffer_size = 4 << 20;    // [bytes]
  std::int64_t ind_wr_buffer_size = 512 << 10;  // [bytes]

  // Placement of a new file.
  std::int64_t striping_factor = 0;    // 0: the file system's default
  std::int64_t striping_unit = 0;      // [bytes] 0: the file system's default
  std::int64_t file_permissions = -1;  // file_perm, octal; -1: 0666 less the umask

  // Plenum's own.
  std::string device;    // plenum_device: as a prefix of the file name would say
  std::string strategy;  // plenum_strategy: run this one wherever it can; empty: chosen
  std::string fault;     // plenum_fault: what the device `faulty` does
  std::string report;    // plenum_report: append a line per closed file to this file

  // Values of hints that have no member: those given to Plenum that it does not act on, and those that an open file
  // states about itself (filename, romio_filesystem_type, ...), which the file stores here for get_info.
  std::map<std::string, std::string> kept;
};

enum class Agreement { same_on_all_ranks, per_rank };

// One row of the table. A row that does not act is kept and reported, as the standard asks, but changes nothing.
struct HintRow {
  std::string_view key;
  std::string_view source;  // who defined it: "MPI-5.0", "ROMIO" or "Plenum"
  bool acts;
  Agreement agreement;
  std::string_view help;                                    // values, unit, default, meaning
  std::function<bool(Hints&, std::string_view value)> set;  // false: malformed, and nothing has changed
  std::function<std::string(const Hints&)> get;             // empty: not set, to be left out of a report
};

// Every hint Plenum knows: the reserved ones of MPI-5.0, ROMIO's, and its own.
const std::vector<HintRow>& hint_rows();

enum class HintOutcome { set, unknown, malformed };

// A hint given by the program. Unknown keys and malformed values change nothing.
PLENUM_API HintOutcome set_hint(Hints& hints, std::string_view key, std::string_view value);

// What to tell the user about a malformed value: InfoValue, "hint KEY=VALUE: " and the help of the row.
Error malformed_hint(std::string_view key, std::string_view value);

// Defaults, overridden by each of these in turn:
//   1. the system's hints file: the one PLENUM_HINTS_FILE names, else ROMIO_HINTS, else /etc/plenum-hints. That
//      PLENUM_HINTS_FILE cannot be read is an error; the other two may be missing.
//   2. PLENUM_X for every hint plenum_x: PLENUM_REPORT, PLENUM_DEVICE, PLENUM_STRATEGY, PLENUM_FAULT.
//   3. PLENUM_HINTS: "key=value;key=value", or, without any '=', the name of a file.
// A hints file has one "key value" or "key=value" a line; # begins a comment at the start of a line or after a blank.
// Malformed lines are an error InfoValue that says where; unknown keys are ignored; an empty variable counts as absent.
PLENUM_API Result<Hints> hints_from_environment();

// The values that must be equal on all ranks, in table order, as "key=value\n" lines; those not set are left out.
std::string shared_hint_values(const Hints& hints);

}  // namespace plenum
