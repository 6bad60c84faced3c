#include "server/http/remembered_login.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

#include "core/base/status.h"
#include "server/os/wipe.h"

namespace weir {
namespace {

struct Credentials {
  std::string user;
  std::string password;

  ~Credentials() { Wipe(password); }
};

// Reads the field Authorization; nothing if it is of another scheme or no base64.
bool ReadCredentials(std::string_view field, Credentials& credentials) {
  absl::string_view rest = AbslView(field);
  if (absl::StartsWithIgnoreCase(rest, "Bearer ")) {
    credentials.user = std::string(kDefaultUser);
    credentials.password = std::string(absl::StripPrefix(rest.substr(7), " "));
    return true;
  }
  if (!absl::StartsWithIgnoreCase(rest, "Basic ")) return false;
  std::string& text = credentials.password;
  if (!absl::Base64Unescape(rest.substr(6), &text)) return false;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  credentials.user = text.substr(0, colon);
  std::string password = text.substr(colon + 1);
  text.swap(password);
  Wipe(password);
  return true;
}

}  // namespace

std::string_view RememberedLogin::LogIn(std::optional<std::string_view> field, Session& session) {
  if (!field) {
    ActAsNewClient(session);
    return session.client().user() ? "" : "NOAUTH Authentication required.";
  }
  if (Covers(*field, session)) return {};
  const std::uint64_t users_version = session.worker().services.access.version();
  Credentials credentials;
  if (!ReadCredentials(*field, credentials)) {
    return "ERR invalid Authorization: must be Basic or Bearer";
  }
  if (!session.client().LogIn("Authorization", credentials.user, credentials.password)) {
    return kWrongPassword;
  }
  Remember(*field, session, users_version);
  return {};
}

void ActAsNewClient(Session& session) {
  std::shared_ptr<const User> user = session.worker().services.access.ForNewConnection();
  if (session.client().user() != user) session.client().ActAs(std::move(user));
}

}  // namespace weir
