// SPDX-License-Identifier: BSD-3-Clause
//
// Prints docs/hints.md from the hint table: `make docs` writes the page, and a test sees that it is current.
#include <cstdio>
#include <string>

#include "base/hints.hpp"

namespace {

void print_table(const char* origin, const char* title) {
  std::printf("\n## %s\n\n| hint | default | equal on all ranks | values and meaning |\n| --- | --- | --- | --- |\n",
              title);
  const plenum::Hints defaults;
  for (const plenum::HintRow& row : plenum::hint_rows()) {
    if (row.source != origin) continue;
    const std::string value = row.get(defaults);
    const bool same = row.agreement == plenum::Agreement::same_on_all_ranks;
    std::printf("| `%s` | %s | %s | %s%s |\n", std::string(row.key).c_str(),
                value.empty() ? "" : ("`" + value + "`").c_str(), same ? "yes" : "no", std::string(row.help).c_str(),
                row.acts ? "" : " *Kept and reported, without effect.*");
  }
}

}  // namespace

int main() {
  std::printf(
      "<!-- Generated from src/base/hints.cpp by `make docs`. -->\n"
      "# Hints\n\n"
      "A hint is taken from the program's `MPI_Info`, else from `PLENUM_HINTS` (`\"key=value;key=value\"` or the name "
      "of a file), else from\n"
      "`PLENUM_X` for a hint `plenum_x`, else from the system's hints file: the one `PLENUM_HINTS_FILE` or "
      "`ROMIO_HINTS` names, else\n"
      "`/etc/plenum-hints`. A hints file has one `key value` a line; `#` begins a comment. Unknown hints are ignored. "
      "A malformed value in\n"
      "the environment or a file fails the open with `MPI_ERR_INFO_VALUE`; one in an `MPI_Info` is ignored, and "
      "`MPI_File_get_info` reports it\n"
      "under `plenum_hints_rejected`. `MPI_File_get_info` returns every hint in effect with its value.\n");
  print_table("Plenum", "Plenum's own");
  print_table("MPI-5.0", "Reserved by MPI-5.0");
  print_table("ROMIO", "ROMIO's");
}
