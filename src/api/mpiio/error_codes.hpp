// SPDX-License-Identifier: BSD-3-Clause
//
// Errors as MPI error codes: the class is the standard's, the text of MPI_Error_string is ours.
#pragma once

#include <string>
#include <string_view>

#include "api/mpiio/abi.hpp"
#include "base/result.hpp"

namespace plenum::mpiio {

// A code of class `error_class` with the text "FUNCTION: DETAIL", in whatever way the MPI library allows; where it
// allows none, the class itself. Of a text that is too long, `path` is shortened first. The text stays with the code
// until some twenty other errors of that class have happened. Local.
int make_error_code(const char* function, int error_class, const std::string& detail, std::string_view path);

// `text` in at most `limit` bytes. What is left out is the middle of `path` wherever it occurs, and if that is not
// enough, a part in the first half of the text: the end says why the call failed.
std::string shortened(std::string text, std::string_view path, std::size_t limit);

}  // namespace plenum::mpiio
