// The commands for tools and operators.
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/status.h"
#include "protocol/arg_reader.h"
#include "protocol/integer.h"
#include "server/command.h"
#include "server/glob.h"
#include "server/handlers.h"
#include "server/info.h"
#include "server/options.h"
#include "server/version.h"

namespace weir {
namespace {

using Setting = std::pair<std::string_view, std::string>;

// What tools ask of every Redis and what here is always so.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kFixedSettings = {{
    {"appendonly", "no"},
    {"databases", "1"},
    {"replica-read-only", "yes"},
    {"save", ""},
}};

// As CONFIG GET tells it: as it is spelled here, but for what clients know from Redis.
std::string SettingText(const OptionSpec& spec, const Options& options) {
  if (spec.name != "timeout") return OptionText(spec, options);
  // Whole seconds, and 0 is never.
  return absl::StrCat(std::chrono::ceil<std::chrono::seconds>(options.timeout).count());
}

std::vector<Setting> AllSettings(const Services& services) {
  Options options = services.options;
  if (services.port != 0) options.port = services.port;  // --port 0 takes any free one.
  std::vector<Setting> settings;
  for (const OptionSpec& spec : OptionTable()) {
    settings.emplace_back(spec.name, SettingText(spec, options));
    if (!spec.redis_alias.empty()) {
      settings.emplace_back(spec.redis_alias, OptionText(spec, options));
    }
  }
  settings.insert(settings.end(), kFixedSettings.begin(), kFixedSettings.end());
  return settings;
}

}  // namespace

void ConfigGet(Call& call) {
  call.Charge(call.arguments().size());
  std::vector<Setting> found;
  for (Setting& setting : AllSettings(call.services())) {
    for (const std::string_view pattern : call.arguments()) {
      if (!MatchesGlob(pattern, setting.first)) continue;
      found.push_back(std::move(setting));
      break;
    }
  }
  call.reply.Map(found.size());
  for (const auto& [name, value] : found) {
    call.reply.Bulk(name);
    call.reply.Bulk(value);
  }
}

void Info(Call& call) {
  call.Charge(kWholeTableWork);
  call.reply.Verbatim(InfoText(call.services(), call.now, call.arguments()));
}

// Of one server without replicas.
void Role(Call& call) {
  call.reply.Array(3);
  call.reply.Bulk("master");
  call.reply.Integer(0);
  call.reply.Array(0);
}

void ModuleList(Call& call) { call.reply.Array(0); }

void Lolwut(Call& call) {
  ArgReader arguments(call.arguments());
  if (arguments.TryKeyword("VERSION") && !arguments.AtEnd() &&
      !ParseInteger(arguments.Word("version"))) {
    return call.Fail("value is not an integer or out of range");
  }
  call.reply.Verbatim(absl::StrCat("  \\~~~~~~~/\n   \\~~~~~/   weir ", AbslView(kVersion),
                                   "\n    \\~~~/    what is too much flows over\n"));
}

// SCAN and its like.
void NoKeyTexts(Call& call) {
  call.Fail(
      "weir keeps hashes of keys and not their texts: ask for a key with RL.INSPECT, or with "
      "RL.TOP "
      "for those that are denied most");
}

// No reply when it works, as with Redis: the connection ends.
void Shutdown(Call& call) {
  ArgReader arguments(call.arguments());
  const bool abort = arguments.TryKeyword("ABORT");  // stands alone
  bool save = false;
  bool no_save = false;
  while (!abort && !arguments.AtEnd()) {
    if (arguments.TryKeyword("SAVE")) {
      save = true;
    } else if (arguments.TryKeyword("NOSAVE")) {
      no_save = true;
    } else if (!arguments.TryKeyword("NOW") && !arguments.TryKeyword("FORCE")) {
      arguments.Fail("syntax error");
    }
    if (save && no_save) arguments.Fail("syntax error");
  }
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  if (abort) return call.Fail("No shutdown in progress.");
  call.session.Close();
  call.services().request_shutdown();
}

void Time(Call& call) {
  const auto since_epoch = call.now.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(since_epoch - seconds);
  call.reply.Array(2);
  call.reply.Bulk(absl::StrCat(seconds.count()));
  call.reply.Bulk(absl::StrCat(micros.count()));
}

}  // namespace weir
