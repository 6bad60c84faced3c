#include "module/values/data_type.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/policies/policies.h"
#include "module/api/wall_time.h"
#include "module/values/key_buckets.h"
#include "module/values/module.h"
#include "module/values/open_key.h"
#include "module/values/policy_bytes.h"
#include "module/values/state_bytes.h"

namespace weir {
namespace {

constexpr char kTypeName[] = "weir-keys";  // nine characters: letters, digits, - and _
constexpr int kEncoding = 0;

const KeyBuckets& ValueOf(const void* value) { return *static_cast<const KeyBuckets*>(value); }

std::string StateOf(const void* value) {
  return StateBytes(ValueOf(value), TheModule().limit_texts);
}

// Loads a string from a file; nothing if the file is broken.
std::optional<std::string> LoadString(redis::Io* file) {
  std::size_t bytes = 0;
  char* const text = redis::LoadStringBuffer(file, &bytes);
  if (text == nullptr || redis::IsIOError(file) != 0) return std::nullopt;
  std::string string(text, bytes);
  redis::Free(text);
  return string;
}

void ScheduleSweep(redis::Io* file, Module& module, KeyBuckets& value) {
  const redis::String* const name = redis::GetKeyNameFromIO(file);
  if (name == nullptr || module.options.allow_explicit_time) return;
  std::size_t bytes = 0;
  const char* const text = redis::StringPtrLen(name, &bytes);
  module.sweeper.Schedule(redis::GetContextFromIO(file), redis::GetDbIdFromIO(file), {text, bytes},
                          value, WallTime());
}

void* Load(redis::Io* file, int encoding) noexcept {
  const std::optional<std::string> bytes = LoadString(file);
  if (!bytes || encoding != kEncoding) return nullptr;
  Module& module = TheModule();
  const auto saved = ReadStateBytes(*bytes, module.policies);
  if (!saved || saved->is_change) return nullptr;
  KeyBuckets* const value = NewValue(module);
  FillValue(module, *saved, *value);
  ScheduleSweep(file, module, *value);
  return value;
}

void Save(redis::Io* file, void* value) noexcept {
  const std::string bytes = StateOf(value);
  redis::SaveStringBuffer(file, bytes.data(), bytes.size());
}

// Redis itself writes the expiry after this.
void Rewrite(redis::Io* file, redis::String* key, void* value) noexcept {
  const std::string bytes = StateOf(value);
  if (bytes.empty()) return;  // all buckets are of deleted policies
  redis::EmitAOF(file, "RL.STATE", "slb", key, static_cast<long long>(redis::kNoExpiry),
                 bytes.data(), bytes.size());
}

std::size_t MemoryOf(const void* value) noexcept { return ValueOf(value).memory(); }

void Digest(redis::Digest* digest, void* value) noexcept {
  const std::string bytes = StateOf(value);
  redis::DigestAddStringBuffer(digest, bytes.data(), bytes.size());
  redis::DigestEndSequence(digest);
}

// The only function that may run on another thread than the main one. Redis deletes a key when its
// last hold expires.
void Free(void* value) noexcept {
  const HoldTable* const holds = ValueOf(value).holds();
  if (holds != nullptr) TheModule().keeper.CountExpired(*holds, WallTime());
  DeleteValue(static_cast<KeyBuckets*>(value));
}

std::size_t FreeEffort(redis::String* /*key*/, const void* value) noexcept {
  const HoldTable* const holds = ValueOf(value).holds();
  return 1 + (holds ? holds->size() : 0);
}

void* Copy(redis::String* /*from*/, redis::String* /*to*/, const void* value) noexcept {
  return CopyValue(ValueOf(value));
}

void SavePolicies(redis::Io* file, int /*when*/) noexcept {
  const std::string bytes = PolicyBytes(TheModule().policies);
  redis::SaveStringBuffer(file, bytes.data(), bytes.size());
}

int LoadPolicies(redis::Io* file, int encoding, int /*when*/) noexcept {
  const std::optional<std::string> bytes = LoadString(file);
  if (!bytes || encoding != kEncoding) return redis::kErr;
  return ReadPolicyBytes(*bytes, TheModule().policies) ? redis::kOk : redis::kErr;
}

}  // namespace

redis::Type* CreateDataType(redis::Context* context) {
  redis::TypeMethods methods{
      .rdb_load = Load,
      .rdb_save = Save,
      .aof_rewrite = Rewrite,
      .mem_usage = MemoryOf,
      .digest = Digest,
      .free = Free,
      .aux_load = LoadPolicies,
      .aux_save = SavePolicies,
      .aux_save_triggers = redis::kAuxBeforeKeys,
      .free_effort = FreeEffort,
      .copy = Copy,
  };
  return redis::CreateDataType(context, kTypeName, kEncoding, &methods);
}

}  // namespace weir
