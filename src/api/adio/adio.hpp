// SPDX-License-Identifier: BSD-3-Clause
//
// What the parts of the ADIO interface share. The interface translates arguments and errors, and nothing else; see
// plenum/adio.h for what the functions mean.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/adio/handles.hpp"
#include "base/result.hpp"
#include "file/file.hpp"

// Everything is hidden that does not say otherwise; the functions of a public interface are what libplenum.so exports.
#pragma GCC visibility push(default)
#include "plenum/adio.h"
#pragma GCC visibility pop

// What an ADIO_Hints stands for.
struct plenum_adio_hints {
  std::vector<std::pair<std::string, std::string>> items;
};

namespace plenum::adio {

// What an ADIO_File stands for. The paper's file pointer is a number of bytes, the core's counts etypes; so it is here.
struct OpenFile {
  std::shared_ptr<File> file;
  std::atomic<std::int64_t> pointer{0};
};

// What an ADIO_Request stands for.
struct OpenRequest {
  std::shared_ptr<OpenFile> file;  // stays as long as the request, which refers to it
  std::unique_ptr<Request> request;
  bool ended = false;  // poll() has said so
};

using FileTable = HandleTable<ADIO_File, OpenFile>;
using RequestTable = HandleTable<ADIO_Request, OpenRequest>;

FileTable& files();
RequestTable& requests();

// Brings an access to its end and says how it went. Local.
Result<std::int64_t> finish(OpenRequest& request);

// Error BadHandle unless `handle` is open.
Result<std::shared_ptr<OpenFile>> find_file(ADIO_File handle);

// The error of a call of this process alone, with file, operation and rank in front: as the core has it for its own
// errors.
Error explain(const OpenFile& open, std::string_view operation, Error error);

// The environment's hints with those of `list` (which may be null) over them.
Result<Hints> hints_of(const plenum_adio_hints* list);
Status apply_hints(const plenum_adio_hints* list, Hints& hints);

// Remembers the text of an error for ADIO_Error_string() and reports its class.
void report(const Status& outcome, int* error_code) noexcept;
void report(int error_class, std::string_view text, int* error_code) noexcept;

// Sets what `status` says, if it is wanted.
void set_bytes(ADIO_Status* status, std::int64_t bytes);

// The only way from C into the core: runs `body`, which returns a Status, and reports what comes out of it, exceptions
// included.
template <class Body>
void entry(int* error_code, Body&& body) noexcept {
  try {
    report(body(), error_code);
  } catch (const std::bad_alloc&) {
    report(Error{Code::NoMemory, {}}, error_code);
  } catch (const std::exception& unexpected) {
    report(Error{Code::Internal, unexpected.what()}, error_code);
  }
}

}  // namespace plenum::adio
