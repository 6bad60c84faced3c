// The last response of a control plane that was accepted, in a file of the data directory, so that
// its rules are in force from the start, before a control plane is there.
//
//     weir rls-xds 1 <bytes> crc32c <8 hexadecimal digits>\n
//     the bytes of the response, of which that is the checksum
//
// The file is written aside, synced and renamed: a crash leaves the one before or the new one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir {

inline constexpr std::string_view kKeptResponseFile = "rls-xds.last";

// The text of the file. Pure.
[[nodiscard]] std::string KeptResponseText(std::string_view message);
// The response in such a text; unset if it is damaged. Pure.
[[nodiscard]] std::optional<std::string> ReadKeptResponseText(std::string_view text);

// Keeps a response in this directory. Fails with kUnavailable and the reason. Waits for the disk.
[[nodiscard]] absl::Status KeepResponse(const std::string& directory, std::string_view message);
// The response that is kept there; unset if there is no file. Fails with one line if it cannot be
// read, or is damaged.
[[nodiscard]] absl::StatusOr<std::optional<std::string>> ReadKeptResponse(
    const std::string& directory);

}  // namespace weir
