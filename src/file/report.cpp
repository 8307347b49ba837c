// SPDX-License-Identifier: BSD-3-Clause
#include "file/report.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "file/file.hpp"

namespace plenum {

namespace {

using Json = nlohmann::ordered_json;

Json rows_of(const Counters& counters) {
  Json rows = Json::array();
  for (const Counters::Row& row : counters.rows()) {
    rows.push_back({{"operation", row.direction == Direction::read ? "read" : "write"},
                    {"collective", row.collective},
                    {"strategy", row.strategy},
                    {"reason", row.reason},
                    {"calls", row.calls},
                    {"bytes", row.bytes}});
  }
  return rows;
}

// Adds one rank's rows to the sum over ranks.
void merge(Json& sums, const Json& rows) {
  for (const Json& row : rows) {
    const auto same_kind = [&](const Json& sum) {
      return sum["operation"] == row["operation"] && sum["collective"] == row["collective"] &&
             sum["strategy"] == row["strategy"] && sum["reason"] == row["reason"];
    };
    const auto found = std::find_if(sums.begin(), sums.end(), same_kind);
    if (found == sums.end()) {
      sums.push_back(row);
    } else {
      for (const char* key : {"calls", "bytes"})
        (*found)[key] = (*found)[key].get<std::int64_t>() + row[key].get<std::int64_t>();
    }
  }
}

Status append_line(const std::string& path, const std::string& line) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return system_error("open " + path, errno);
  const ssize_t written = ::write(fd, line.data(), line.size());
  const int why = written < 0 ? errno : ENOSPC;
  ::close(fd);
  if (written != static_cast<ssize_t>(line.size())) return system_error("write " + path, why);
  return {};
}

}  // namespace

Task<Status> append_report(const File& file, Comm& comm, const std::string& path) {
  Json rows = rows_of(file.counters_);
  const std::string text = rows.dump();
  std::vector<Outgoing> outgoing;
  if (comm.rank() != 0) outgoing.push_back({0, std::as_bytes(std::span(text))});
  std::vector<Letter> letters;
  PLENUM_CO_TRY(co_await comm.deliver(outgoing, letters));
  Status written;
  if (comm.rank() == 0) {
    for (const Letter& letter : letters) {
      const char* begin = reinterpret_cast<const char*>(letter.bytes.data());
      merge(rows, Json::parse(begin, begin + letter.bytes.size(), nullptr, false));
    }
    const Json line = {{"path", file.name()},
                       {"device", file.device_->name()},
                       {"file_system", file.traits_.file_system},
                       {"ranks", comm.size()},
                       {"strategies", rows}};
    // A path need not be UTF-8.
    written = append_line(path, line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  co_return co_await agree(comm, std::move(written));
}

}  // namespace plenum
