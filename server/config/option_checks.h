// The checks of CONFIG SET beside the range of an option: whether the system and the other options
// allow its new value. Rows of options name these functions (OptionSpec::check).
#pragma once

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "server/config/options.h"
#include "server/os/descriptor_limit.h"

namespace weir {

// Fails if the system cannot give `max_clients` enough file descriptors. Raises the limit on open
// files if that is needed.
inline absl::Status CheckClientsFit(const Options& options) {
  const DescriptorBudget room =
      FitClientsToDescriptors(options.max_clients, DescriptorUseOf(options));
  if (room.clients >= options.max_clients) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("The operating system is not able to handle the specified number of clients, "
                   "try with ",
                   room.clients));
}

// Fails if a file has the password, since the next SIGHUP would undo the change.
inline absl::Status CheckNoPrimaryPasswordFile(const Options& options) {
  if (options.primary_password_file.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "it is in primary-password-file: change that file, and send SIGHUP");
}

}  // namespace weir
