// Where the passwords of the server come from: that of its clients, those that it shows to its
// primary and, as fields of a call, to a control plane. Each has three places, and is in one of
// them at most, since two that differ would leave it to chance which one is right:
//
//     an option      requirepass        primary-password        rls-xds-headers
//     a first line   requirepass-file   primary-password-file   rls-xds-headers-file
//     a variable     WEIR_REQUIREPASS   WEIR_PRIMARY_PASSWORD   WEIR_RLS_XDS_HEADERS
//
// No other option has a variable. Kubernetes puts WEIR_PORT=tcp://... into every pod beside a
// Service of the name weir.
//
// Errors name the place and never quote a password. Every copy of one is wiped (Secret).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/config/options.h"
#include "server/os/wipe.h"

namespace weir {

// The places of one password.
struct PasswordPlaces {
  std::string_view option;
  Secret Options::*word;
  std::string_view file_option;
  std::string Options::*file;  // path; empty: none
  std::string_view variable;
};

inline constexpr std::array<PasswordPlaces, 3> kPasswords = {{
    {"requirepass", &Options::requirepass, "requirepass-file", &Options::requirepass_file,
     "WEIR_REQUIREPASS"},
    {"primary-password", &Options::primary_password, "primary-password-file",
     &Options::primary_password_file, "WEIR_PRIMARY_PASSWORD"},
    {"rls-xds-headers", &Options::rls_xds_headers, "rls-xds-headers-file",
     &Options::rls_xds_headers_file, "WEIR_RLS_XDS_HEADERS"},
}};

// The values of the variables, in the order of kPasswords; unset: not in the environment.
using PasswordVariables = std::array<std::optional<Secret>, kPasswords.size()>;

// Takes the variables out of the environment, and overwrites their bytes, so that neither
// /proc/PID/environ nor a dump shows them. Requires: no other thread runs.
[[nodiscard]] PasswordVariables TakePasswordVariables();

// Sets the passwords of the options from their files and variables. Fails with kInvalidArgument if
// a password has two places, if that of clients stands beside a users-file, if a place is empty, or
// if a file cannot be read.
absl::Status ReadPasswords(const PasswordVariables& variables, Options& options);

inline constexpr std::size_t kPasswordBytesMax = 4096;

// Reads the first line of a file, without its end (LF or CR LF). `option` is the one that names the
// file, for errors. Fails if the file cannot be read or is no regular one, so that it never waits,
// and if the line is empty or too long.
[[nodiscard]] absl::StatusOr<Secret> ReadPasswordFile(std::string_view option,
                                                      const std::string& path);

}  // namespace weir
