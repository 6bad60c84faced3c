// The login of a connection's last request with a field Authorization, so that the next one with
// the same field need not hash its password.
//
//     const std::string_view error = login.LogIn(head.Field("Authorization"), session);
//
// Of the field, which contains a password, only a keyed hash of 128 bits is kept. Belongs to the
// thread of its session.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/limiter/limiter.h"
#include "core/table/key_hash.h"
#include "server/access/access_list.h"
#include "server/session/session.h"

namespace weir {

class RememberedLogin {
 public:
  // Makes the session's client the user of the field Authorization: "Basic" with a user and a
  // password, or "Bearer" with the password of the default user. Without the field it is the user
  // of a new connection. Returns the error, or an empty text. Cost: a SHA-256, unless the last
  // login had the same field.
  [[nodiscard]] std::string_view LogIn(std::optional<std::string_view> field, Session& session);

  // True if the session still has the user that logged in with this field, and no user has changed
  // since. About 40 ns.
  [[nodiscard]] bool Covers(std::string_view field, Session& session) const {
    return user_ && user_ == session.client().user().get() &&
           users_version_ == session.worker().services.access.version() &&
           fingerprint_ == FingerprintOf(field, session);
  }

  // Remembers a login. `users_version`: of before, since users may change meanwhile.
  void Remember(std::string_view field, Session& session, std::uint64_t users_version) {
    user_ = session.client().user().get();
    users_version_ = users_version;
    fingerprint_ = FingerprintOf(field, session);
  }

 private:
  static KeyHasher::Fingerprint FingerprintOf(std::string_view field, Session& session) {
    return session.worker().services.limiter.hasher().FingerprintOf(field);
  }

  const User* user_ = nullptr;  // compared only
  std::uint64_t users_version_ = 0;
  KeyHasher::Fingerprint fingerprint_ = {};
};

// Makes the session's client the user of a new connection; there may be none.
void ActAsNewClient(Session& session);

}  // namespace weir
