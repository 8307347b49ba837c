// SPDX-License-Identifier: BSD-3-Clause
#include "api/mpiio/error_codes.hpp"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>

namespace plenum::mpiio {
namespace {

// The text of a code, and its class, as a program would ask for them.
bool has_text(int code, int error_class, std::string_view text) {
  char buffer[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  int found_class = 0;
  return PMPI_Error_class(code, &found_class) == MPI_SUCCESS && found_class == error_class &&
         PMPI_Error_string(code, buffer, &length) == MPI_SUCCESS &&
         std::string_view(buffer).find(text) != std::string_view::npos;
}

// Texts are cut to this many bytes: Open MPI keeps no more, nor does MPICH's ring of texts.
constexpr std::size_t kMaxText = 255;
static_assert(kMaxText < MPI_MAX_ERROR_STRING);

constexpr std::string_view kGap = "...";

// `text` with its middle left out, in at most `limit` bytes; of what stays, a third is from the front.
std::string without_middle(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  if (limit <= kGap.size()) return std::string(text.substr(text.size() - limit));
  const std::size_t kept = limit - kGap.size();
  const std::size_t front = kept / 3;
  return std::string(text.substr(0, front)).append(kGap).append(text.substr(text.size() - (kept - front)));
}

// Ways to give a code a text. Each is tried out before it is used.

// MPICH makes its own codes with this function. The texts live in a ring of its own.
class MpichCodes {
 public:
  bool find() {
    create_ = reinterpret_cast<Create*>(dlsym(RTLD_DEFAULT, "MPIR_Err_create_code"));
    return create_ != nullptr && has_text(make("Plenum", MPI_ERR_IO, "probe"), MPI_ERR_IO, "probe");
  }

  int make(const char* function, int error_class, const std::string& text) const {
    constexpr int kNoEarlierCode = 0;
    constexpr int kRecoverable = 0;
    constexpr int kNoLine = 0;
    return create_(kNoEarlierCode, kRecoverable, function, kNoLine, error_class, "**io", "%s", text.c_str());
  }

 private:
  using Create = int(int, int, const char*, int, int, const char*, const char*, ...);
  Create* create_ = nullptr;
};

// A library that lets codes be added to predefined classes and their texts be replaced, as Open MPI does. Codes cannot
// be given back, so a few for each class are used in turn.
class AddedCodes {
 public:
  bool works() {
    const int code = make(MPI_ERR_IO, "first probe");
    return has_text(code, MPI_ERR_IO, "first probe") && PMPI_Add_error_string(code, "second") == MPI_SUCCESS &&
           has_text(code, MPI_ERR_IO, "second");
  }

  int make(int error_class, const std::string& text) {
    Ring& ring = rings_[error_class];
    for (const Entry& entry : ring.entries) {
      if (entry.code != MPI_SUCCESS && entry.text == text) return entry.code;
    }
    Entry& entry = ring.entries[ring.next];
    if (entry.code == MPI_SUCCESS && PMPI_Add_error_code(error_class, &entry.code) != MPI_SUCCESS) return error_class;
    if (PMPI_Add_error_string(entry.code, text.c_str()) != MPI_SUCCESS) return error_class;
    entry.text = text;
    ring.next = (ring.next + 1) % ring.entries.size();
    return entry.code;
  }

 private:
  struct Entry {
    int code = MPI_SUCCESS;
    std::string text;
  };
  struct Ring {
    std::array<Entry, 24> entries;
    std::size_t next = 0;
  };
  std::map<int, Ring> rings_;
};

class Codes {
 public:
  int make(const char* function, int error_class, const std::string& detail, std::string_view path) {
    const std::lock_guard lock(mutex_);
    if (way_ == Way::unknown) way_ = mpich_.find() ? Way::mpich : added_.works() ? Way::added : Way::none;
    switch (way_) {
      case Way::mpich:  // puts the function's name in front itself
        return mpich_.make(function, error_class, shortened(detail, path, kMaxText));
      case Way::added:
        return added_.make(error_class, shortened(std::string(function) + ": " + detail, path, kMaxText));
      default:
        return error_class;
    }
  }

 private:
  enum class Way { unknown, mpich, added, none };
  std::mutex mutex_;
  Way way_ = Way::unknown;
  MpichCodes mpich_;
  AddedCodes added_;
};

}  // namespace

int make_error_code(const char* function, int error_class, const std::string& detail, std::string_view path) {
  static Codes& codes = *new Codes;  // never destroyed: a destructor of the program may still call us
  return codes.make(function, error_class, detail, path);
}

std::string shortened(std::string text, std::string_view path, std::size_t limit) {
  constexpr std::size_t kMinPath = 16;
  if (text.size() <= limit) return text;
  std::size_t occurrences = 0;
  for (auto at = text.find(path); path.size() > kMinPath && at != std::string::npos;
       at = text.find(path, at + path.size()))
    ++occurrences;
  if (occurrences > 0) {
    const std::size_t excess = (text.size() - limit + occurrences - 1) / occurrences;
    const std::size_t room = path.size() > excess + kMinPath ? path.size() - excess : kMinPath;
    const std::string cut = without_middle(path, room);
    for (auto at = text.find(path); at != std::string::npos; at = text.find(path, at + cut.size()))
      text.replace(at, path.size(), cut);
  }
  if (text.size() <= limit) return text;
  return without_middle(text, limit);
}

}  // namespace plenum::mpiio
