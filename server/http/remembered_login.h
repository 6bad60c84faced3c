// The login of a connection's last request with a field Authorization, so that the next one with
// the same field need not hash its password.
//
//     const std::uint64_t version = access.version();  // before the login: users may change
//     ... log in ...
//     login.Remember(field, session, version);
//     if (login.Covers(field, session)) ... the session has the field's user already
//
// Of the field, which contains a password, only a keyed hash of 128 bits is kept. Belongs to the
// thread of its session.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/limiter/limiter.h"
#include "core/table/key_hash.h"
#include "server/access/access_list.h"
#include "server/session/session.h"

namespace weir {

class RememberedLogin {
 public:
  // True if the session still has the user that logged in with this field, and no user has changed
  // since. About 40 ns.
  [[nodiscard]] bool Covers(std::string_view field, Session& session) const {
    return user_ && user_ == session.client().user().get() &&
           users_version_ == session.worker().services.access.version() &&
           fingerprint_ == FingerprintOf(field, session);
  }

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

}  // namespace weir
