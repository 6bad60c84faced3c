// CONFIG: shows the options, and changes them until the server ends.
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include <spdlog/spdlog.h>

#include "core/base/ignore_case.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "server/access/glob.h"
#include "server/commands/handlers.h"
#include "server/config/options.h"
#include "server/health/add_event.h"
#include "server/os/log.h"
#include "server/os/wipe.h"
#include "server/session/call.h"
#include "server/session/client_session.h"

namespace weir {
namespace {

// Each is compared with the name of each option.
constexpr std::size_t kConfigPatternsMax = 32;
constexpr std::size_t kUnitsOfPattern = kWorkPerTurn / kConfigPatternsMax;

using Setting = std::pair<std::string_view, std::string>;

// Settings of Redis that tools ask for; their values are fixed here.
using FixedSetting = std::pair<std::string_view, std::string_view>;
constexpr std::array<FixedSetting, 5> FixedSettings(ByteCount max_memory) {
  return {{
      {"appendonly", "no"},
      {"databases", "1"},
      {"maxmemory-policy", EvictionPolicy(max_memory)},
      {"replica-read-only", "yes"},
      {"save", ""},
  }};
}

// True if `name` is Redis's name for the option.
bool IsRedisName(const OptionSpec& spec, std::string_view name) {
  return spec.redis_alias.empty() || EqualsIgnoreCase(name, spec.redis_alias);
}

// The value as CONFIG GET shows it: as on the command line, except where Redis spells it
// differently.
std::string SettingText(const OptionSpec& spec, std::string_view name, const Options& options) {
  if (spec.secret) return "";
  std::string text = OptionText(spec, options);
  if (!IsRedisName(spec, name)) return text;
  if (spec.redis_seconds) {
    const auto field = std::get<std::chrono::milliseconds Options::*>(spec.field);
    return absl::StrCat(std::chrono::ceil<std::chrono::seconds>(options.*field).count());
  }
  const auto word = std::ranges::find(spec.redis_words, text, &RedisWord::ours);
  return word == spec.redis_words.end() ? text : std::string(word->redis);
}

// Translates a value of CONFIG SET to the spelling of the command line, which it accepts as well.
std::string OptionTextOf(const OptionSpec& spec, std::string_view name, std::string_view value) {
  if (!IsRedisName(spec, name)) return std::string(value);
  const bool is_number = value.find_first_not_of("0123456789") == std::string_view::npos;
  if (spec.redis_seconds && is_number && !value.empty()) return absl::StrCat(AbslView(value), "s");
  const auto word = std::ranges::find_if(
      spec.redis_words, [&](const RedisWord& one) { return EqualsIgnoreCase(one.redis, value); });
  return std::string(word == spec.redis_words.end() ? value : word->ours);
}

std::vector<Setting> AllSettings(const Services& services) {
  Options options = services.settings.All();
  if (services.port != 0) options.port = services.port;  // --port 0 takes any free one.
  if (services.replication) {                            // REPLICAOF has changed it.
    const std::optional<LinkStatus> link = services.replication->status().link;
    options.replicaof = link ? link->primary : HostAndPort{};
  }
  std::vector<Setting> settings;
  for (const OptionSpec& spec : OptionTable()) {
    for (const std::string_view name : {spec.name, spec.redis_alias}) {
      if (!name.empty()) settings.emplace_back(name, SettingText(spec, name, options));
    }
  }
  const auto fixed = FixedSettings(options.max_memory);
  settings.insert(settings.end(), fixed.begin(), fixed.end());
  return settings;
}

// One change that CONFIG SET makes.
struct Assignment {
  const OptionSpec* spec;
  std::string_view name;  // as the client calls it
  std::string_view value;
};

absl::Status CannotSet(std::string_view name, std::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("CONFIG SET failed (possibly related to argument '",
                   AbslView(name.substr(0, kQuotedBytesMax)), "') - ", AbslView(reason)));
}

// Fails at the first assignment that is not possible, with the text that Redis has.
absl::StatusOr<std::vector<Assignment>> ReadAssignments(std::span<const std::string_view> words) {
  if (words.size() % 2 != 0) return absl::InvalidArgumentError("syntax error");
  std::vector<Assignment> assignments;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto is_this = [&](std::string_view name) { return EqualsIgnoreCase(name, words[i]); };
    const auto spec = std::ranges::find_if(OptionTable(), [&](const OptionSpec& one) {
      return is_this(one.name) || (!one.redis_alias.empty() && is_this(one.redis_alias));
    });
    const bool known = spec != OptionTable().end();
    if (!known && std::ranges::none_of(FixedSettings({}), is_this, &FixedSetting::first)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Unknown option or number of arguments for CONFIG SET - '",
                       AbslView(words[i].substr(0, kQuotedBytesMax)), "'"));
    }
    if (!known || !spec->live) return CannotSet(words[i], "can't set immutable config");
    if (std::ranges::find(assignments, &*spec, &Assignment::spec) != assignments.end()) {
      return CannotSet(words[i], "duplicate parameter");
    }
    assignments.push_back({&*spec, words[i], words[i + 1]});
  }
  return assignments;
}

absl::Status Assign(const Assignment& assignment, Options& options) {
  const auto& [spec, name, value] = assignment;
  if (!SetOption(*spec, OptionTextOf(*spec, name, value), options).ok()) {
    return CannotSet(name, absl::StrCat("argument must be ", ExpectedText(*spec)));
  }
  const absl::Status checked = spec->check ? spec->check(options) : absl::OkStatus();
  return checked.ok() ? checked : CannotSet(name, StdView(checked.message()));
}

// Returns whether the option has changed.
bool LogChange(const Call& call, const OptionSpec& spec, const Options& before,
               const Options& after) {
  std::string old = OptionText(spec, before);
  std::string now = OptionText(spec, after);
  const bool has_changed = now != old;
  if (spec.secret) {
    Wipe(old);
    Wipe(now);
  }
  if (!has_changed) return false;
  if (spec.secret) {
    spdlog::warn("client {}, user '{}', has set {}", EscapedForLog(call.client().record().address),
                 EscapedForLog(call.client().user()->name()), spec.name);
    return true;
  }
  spdlog::warn("client {}, user '{}', has set {} to {}, it was {}",
               EscapedForLog(call.client().record().address),
               EscapedForLog(call.client().user()->name()), spec.name, EscapedForLog(now),
               EscapedForLog(old));
  return true;
}

}  // namespace

void ConfigGet(Call& call) {
  const auto is_pattern = [](std::string_view word) {
    return word.find_first_of("*?[\\") != std::string_view::npos;
  };
  const auto patterns =
      static_cast<std::size_t>(std::ranges::count_if(call.arguments(), is_pattern));
  if (patterns > kConfigPatternsMax) {
    return call.Fail("CONFIG GET takes at most 32 patterns, and any number of names");
  }
  call.Charge(call.arguments().size() + kUnitsOfPattern * patterns);
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

void ConfigSet(Call& call) {
  call.Charge(call.arguments().size());
  const absl::StatusOr<std::vector<Assignment>> assignments = ReadAssignments(call.arguments());
  if (!assignments.ok()) return call.Fail(assignments.status());
  bool has_changed = false;
  const absl::Status changed = call.services().settings.Change([&](Options& options) {
    const Options before = options;
    for (const Assignment& assignment : *assignments) {
      WEIR_RETURN_IF_ERROR(Assign(assignment, options));
    }
    for (const Assignment& one : *assignments) {
      has_changed = LogChange(call, *one.spec, before, options) || has_changed;
    }
    return absl::OkStatus();
  });
  if (!changed.ok()) return call.Fail(changed);
  if (has_changed) AddCommandEvent(call, ServerEventKind::kConfig);
  call.reply.SimpleString("OK");
}

// No command lets a client write to a file.
void ConfigRewrite(Call& call) {
  const std::string& file = call.services().options.config;
  if (file.empty()) return call.Fail("The server is running without a config file");
  call.Fail(absl::StrCat(
      "weir does not write its config file: to keep a setting over a restart, edit ", Quote(file)));
}

void ConfigResetStat(Call& call) {
  call.Charge(kWholeTableWork * call.services().workers.size());
  call.services().totals.Reset(call.services());
  call.reply.SimpleString("OK");
}

}  // namespace weir
