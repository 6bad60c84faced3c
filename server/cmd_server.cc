// The commands for tools and operators.
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/status.h"
#include "protocol/arg_reader.h"
#include "server/command.h"
#include "server/glob.h"
#include "server/handlers.h"
#include "server/info.h"
#include "server/options.h"

namespace weir {
namespace {

using Setting = std::pair<std::string_view, std::string>;

// What tools ask of every Redis and what here is always so.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kFixedSettings = {{
    {"appendonly", "no"},
    {"databases", "1"},
    {"maxmemory", "0"},
    {"replica-read-only", "yes"},
    {"save", ""},
    {"timeout", "0"},
}};

std::vector<Setting> AllSettings(const Services& services) {
  Options options = services.options;
  if (services.port != 0) options.port = services.port;  // --port 0 takes any free one.
  std::vector<Setting> settings;
  for (const OptionSpec& spec : OptionTable()) {
    settings.emplace_back(spec.name, OptionText(spec, options));
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

// No reply when it works, as with Redis: the connection ends.
void Shutdown(Call& call) {
  ArgReader arguments(call.arguments());
  bool abort = false;
  while (!arguments.AtEnd()) {
    if (arguments.TryKeyword("ABORT")) {
      abort = true;
    } else if (!arguments.TryKeyword("NOSAVE") && !arguments.TryKeyword("SAVE") &&
               !arguments.TryKeyword("NOW") && !arguments.TryKeyword("FORCE")) {
      arguments.Fail("syntax error");
    }
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
