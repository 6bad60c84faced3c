#include "server/handlers/login.h"

#include <memory>
#include <string>

#include <spdlog/spdlog.h>

#include "server/os/log.h"

namespace weir {

bool LogIn(Call& call, std::string_view user, std::string_view password) {
  const Services& services = call.services();
  std::shared_ptr<const User> found = services.access.Find(user);
  // An unknown user's password is compared, too, so that timing does not reveal which users exist.
  const User& compared = found ? *found : *services.access.Find(kDefaultUser);
  const std::string hash = User::HashOf(password);
  const bool right = compared.AcceptsHash(hash);
  if (found && found->is_on() && right) {
    call.session.set_user(std::move(found), hash);
    return true;
  }
  call.session.PauseUntil(call.now + kLoginDelay);
  // An unknown name is not logged: it may be a password.
  call.services().access_log.Add({.reason = AccessLog::Reason::kPassword,
                                  .object = std::string(call.words[0]),
                                  .user = found ? found->name() : "(unknown)",
                                  .client = call.session.record().Line(call.now),
                                  .last = call.now});
  if (const auto suppressed = call.services().login_throttle.Admit()) {
    spdlog::warn("refused client {} as {}: wrong password, or off ({} similar lines suppressed)",
                 call.session.record().address,
                 found ? "user '" + found->name() + "'" : "an unknown user", *suppressed);
  }
  call.ReplyError("WRONGPASS invalid username-password pair or user is disabled.");
  return false;
}

}  // namespace weir
