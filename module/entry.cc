// The functions that a host calls when it loads weir.so.
#include <span>
#include <string>

#include "core/base/time_zones.h"
#include "module/api/load_arguments.h"
#include "module/api/redis_api.h"
#include "module/handlers/command_table.h"
#include "module/values/data_type.h"
#include "module/values/module.h"

namespace weir {
namespace {

constexpr int kVersion = 1;

void AddInfoFields(redis::Info* info, int for_crash) noexcept {
  if (for_crash != 0) return;
  const Module& module = TheModule();
  redis::InfoAddSection(info, "");
  redis::InfoAddFieldULongLong(info, "limits", module.registry.size());
  redis::InfoAddFieldULongLong(info, "policies", module.policies.All().size());
  redis::InfoAddFieldULongLong(info, "allowed", module.request_counters.allowed.value());
  redis::InfoAddFieldULongLong(info, "denied", module.request_counters.denied.value());
  redis::InfoAddFieldULongLong(info, "bans", module.request_counters.bans.value());
  redis::InfoAddFieldULongLong(info, "holds", module.hold_records.counts().open());
  redis::InfoAddFieldULongLong(info, "holds_expired", module.keeper.expired());
  const std::uint64_t cancelled = module.keeper.cancelled();
  redis::InfoAddFieldULongLong(info, "holds_committed", module.keeper.settled() - cancelled);
  redis::InfoAddFieldULongLong(info, "holds_cancelled", cancelled);
  redis::InfoAddFieldULongLong(info, "slices_open", module.hold_records.counts().slices());
  redis::InfoAddFieldULongLong(info, "slices_tokens_out", module.hold_records.counts().units());
  redis::InfoAddFieldULongLong(info, "slices_granted", module.keeper.granted_slices());
  redis::InfoAddFieldULongLong(info, "slices_lapsed", module.keeper.lapsed_slices());
}

void OnRole(redis::Context* /*context*/, redis::ServerEvent /*event*/, std::uint64_t role,
            void* /*data*/) noexcept {
  if (role == redis::kNowPrimary) TheModule().BeginPrimary();
}

bool Start(redis::Context* context, std::span<redis::String*> words) {
  if (!redis::Load(context)) {
    if (redis::Log != nullptr) redis::Log(context, "warning", "weir needs Redis 7.0 or later");
    return false;
  }
  if (redis::IsModuleNameBusy("weir") != 0) return false;
  redis::SetModuleAttribs(context, "weir", kVersion, redis::kApiVersion);
  const absl::StatusOr<ModuleOptions> options = ReadLoadArguments(words);
  if (!options.ok()) {
    redis::Log(context, "warning", "weir: %s", std::string(options.status().message()).c_str());
    return false;
  }
  redis::SetModuleOptions(context, redis::kHandleIoErrors | redis::kNoImplicitSignalModified);
  if (SystemTimeZones().size() == 1) {  // Loads them, so that no request does.
    redis::Log(
        context, "warning",
        "weir: there is no database of time zones (/usr/share/zoneinfo): limits have only UTC");
  }
  static Module module(*options);  // never freed: a module that has a type is never unloaded
  SetTheModule(module);
  module.BeginPrimary();
  module.type = CreateDataType(context);
  if (module.type == nullptr || !CreateCommands(context)) return false;
  return redis::SubscribeToServerEvent(context, redis::kRoleChanged, OnRole) == redis::kOk &&
         redis::RegisterInfoFunc(context, AddInfoFields) == redis::kOk;
}

}  // namespace
}  // namespace weir

extern "C" __attribute__((visibility("default"))) int RedisModule_OnLoad(
    weir::redis::Context* context, weir::redis::String** words, int count) noexcept {
  return weir::Start(context, {words, static_cast<std::size_t>(count)}) ? weir::redis::kOk
                                                                        : weir::redis::kErr;
}
