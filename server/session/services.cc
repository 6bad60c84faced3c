#include "server/session/services.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include <sodium.h>
#include <spdlog/spdlog.h>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/commands/decision_events.h"
#include "core/limiter/isolation.h"
#include "server/config/passwords.h"

namespace weir {
namespace {

std::string RandomRunId() {
  WEIR_CHECK(sodium_init() >= 0);
  std::array<unsigned char, 20> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  std::array<char, 2 * bytes.size() + 1> hex;
  sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
  return hex.data();
}

// `access` has the password's hash; readers of the options must not see the password.
Options WithoutPassword(Options options) {
  options.requirepass = {};
  return options;
}

// Those of links to other servers are needed again and may change, so `settings` has them.
Options WithoutPasswords(Options options) {
  for (const PasswordPlaces& places : kPasswords) options.*places.word = {};
  return options;
}

}  // namespace

Services::Services(const Options& server_options, const Clock& server_clock,
                   Limiter& server_limiter)
    : options(WithoutPasswords(server_options)),
      settings(WithoutPassword(server_options)),
      clock(server_clock),
      limiter(server_limiter),
      explicit_time(server_options.allow_explicit_time),
      observers(server_options),
      outboxes(server_clock),
      channels({kEventChannels.begin(), kEventChannels.end()}),
      client_memory(settings, server_clock),
      sweeper(server_limiter.table()),
      started(server_clock.HostNow()),
      run_id(RandomRunId()),
      login_throttle(server_clock),
      foreign_throttle(server_clock, kForeignLogInterval),
      http2_throttle(server_clock) {
  // Parts that keep a copy of a live option, or have to act on a new value at once.
  settings.OnChange([this](const Options& now) {
    SetLogLevel(now.log_level);
    upkeep.set_memory_max(static_cast<std::size_t>(now.max_memory.bytes));
    observers.Configure(now);
    client_memory.Enforce();
  });
  // The rules own their names before they are read, so that no client takes one of them between a
  // promotion and the next look at the rules.
  if (options.serves_rls()) {
    WEIR_CHECK(policies.ReplaceFile({}, FilePart::kRules).ok());
  }
}

std::size_t Services::CountBuckets(Instant now) const {
  return explicit_time.allowed() ? upkeep.CountLive(explicit_time.View(now))
                                 : upkeep.size().buckets;
}

absl::Status Services::Read(PolicyReading& reading) {
  if (options.policies.empty()) {
    return absl::FailedPreconditionError("there is no policy file: start with --policies FILE");
  }
  {
    MutexLock lock(reload_mutex);
    reading.number = ++readings_begun;
  }
  absl::StatusOr<PolicyFile> file = ReadPolicyFile(options.policies);
  if (!file.ok()) return file.status();
  if (file->empty()) {
    return absl::InvalidArgumentError(absl::StrCat(options.policies, ": it has no policy"));
  }
  reading.file = *std::move(file);
  return absl::OkStatus();
}

absl::Status Services::Use(const PolicyReading& reading) {
  MutexLock lock(reload_mutex);
  WEIR_CHECK(reading.number > 0);
  if (reading.number < reading_used) return absl::OkStatus();
  WEIR_RETURN_IF_ERROR(ReplacePolicyFile(reading.file));
  reading_used = reading.number;
  return absl::OkStatus();
}

absl::Status Services::ReloadPolicies() {
  PolicyReading reading;
  WEIR_RETURN_IF_ERROR(Read(reading));
  return Use(reading);
}

absl::Status Services::ReplacePolicies(const PolicyFile& file, FilePart part) {
  upkeep.ExpireHolds(clock.Now());  // most of them, before all others have to wait
  const auto retired = [&] {
    const Isolation isolation(limiter.table());
    upkeep.ExpireHolds(clock.Now());
    return policies.ReplaceFile(file, part);
  }();
  if (!retired.ok()) return retired.status();
  std::size_t of_rules = 0;  // which may be 20,000
  for (const std::shared_ptr<const Policy>& policy : *retired) {
    if (policy->name.starts_with(kRulePolicyPrefix)) {
      if (of_rules++ == 0) spdlog::warn("policy '{}' is retired: no rule has it", policy->name);
      continue;
    }
    spdlog::warn("policy '{}' is retired, with {} overrides: the policy file does not have it",
                 policy->name, policy->overrides->size());
  }
  if (of_rules > 1) spdlog::warn("{} more policies are retired: no rule has them", of_rules - 1);
  return absl::OkStatus();
}

}  // namespace weir
