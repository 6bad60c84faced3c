// The text of a file that a user writes, and errors that name a place in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir {

// Reads a whole file; `kind` names it in errors: "policy file". Fails with kUnavailable if it
// cannot be read, and with kInvalidArgument if it has more bytes. Cost: reads no more than these.
[[nodiscard]] absl::StatusOr<std::string> ReadFileText(const std::string& path,
                                                       std::string_view kind,
                                                       std::size_t bytes_max);

// The error `what` with its place: "policies.toml:3: ...". It has one line: a control byte of
// `what` is written as '?'.
[[nodiscard]] absl::Status WrongAt(const std::string& path, std::size_t line,
                                   std::string_view what);
// Likewise with a place in other words, whose control bytes are written as '?', too.
[[nodiscard]] absl::Status WrongAt(std::string_view place, std::string_view what);

}  // namespace weir
