#include "server/access/denial.h"

#include "core/commands/command_keys.h"
#include "core/commands/command_spec.h"
#include "server/access/user.h"

namespace weir {
namespace {

std::optional<Denial> FindForbiddenChannel(const User& user, ChannelUse use,
                                           std::span<const std::string_view> words) {
  const std::size_t last = use == ChannelUse::kFirst ? 1 : words.size() - 1;
  for (const std::string_view name : words.subspan(1, last)) {
    const bool may =
        use == ChannelUse::kPatterns ? user.MayUseChannels(name) : user.MayUseChannel(name);
    if (!may) return Denial{.of = Denial::Of::kChannel, .name = name};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Denial> FindDenial(const User& user, const CommandSpec& spec,
                                 std::span<const std::string_view> words) {
  if (spec.Is(kNoAuth)) return std::nullopt;
  if (!user.MayRun(spec)) return Denial{.of = Denial::Of::kCommand};
  if (spec.channels != ChannelUse::kNone) return FindForbiddenChannel(user, spec.channels, words);
  if (spec.keys.first == 0 || user.MayUseAllKeys()) return std::nullopt;
  for (const std::string_view key : KeysIn(spec, words)) {
    if (!user.MayUse(key)) return Denial{.of = Denial::Of::kKey, .name = key};
  }
  return std::nullopt;
}

}  // namespace weir
