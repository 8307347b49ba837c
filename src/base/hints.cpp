// SPDX-License-Identifier: BSD-3-Clause
#include "base/hints.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

namespace plenum {
namespace {

using Validator = std::function<bool(std::string_view)>;

constexpr Agreement kSame = Agreement::same_on_all_ranks;
constexpr Agreement kPerRank = Agreement::per_rank;

// ---- Syntax of values

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

bool one_of(std::string_view value, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return same_word(value, word); });
}

std::optional<std::int64_t> parse_integer(std::string_view value, int base = 10) {
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// ROMIO writes enable and disable where the standard writes true and false. Each is understood everywhere: nobody who
// mixes them up means anything else.
std::optional<Toggle> parse_toggle(std::string_view value) {
  if (one_of(value, {"enable", "enabled", "true", "requested"})) return Toggle::enable;
  if (one_of(value, {"disable", "disabled", "false"})) return Toggle::disable;
  if (one_of(value, {"automatic"})) return Toggle::automatic;
  return std::nullopt;
}

std::optional<bool> parse_boolean(std::string_view value) {
  const auto toggle = parse_toggle(value);
  if (!toggle || *toggle == Toggle::automatic) return std::nullopt;
  return *toggle == Toggle::enable;
}

bool is_text(std::string_view value) { return !value.empty(); }
bool is_toggle(std::string_view value) { return parse_toggle(value).has_value(); }
bool is_boolean(std::string_view value) { return parse_boolean(value).has_value(); }

Validator integer_of_at_least(std::int64_t least) {
  return [least](std::string_view value) {
    const auto number = parse_integer(value);
    return number && *number >= least;
  };
}

// Items separated by commas, blanks around them allowed, none empty.
Validator list_of(Validator item) {
  return [item = std::move(item)](std::string_view value) {
    for (;;) {
      const auto comma = value.find(',');
      const auto text = trim(value.substr(0, comma));
      if (text.empty() || !item(text)) return false;
      if (comma == std::string_view::npos) return true;
      value.remove_prefix(comma + 1);
    }
  };
}

bool is_access_style(std::string_view value) {
  return one_of(
      value, {"read_once", "write_once", "read_mostly", "write_mostly", "sequential", "reverse_sequential", "random"});
}

bool is_realm_type(std::string_view value) { return one_of(value, {"aar"}) || integer_of_at_least(-2)(value); }

// host[:max], where the host is a name or *, and max a number or *.
bool is_host_entry(std::string_view value) {
  const auto colon = value.find(':');
  const auto host = trim(value.substr(0, colon));
  const bool good_host = host == "*" || (!host.empty() && std::all_of(host.begin(), host.end(), [](unsigned char c) {
                           return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
                         }));
  if (!good_host || colon == std::string_view::npos) return good_host;
  const auto most = trim(value.substr(colon + 1));
  return most == "*" || integer_of_at_least(0)(most);
}

bool is_lower_word(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// "name" or "name:name", with or without a last colon.
bool is_device_prefix(std::string_view value) {
  if (value.ends_with(':')) value.remove_suffix(1);
  for (;;) {
    const auto colon = value.find(':');
    if (!is_lower_word(value.substr(0, colon))) return false;
    if (colon == std::string_view::npos) return true;
    value.remove_prefix(colon + 1);
  }
}

// ---- Kinds of rows

// The columns that every kind of row has.
struct Column {
  std::string_view key;
  std::string_view source;
  Agreement agreement;
};

std::string_view name_of(Toggle toggle) {
  switch (toggle) {
    case Toggle::enable:
      return "enable";
    case Toggle::disable:
      return "disable";
    case Toggle::automatic:
      break;
  }
  return "automatic";
}

HintRow toggle(Column column, Toggle Hints::*member, std::string_view help) {
  return {column.key,
          column.source,
          true,
          column.agreement,
          help,
          [member](Hints& hints, std::string_view value) {
            const auto parsed = parse_toggle(value);
            if (parsed) hints.*member = *parsed;
            return parsed.has_value();
          },
          [member](const Hints& hints) { return std::string(name_of(hints.*member)); }};
}

HintRow integer(Column column, std::int64_t Hints::*member, std::int64_t least, std::string_view help) {
  return {column.key,
          column.source,
          true,
          column.agreement,
          help,
          [member, least](Hints& hints, std::string_view value) {
            const auto parsed = parse_integer(value);
            if (!parsed || *parsed < least) return false;
            hints.*member = *parsed;
            return true;
          },
          [member](const Hints& hints) { return std::to_string(hints.*member); }};
}

HintRow text(Column column, std::string Hints::*member, Validator valid, std::string_view help) {
  return {column.key,
          column.source,
          true,
          column.agreement,
          help,
          [member, valid = std::move(valid)](Hints& hints, std::string_view value) {
            if (!valid(value)) return false;
            hints.*member = value;
            return true;
          },
          [member](const Hints& hints) { return hints.*member; }};
}

std::string kept_value(const Hints& hints, std::string_view key) {
  const auto found = hints.kept.find(std::string(key));
  return found == hints.kept.end() ? std::string() : found->second;
}

HintRow kept(Column column, Validator valid, std::string_view help) {
  return {column.key,
          column.source,
          false,
          column.agreement,
          help,
          [key = column.key, valid = std::move(valid)](Hints& hints, std::string_view value) {
            if (!valid(value)) return false;
            hints.kept[std::string(key)] = value;
            return true;
          },
          [key = column.key](const Hints& hints) { return kept_value(hints, key); }};
}

// What an open file states about itself. Given by a program, it changes nothing.
HintRow stated(Column column, std::string_view help) {
  return {column.key,
          column.source,
          false,
          column.agreement,
          help,
          [](Hints&, std::string_view) { return true; },
          [key = column.key](const Hints& hints) { return kept_value(hints, key); }};
}

// ---- The table

// Collective buffering for both directions at once, as the standard has it.
HintRow collective_buffering() {
  return {
      "collective_buffering",
      "MPI-5.0",
      true,
      kSame,
      "true or false: whether collective reads and writes go through aggregators; the same as giving enable or disable "
      "to romio_cb_read and romio_cb_write both.",
      [](Hints& hints, std::string_view value) {
        const auto parsed = parse_boolean(value);
        if (!parsed) return false;
        hints.cb_read = hints.cb_write = *parsed ? Toggle::enable : Toggle::disable;
        if (!*parsed) hints.no_independent_access = false;
        return true;
      },
      [](const Hints& hints) -> std::string {
        if (hints.cb_read != hints.cb_write || hints.cb_read == Toggle::automatic) return {};
        return hints.cb_read == Toggle::enable ? "true" : "false";
      }};
}

// As in ROMIO, switching collective buffering off withdraws the promise of collective access only, which rests on it.
HintRow collective_toggle(std::string_view key, Toggle Hints::*member, std::string_view help) {
  HintRow row = toggle({key, "ROMIO", kSame}, member, help);
  row.set = [member, set = std::move(row.set)](Hints& hints, std::string_view value) {
    if (!set(hints, value)) return false;
    if (hints.*member == Toggle::disable) hints.no_independent_access = false;
    return true;
  };
  return row;
}

HintRow no_independent_access() {
  return {
      "romio_no_indep_rw",
      "ROMIO",
      true,
      kSame,
      "true or false (default): a promise that this file is read and written by collective calls only; true also sets "
      "romio_cb_read and romio_cb_write to enable, and setting one of these to disable withdraws it.",
      [](Hints& hints, std::string_view value) {
        const auto parsed = parse_boolean(value);
        if (!parsed) return false;
        hints.no_independent_access = *parsed;
        if (*parsed) hints.cb_read = hints.cb_write = Toggle::enable;
        return true;
      },
      [](const Hints& hints) -> std::string { return hints.no_independent_access ? "true" : "false"; }};
}

HintRow file_permissions() {
  return {
      "file_perm",
      "MPI-5.0",
      true,
      kSame,
      "Octal number of at most four digits, such as 640: the permissions of a file that is created; default 666 less "
      "the umask.",
      [](Hints& hints, std::string_view value) {
        const auto parsed = parse_integer(value, 8);
        if (!parsed || *parsed < 0 || *parsed > 07777) return false;
        hints.file_permissions = *parsed;
        return true;
      },
      [](const Hints& hints) -> std::string {
        if (hints.file_permissions < 0) return {};
        char digits[24];
        const auto end = std::to_chars(digits, digits + sizeof digits, hints.file_permissions, 8).ptr;
        return std::string(digits, end);
      }};
}

// ROMIO takes any number of aggregators that is not positive to mean its own choice.
HintRow aggregators() {
  HintRow row =
      integer({"cb_nodes", "MPI-5.0", kSame}, &Hints::cb_nodes, std::numeric_limits<std::int64_t>::min(),
              "Number of processes: how many of them are aggregators in collective access; 0 (default) or less: "
              "chosen. cb_config_list may allow fewer.");
  row.set = [set = std::move(row.set)](Hints& hints, std::string_view value) {
    if (!set(hints, value)) return false;
    hints.cb_nodes = std::max<std::int64_t>(hints.cb_nodes, 0);
    return true;
  };
  return row;
}

void append(std::vector<HintRow>& rows, std::vector<HintRow> more) {
  std::move(more.begin(), more.end(), std::back_inserter(rows));
}

// Source: MPI-5.0, reserved file hints; those that the standard marks [SAME] must agree.
std::vector<HintRow> standard_rows() {
  const auto positive = integer_of_at_least(1);
  const auto positives = list_of(positive);
  return {
      kept({"access_style", "MPI-5.0", kPerRank}, list_of(is_access_style),
           "Comma-separated list of read_once, write_once, read_mostly, write_mostly, sequential, reverse_sequential, "
           "random: how the file will be accessed until it is closed or the hint is given again."),
      collective_buffering(),
      kept({"cb_block_size", "MPI-5.0", kSame}, positive,
           "Bytes, 1 or more: the block size in which collective buffering is to access the file."),
      integer({"cb_buffer_size", "MPI-5.0", kSame}, &Hints::cb_buffer_size, 1,
              "Bytes, 1 or more (default 16777216): the memory an aggregator uses for file data in one round of a "
              "collective access."),
      aggregators(),
      kept({"chunked", "MPI-5.0", kSame}, positives,
           "Comma-separated positive integers: the extents of the multidimensional array that the file holds, the most "
           "significant first as in C."),
      kept({"chunked_item", "MPI-5.0", kSame}, positives, "Bytes, 1 or more: the size of one element of that array."),
      kept({"chunked_size", "MPI-5.0", kSame}, positives,
           "Comma-separated positive integers: the extents of the blocks in which that array is accessed."),
      stated({"filename", "MPI-5.0", kPerRank},
             "The name the file was opened with. Reported for an open file; ignored when given."),
      file_permissions(),
      kept({"io_node_list", "MPI-5.0", kSame}, list_of(is_text),
           "Comma-separated names: the I/O devices that are to store a new file."),
      kept({"nb_proc", "MPI-5.0", kSame}, positive,
           "Number of processes, 1 or more: how many will typically access a new file."),
      kept({"num_io_nodes", "MPI-5.0", kSame}, positive, "Number of I/O devices in the system, 1 or more."),
      integer({"striping_factor", "MPI-5.0", kSame}, &Hints::striping_factor, -1,
              "Number of I/O devices over which a new file is striped; 0: the file system's default, -1: all. For file "
              "systems where a program can choose; without effect elsewhere."),
      integer({"striping_unit", "MPI-5.0", kSame}, &Hints::striping_unit, 0,
              "Bytes of consecutive file data on one I/O device of a new file; 0: the file system's default. For file "
              "systems where a program can choose; without effect elsewhere."),
      kept({"mpi_assert_memory_alloc_kinds", "MPI-5.0", kPerRank}, list_of(is_text),
           "Comma-separated memory kinds, such as system or mpi: a promise that buffers are of these kinds only."),
      stated({"mpi_memory_alloc_kinds", "MPI-5.0", kPerRank},
             "The memory kinds that buffers may be of. Reported for an open file; ignored when given."),
  };
}

// Source: ROMIO's users guide and its hint code.
std::vector<HintRow> romio_rows() {
  return {
      collective_toggle(
          "romio_cb_read", &Hints::cb_read,
          "enable, disable or automatic (default): whether collective reads go through aggregators, always, "
          "never, or where that is expected to be faster."),
      collective_toggle(
          "romio_cb_write", &Hints::cb_write,
          "enable, disable or automatic (default): whether collective writes go through aggregators, always, "
          "never, or where that is expected to be faster."),
      text({"cb_config_list", "ROMIO", kSame}, &Hints::cb_config_list, list_of(is_host_entry),
           "Comma-separated list of host[:max], as ROMIO has it. Acted on: *:N, at most N aggregators on each node, "
           "and *:* "
           "(default), no such limit. Anything else, such as names of hosts, is kept and reported, without effect. "
           "Taken when "
           "a file is opened, not later."),
      no_independent_access(),
      toggle({"romio_ds_read", "ROMIO", kSame}, &Hints::ds_read,
             "enable, disable or automatic (default): whether an independent read of many small pieces reads the block "
             "that "
             "spans them and picks them out (data sieving), always, never, or where that is expected to be faster."),
      toggle({"romio_ds_write", "ROMIO", kSame}, &Hints::ds_write,
             "enable, disable or automatic (default): whether an independent write of many small pieces may read the "
             "block "
             "that spans them, change it and write it back. Only ever done while the block is locked against others."),
      integer({"ind_rd_buffer_size", "ROMIO", kSame}, &Hints::ind_rd_buffer_size, 1,
              "Bytes, 1 or more (default 4194304): the buffer of data sieving in independent reads."),
      integer({"ind_wr_buffer_size", "ROMIO", kSame}, &Hints::ind_wr_buffer_size, 1,
              "Bytes, 1 or more (default 524288): the buffer of data sieving in independent writes."),
      stated({"romio_filesystem_type", "ROMIO", kPerRank},
             "The kind of storage the file is on. Reported for an open file; ignored when given."),
      stated({"romio_aggregator_list", "ROMIO", kPerRank},
             "The ranks that are aggregators. Reported for an open file; ignored when given."),
  };
}

std::vector<HintRow> romio_rows_without_effect() {
  const auto natural = integer_of_at_least(0);
  const auto positive = integer_of_at_least(1);
  return {
      kept({"romio_cb_pfr", "ROMIO", kSame}, is_toggle,
           "enable, disable or automatic: whether each aggregator keeps its part of the file from call to call."),
      kept({"romio_cb_fr_types", "ROMIO", kSame}, is_realm_type,
           "aar (or 0), -1, -2 or bytes: how the file is divided among aggregators: by the range accessed, by the "
           "file's "
           "size, as the program says, or in parts of that size."),
      kept({"romio_cb_fr_type", "ROMIO", kSame}, is_realm_type, "The same as romio_cb_fr_types."),
      kept({"romio_cb_fr_alignment", "ROMIO", kSame}, positive, "Bytes, 1 or more: the alignment of those parts."),
      kept({"romio_cb_ds_threshold", "ROMIO", kSame}, natural,
           "Percent, 0 or more: the density of an access above which an aggregator uses data sieving."),
      kept({"romio_cb_alltoall", "ROMIO", kSame}, is_toggle,
           "enable, disable or automatic: whether aggregators exchange data by all-to-all calls."),
      kept({"romio_min_fdomain_size", "ROMIO", kSame}, natural,
           "Bytes, 0 or more: the least part of a file that an aggregator is responsible for."),
      kept({"start_iodevice", "ROMIO", kSame}, integer_of_at_least(-1),
           "Number of the I/O device on which striping of a new file begins; -1: the file system's choice."),
      kept({"romio_synchronized_flush", "ROMIO", kSame}, is_toggle,
           "enable or disable: whether a sync waits for all processes before it flushes."),
      kept({"romio_visibility_immediate", "ROMIO", kSame}, is_boolean,
           "true or false: whether written data is visible to others at once."),
      kept({"direct_read", "ROMIO", kPerRank}, is_boolean, "true or false: whether reads bypass the page cache."),
      kept({"direct_write", "ROMIO", kPerRank}, is_boolean, "true or false: whether writes bypass the page cache."),
      kept({"pfs_svr_buf", "ROMIO", kSame}, is_boolean, "true or false: whether servers of Intel's PFS buffer data."),
  };
}

// Hints for one file system each.
std::vector<HintRow> romio_file_system_rows() {
  const auto natural = integer_of_at_least(0);
  const auto positive = integer_of_at_least(1);
  std::vector<HintRow> rows = {
      kept({"romio_lustre_co_ratio", "ROMIO", kSame}, positive, "Lustre: most clients per storage target, 1 or more."),
      kept({"romio_lustre_coll_threshold", "ROMIO", kSame}, natural,
           "Lustre: bytes, 0 or more; larger requests are not collected."),
      kept({"romio_lustre_ds_in_coll", "ROMIO", kSame}, is_toggle,
           "Lustre: enable or disable data sieving within collective access."),
      kept({"romio_lustre_cb_lock_ahead_read", "ROMIO", kSame}, is_toggle,
           "Lustre: enable or disable early read locks."),
      kept({"romio_lustre_cb_lock_ahead_write", "ROMIO", kSame}, is_toggle,
           "Lustre: enable or disable early write locks."),
      kept({"romio_lustre_cb_lock_ahead_num_extents", "ROMIO", kSame}, positive,
           "Lustre: how many extents are locked early, 1 or more."),
      kept({"romio_lustre_cb_lock_ahead_flags", "ROMIO", kSame}, natural, "Lustre: flags of early locks, a number."),
      kept({"panfs_concurrent_write", "ROMIO", kSame}, is_text, "PanFS: whether clients may write at once."),
      kept({"panfs_layout_type", "ROMIO", kSame}, natural, "PanFS: number of the layout of a new file."),
      kept({"panfs_layout_stripe_unit", "ROMIO", kSame}, natural, "PanFS: bytes of a stripe."),
      kept({"panfs_layout_total_num_comps", "ROMIO", kSame}, natural, "PanFS: number of components."),
      kept({"panfs_layout_parity_stripe_width", "ROMIO", kSame}, natural, "PanFS: components of a parity stripe."),
      kept({"panfs_layout_parity_stripe_depth", "ROMIO", kSame}, natural,
           "PanFS: stripes before the next parity group."),
      kept({"panfs_layout_visit_policy", "ROMIO", kSame}, natural, "PanFS: number of the order of parity groups."),
      kept({"romio_pvfs2_debugmask", "ROMIO", kPerRank}, is_text, "PVFS2: what its library logs."),
      kept({"romio_daos_chunk_size", "ROMIO", kSame}, positive, "DAOS: bytes of a chunk, 1 or more."),
      kept({"romio_daos_obj_class", "ROMIO", kSame}, is_text, "DAOS: the object class of a new file."),
  };
  for (const std::string_view key : {"romio_pvfs2_posix_read", "romio_pvfs2_posix_write", "romio_pvfs2_listio_read",
                                     "romio_pvfs2_listio_write", "romio_pvfs2_dtype_read", "romio_pvfs2_dtype_write"}) {
    rows.push_back(
        kept({key, "ROMIO", kPerRank}, is_toggle, "PVFS2: enable or disable this way of transferring data."));
  }
  return rows;
}

std::vector<HintRow> plenum_rows() {
  return {
      text({"plenum_device", "Plenum", kSame}, &Hints::device, is_device_prefix,
           "A device as it is written before a file name, such as null or faulty:posix: where files are stored whose "
           "names "
           "say nothing else. Default posix."),
      text({"plenum_strategy", "Plenum", kSame}, &Hints::strategy, is_lower_word,
           "Name of a strategy, such as direct or two_phase: use it wherever it can be used. Default: chosen for each "
           "access."),
      text({"plenum_fault", "Plenum", kPerRank}, &Hints::fault, is_text,
           "Comma-separated list: what the device faulty does to the file. op=OPERATION (read, write, size, resize, "
           "reserve, "
           "sync, lock, open, close or any; default any), nth=N or every=N (which of these operations, counted from 1; "
           "default all), and error=NAME (such as ENOSPC; default EIO), short (only half of the bytes are moved) or "
           "delay=MICROSECONDS."),
      text({"plenum_report", "Plenum", kSame}, &Hints::report, is_text,
           "Name of a file, to which a line is appended for every file that is closed: what was done, and why."),
  };
}

std::vector<HintRow> all_rows() {
  std::vector<HintRow> rows = standard_rows();
  append(rows, romio_rows());
  append(rows, plenum_rows());
  append(rows, romio_rows_without_effect());
  append(rows, romio_file_system_rows());
  return rows;
}

const HintRow* find_row(std::string_view key) {
  const auto& rows = hint_rows();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const HintRow& row) { return row.key == key; });
  return found == rows.end() ? nullptr : &*found;
}

// ---- The environment

Error at(std::string_view where, Error error) {
  error.detail = std::string(where) + ": " + error.detail;
  return error;
}

Status apply(Hints& hints, std::string_view key, std::string_view value, std::string_view where) {
  if (set_hint(hints, key, value) == HintOutcome::malformed) return at(where, malformed_hint(key, trim(value)));
  return {};
}

// "key value", "key=value" or nothing.
Status apply_line(Hints& hints, std::string_view line, std::string_view where) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) line = line.substr(0, i);
  }
  line = trim(line);
  if (line.empty()) return {};
  const auto key_end = line.find_first_of(" \t=");
  const auto key = line.substr(0, key_end);
  auto value = key_end == std::string_view::npos ? std::string_view() : trim(line.substr(key_end));
  if (value.starts_with('=')) value = trim(value.substr(1));
  if (key.empty() || value.empty()) {
    return Error{Code::InfoValue, std::string(where) + ": not \"key value\": " + std::string(line)};
  }
  return apply(hints, key, value, where);
}

enum class Presence { required, optional };

Status apply_file(Hints& hints, const std::string& path, Presence presence, std::string_view where) {
  std::ifstream file(path);
  if (!file) {
    if (presence == Presence::optional) return {};
    // Not NotFound: the program would take that for the file it opens.
    return Error{Code::InfoValue,
                 std::string(where) + ": hints file " + path + ": " + system_error("open", errno).detail};
  }
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    PLENUM_TRY(apply_line(hints, line, path + ":" + std::to_string(number)));
  }
  if (file.bad()) return Error{Code::InfoValue, std::string(where) + ": hints file " + path + " cannot be read"};
  return {};
}

Status apply_inline(Hints& hints, std::string_view items, std::string_view where) {
  while (!items.empty()) {
    const auto separator = items.find_first_of(";\n");
    const auto item = trim(items.substr(0, separator));
    items.remove_prefix(separator == std::string_view::npos ? items.size() : separator + 1);
    if (item.empty()) continue;
    const auto equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return Error{Code::InfoValue, std::string(where) + ": not \"key=value\": " + std::string(item)};
    }
    PLENUM_TRY(apply(hints, trim(item.substr(0, equals)), item.substr(equals + 1), where));
  }
  return {};
}

// The value of an environment variable, or null if there is none or it is empty.
const char* environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr && *value != '\0' ? value : nullptr;
}

Status apply_system_file(Hints& hints) {
  if (const char* path = environment("PLENUM_HINTS_FILE")) {
    return apply_file(hints, path, Presence::required, "PLENUM_HINTS_FILE");
  }
  if (const char* path = environment("ROMIO_HINTS")) return apply_file(hints, path, Presence::optional, "ROMIO_HINTS");
  return apply_file(hints, "/etc/plenum-hints", Presence::optional, "/etc/plenum-hints");
}

Status apply_own_variables(Hints& hints) {
  for (const HintRow& row : hint_rows()) {
    if (!row.key.starts_with("plenum_")) continue;
    std::string name(row.key);
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (const char* value = environment(name)) PLENUM_TRY(apply(hints, row.key, value, name));
  }
  return {};
}

}  // namespace

const std::vector<HintRow>& hint_rows() {
  static const std::vector<HintRow> rows = all_rows();
  return rows;
}

HintOutcome set_hint(Hints& hints, std::string_view key, std::string_view value) {
  const HintRow* row = find_row(key);
  if (row == nullptr) return HintOutcome::unknown;
  return row->set(hints, trim(value)) ? HintOutcome::set : HintOutcome::malformed;
}

Error malformed_hint(std::string_view key, std::string_view value) {
  std::string detail = "hint " + std::string(key) + "=" + std::string(value);
  if (const HintRow* row = find_row(key)) detail += ": " + std::string(row->help);
  return {Code::InfoValue, std::move(detail)};
}

Result<Hints> hints_from_environment() {
  Hints hints;
  PLENUM_TRY(apply_system_file(hints));
  PLENUM_TRY(apply_own_variables(hints));
  if (const char* given = environment("PLENUM_HINTS")) {
    if (std::strchr(given, '=') != nullptr) {
      PLENUM_TRY(apply_inline(hints, given, "PLENUM_HINTS"));
    } else {
      PLENUM_TRY(apply_file(hints, given, Presence::required, "PLENUM_HINTS"));
    }
  }
  return hints;
}

std::string shared_hint_values(const Hints& hints) {
  std::string lines;
  for (const HintRow& row : hint_rows()) {
    if (row.agreement != Agreement::same_on_all_ranks) continue;
    const std::string value = row.get(hints);
    if (!value.empty()) lines += std::string(row.key) + "=" + value + "\n";
  }
  return lines;
}

}  // namespace plenum
