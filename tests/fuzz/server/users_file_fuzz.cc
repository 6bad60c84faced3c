// Property: any bytes are either a users file or get an error of one line that names the place and
// contains no password. Users that were read print as a file of the same users, with the same
// rights.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/status.h"
#include "server/access/access_list.h"
#include "server/commands/command_table.h"

namespace weir {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// The text with other passwords: each word that begins with '>' keeps only its length.
std::string WithOtherPasswords(std::string_view text) {
  std::string other(text);
  bool in_password = false;
  for (std::size_t i = 0; i < other.size(); ++i) {
    if (IsSpace(other[i])) {
      in_password = false;
    } else if (in_password) {
      other[i] = other[i] == 'x' ? 'y' : 'x';
    } else {
      in_password = other[i] == '>' && (i == 0 || IsSpace(other[i - 1]));
    }
  }
  return other;
}

void CheckSame(const User& user, const User& other) {
  WEIR_CHECK(other.Line() == user.Line());
  WEIR_CHECK(other.MayUseAllKeys() == user.MayUseAllKeys());
  for (const CommandSpec& spec : CommandTable()) {
    WEIR_CHECK(other.MayRun(spec) == user.MayRun(spec));
  }
}

void FuzzOne(std::string_view text) {
  const absl::StatusOr<AccessList::Users> users = AccessList::ParseUsers(text, "users");
  const absl::StatusOr<AccessList::Users> others =
      AccessList::ParseUsers(WithOtherPasswords(text), "users");
  WEIR_CHECK(others.status() == users.status());
  if (!users.ok()) {
    const std::string_view error = StdView(users.status().message());
    WEIR_CHECK(error.starts_with("users:") || error == "users: it has no user");
    WEIR_CHECK(error.find('\n') == std::string_view::npos);
    WEIR_CHECK(error.size() < 1024);
    return;
  }
  std::string printed;
  for (const auto& [name, user] : *users) printed += user->Line() + "\n";
  const absl::StatusOr<AccessList::Users> again = AccessList::ParseUsers(printed, "users");
  WEIR_CHECK(again.ok());
  WEIR_CHECK(again->size() == users->size());
  WEIR_CHECK(again->contains(std::string(kDefaultUser)));
  for (const auto& [name, user] : *users) CheckSame(*user, *again->at(name));
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
