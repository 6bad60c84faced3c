#include "server/session/login.h"

#include <memory>
#include <string>
#include <string_view>

#include <spdlog/spdlog.h>

#include "server/observe/client_registry.h"

namespace weir {

bool LogIn(Session& session, std::string_view means, std::string_view user,
           std::string_view password) {
  Services& services = session.worker().services;
  std::shared_ptr<const User> found = services.access.Find(user);
  // An unknown user's password is compared, too, so that timing does not reveal which users exist.
  const std::shared_ptr<const User> compared = found ? found : services.access.Find(kDefaultUser);
  const std::string hash = User::HashOf(password);
  const bool right = compared->AcceptsHash(hash);
  if (found && found->is_on() && right) {
    session.set_user(std::move(found), hash);
    return true;
  }
  const HostInstant now = services.clock.HostNow();
  session.PauseUntil(now + kLoginDelay);
  // An unknown name is not logged: it may be a password.
  services.access_log.Add({.reason = AccessLog::Reason::kPassword,
                           .object = std::string(means),
                           .user = found ? found->name() : "(unknown)",
                           .client = session.record().Line(now),
                           .last = now});
  const std::string_view address = session.record().address;
  if (const auto suppressed = services.login_throttle.Admit(HostOf(address))) {
    spdlog::warn("refused client {} as {}: wrong password, or off ({} similar lines suppressed)",
                 address, found ? "user '" + found->name() + "'" : "an unknown user", *suppressed);
  }
  return false;
}

}  // namespace weir
