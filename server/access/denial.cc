#include "server/access/denial.h"

#include "core/commands/command_keys.h"
#include "core/commands/command_spec.h"
#include "server/access/user.h"

namespace weir {

std::optional<Denial> FindDenial(const User& user, const CommandSpec& spec,
                                 std::span<const std::string_view> words) {
  if (spec.Is(kNoAuth)) return std::nullopt;
  if (!user.MayRun(spec)) return Denial{.of = Denial::Of::kCommand};
  if (spec.keys.first == 0 || user.MayUseAllKeys()) return std::nullopt;
  for (const std::string_view key : KeysIn(spec, words)) {
    if (!user.MayUse(key)) return Denial{.of = Denial::Of::kKey, .key = key};
  }
  return std::nullopt;
}

}  // namespace weir
