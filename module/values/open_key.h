// A key of Redis, opened: its buckets, and how changes of them become known.
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

// A new value in Redis's memory: without a bucket, or with those of another; and its end.
[[nodiscard]] KeyBuckets* NewValue(Module& module);
[[nodiscard]] KeyBuckets* CopyValue(const KeyBuckets& value);
void DeleteValue(KeyBuckets* value);
// Gives an empty value these buckets. Of limits that are too many for this node, where another had
// room, they count as full.
void FillValue(Module& module, std::span<const SavedBucket> buckets, KeyBuckets& value);

class OpenKey {
 public:
  // Opens it to read (redis::kRead), or to write, too (redis::kWrite). One of a name at a time.
  OpenKey(Module& module, redis::Context* context, redis::String* name, int mode);
  ~OpenKey();
  OpenKey(OpenKey&& other) noexcept;
  OpenKey& operator=(OpenKey&&) = delete;

  [[nodiscard]] redis::String* name() const noexcept { return name_; }
  [[nodiscard]] bool is_of_another_type() const noexcept { return other_type_; }

  // The bucket, or null. Requires: it is of our type, or not there.
  [[nodiscard]] const Bucket* Find(LimitId limit) const noexcept;
  [[nodiscard]] std::span<const KeyBuckets::KeyBucket> buckets() const noexcept;

  // Until a bucket is full; 0 as well if its policy no longer exists.
  [[nodiscard]] Nanos TimeToFull(const KeyBuckets::KeyBucket& one, Instant now) const;

  // Changes, for Commit to make known. Requires: opened to write.
  void Keep(LimitId limit, const Bucket& bucket);
  std::size_t EraseIf(absl::FunctionRef<bool(LimitId, const Bucket&)> gone);
  // Gives it just these buckets.
  void Replace(std::span<const SavedBucket> buckets);

  // Ends the changes: forgets what is full, lets the key expire when all is (unless clients bring
  // the time), and forgets a key that has nothing. Replicas and the AOF are told the state that
  // this comes to, whole and absolute, so that it is never decided again. Does nothing where
  // nothing has changed.
  void Commit(Instant now);
  // The same for changes that come from a primary or an AOF: they are not propagated, and the key
  // expires then.
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
