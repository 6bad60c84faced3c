// An open key of Redis: finds and changes its buckets, and makes the changes known to replicas and
// the AOF.
//
//     OpenKey key(module, context, name, redis::kWrite);
//     if (key.is_of_another_type()) ...
//     key.Keep(id, bucket);
//     key.Commit(now);                // before it closes
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "absl/functional/function_ref.h"

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "module/api/redis_api.h"
#include "module/values/key_buckets.h"
#include "module/values/module.h"
#include "module/values/state_bytes.h"

namespace weir {

// Make and delete a value in Redis's memory: NewValue's has no buckets.
[[nodiscard]] KeyBuckets* NewValue(Module& module);
[[nodiscard]] KeyBuckets* CopyValue(const KeyBuckets& value);
void DeleteValue(KeyBuckets* value);
// Gives an empty value these buckets. If this node has no room for the limit of a bucket, as
// another node had, that bucket counts as full.
void FillValue(Module& module, std::span<const SavedBucket> buckets, KeyBuckets& value);

class OpenKey {
 public:
  // Opens a key to read (redis::kRead), or also to write (redis::kWrite). Requires: no other
  // OpenKey of the same name.
  OpenKey(Module& module, redis::Context* context, redis::String* name, int mode);
  ~OpenKey();
  OpenKey(OpenKey&& other) noexcept;
  OpenKey& operator=(OpenKey&&) = delete;

  [[nodiscard]] redis::String* name() const noexcept { return name_; }
  [[nodiscard]] bool is_of_another_type() const noexcept { return other_type_; }

  // Returns the bucket, or null. Requires: !is_of_another_type().
  [[nodiscard]] const Bucket* Find(LimitId limit) const noexcept;
  [[nodiscard]] std::span<const KeyBuckets::KeyBucket> buckets() const noexcept;

  // The time until a bucket is full; also 0 if its policy no longer exists.
  [[nodiscard]] Nanos TimeToFull(const KeyBuckets::KeyBucket& one, Instant now) const;

  // Changes, which Commit makes known. Requires: opened to write.
  void Keep(LimitId limit, const Bucket& bucket);
  std::size_t EraseIf(absl::FunctionRef<bool(LimitId, const Bucket&)> gone);
  // Replaces all buckets by these.
  void Replace(std::span<const SavedBucket> buckets);

  // Ends the changes: drops full buckets, lets the key expire when all are full (unless clients
  // give the time), and deletes a key without buckets. Replicas and the AOF get the whole new
  // state, so that they decide nothing again. Does nothing if nothing has changed.
  void Commit(Instant now);
  // Ends changes that come from a primary or an AOF: the key expires at `expiry`, and further
  // replicas and the AOF get the command as it came.
  void CommitAsTold(redis::Millis expiry);

 private:
  void Make();
  void Close();
  redis::Millis ForgetFull(Instant now);
  void Settle(redis::Millis expiry);

  Module& module_;
  redis::Context* context_;
  redis::String* name_;
  redis::Key* key_;
  KeyBuckets* value_ = nullptr;
  bool other_type_ = false;
  bool changed_ = false;
};

}  // namespace weir
