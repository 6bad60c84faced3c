// The rules of Envoy's rate limit service that are in force: those of the files of rls-config, or
// of the control plane of rls-xds.
//
//     RlsRules rules(services);
//     absl::Status loaded = rules.Load();              // at the start, and at SIGHUP
//     rules.MakePolicies();                            // once the state is loaded
//     rules.Look();                                    // once a second
//     loaded = rules.Replace(files, RulesFrom::kXds);  // a response of the control plane
//     std::shared_ptr<const RlsRules::Set> set = rules.Get();   // for a call, on any thread
//
// A load is all or nothing: after a mistake in any part the rules stay as they were, and INFO has
// the reason until a load succeeds. The limits of the rules are policies (rls/rule_policies.h),
// which a primary makes, and a replica has from its primary. A rule that leaves retires its policy,
// which is deleted when all its buckets are full, but not within an hour; sooner, the oldest first,
// if policies need its place. One with overrides stays.
//
// Get() is thread-safe and costs a lock; the rest belongs to one thread, which may be busy for 15
// us a rule.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "core/policies/policy_file.h"
#include "rls/rule.h"
#include "rls/rule_tree.h"
#include "server/session/services.h"

namespace weir {

class RlsRules {
 public:
  // Immutable.
  struct Set {
    RuleTree tree;
    std::vector<std::string> words;  // by the place of a rule: "@" and its policy; or empty
    PolicyFile policies;
    std::vector<RlsDomainCounts*> counts;  // by the place of a domain
    std::vector<std::string> places;       // by the place of a rule: "shop.yaml:3"
    // By the place of a rule: its counts under a name of its own, once it was asked for the first
    // time; null without rls-metrics=reference. Any thread may set them.
    std::unique_ptr<std::atomic<ReferenceCounts*>[]> reference;
  };

  // `services` must outlive the object.
  explicit RlsRules(Services& services) : services_(services) {}

  // Reads the files, and has the rules take effect. Fails with one line that names the place.
  absl::Status Load();
  // Has these rules take effect, of a control plane, or shows why there are none. On a primary that
  // has its state they are in force behind this call. Fails likewise, and if there are too many.
  absl::Status Replace(absl::StatusOr<std::vector<RuleFile>> rules, RulesFrom from);
  // Makes the policies of the rules, if there are rules. Requires: the server is a primary, and has
  // its state.
  absl::Status MakePolicies();
  // Loads the rules again, and logs it, if the files have changed: two looks in a row must see the
  // same, so that half of a change is not read. Makes the policies on a primary that lacks some:
  // one that has been a replica has those of another server. Deletes those that have left.
  void Look();

  // Null before the first load.
  [[nodiscard]] std::shared_ptr<const Set> Get() const {
    MutexLock lock(mutex_);
    return set_;
  }

 private:
  // What tells that the files have changed: their names, sizes, inodes and times.
  using Traces = std::vector<std::string>;
  // A policy that is retired, and that is deleted at `ends` if it still is.
  struct Leaving {
    std::string name;
    Instant since;
    Instant ends;
  };

  [[nodiscard]] Traces LookAtFiles() const;
  // Uses what was read, counts it, and shows what is wrong with it.
  absl::Status Take(const absl::StatusOr<std::shared_ptr<const Set>>& read, RulesFrom from);
  absl::Status Use(const std::shared_ptr<const Set>& set, RulesFrom from);
  absl::Status MakePoliciesOf(const Set& set);
  void LookForChanges();
  // True if the server has the policies of the rules.
  [[nodiscard]] bool HasPolicies();
  // Retires and deletes policies, as far as these would be too many.
  absl::Status MakeRoom(const PolicyFile& policies_of_rules);
  // Shows in INFO why the policies are not made, if no mistake of the last load is shown. Logs it
  // if it is new.
  void ShowError(const absl::Status& made);
  void NoteRetired();
  void DeleteLeft(Instant now);
  // Deletes those of these that are retired and have no override.
  void Delete(std::span<const Leaving> retired);

  Services& services_;
  Traces loaded_;                   // of the files at the last load
  Traces seen_;                     // at the last look
  std::string load_error_;          // of the last load
  std::string making_error_;        // of the last MakePolicies by Look
  bool has_leftovers_ = false;      // policies of the rules before those of set_
  std::vector<Leaving> leaving_;    // the oldest first
  std::uint64_t version_seen_ = 0;  // of the policies when they were those of the rules
  mutable Mutex mutex_;
  std::shared_ptr<const Set> set_ ABSL_GUARDED_BY(mutex_);
};

// Reads the rules again at SIGHUP, and logs what came of it.
void ReloadRules(RlsRules& rules);

}  // namespace weir
