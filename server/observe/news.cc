#include "server/observe/news.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "server/access/denial.h"
#include "server/access/user.h"
#include "server/commands/command_table.h"

namespace weir {

bool News::IsPermitted(const User* user) const {
  if (user == nullptr) return false;
  constexpr std::array<std::string_view, 1> kMonitor = {"MONITOR"};
  if (monitor && FindDenial(*user, *FindCommand(kMonitor[0]), kMonitor)) return false;
  return std::ranges::all_of(subscriber.names(SubscriptionKind::kChannel),
                             [&](const auto& name) { return user->MayUseChannel(name); }) &&
         std::ranges::all_of(subscriber.names(SubscriptionKind::kPattern),
                             [&](const auto& name) { return user->MayUseChannels(name); });
}

}  // namespace weir
