// The actions of the role machine as words, for tests and for what a failed simulation prints.
#pragma once

#include <array>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"

#include "core/base/id_type.h"
#include "replication/role.h"

namespace weir {

struct WordsOfAction {
  std::string operator()(const PublishView&) const { return "publish"; }
  std::string operator()(const Barrier&) const { return "barrier"; }
  std::string operator()(const EndWaits&) const { return "end-waits"; }
  std::string operator()(const PauseChanges&) const { return "pause"; }
  std::string operator()(const ResumeChanges&) const { return "resume"; }
  std::string operator()(const CloseClients&) const { return "close-clients"; }
  std::string operator()(const EndHistory& ending) const {
    return ending.successor.empty() ? "end-history"
                                    : absl::StrCat("end-history>", ending.successor);
  }
  std::string operator()(const LetYieldLeave&) const { return "let-yield"; }
  std::string operator()(const EndReplicaLinks&) const { return "end-replicas"; }
  std::string operator()(const BeginHistory& begin) const {
    return begin.is_promotion ? "begin-history+" : "begin-history";
  }
  std::string operator()(const OpenLink& open) const {
    return absl::StrCat("open-link:", NumberOf(open.link), ">", open.primary.host,
                        open.is_told ? "!" : "", open.says_told ? "!" : "");
  }
  std::string operator()(const CloseLink& close) const {
    return absl::StrCat("close-link:", NumberOf(close.link));
  }
  std::string operator()(const JoinHistory&) const { return "join"; }
  std::string operator()(const AskTakeover&) const { return "ask"; }
  std::string operator()(const RefuseTakeover&) const { return "refuse"; }
  std::string operator()(const LookAtReplicas&) const { return "look"; }
  std::string operator()(const SaveRecord&) const { return "save"; }
  std::string operator()(const RemoveBackupMark&) const { return "remove-mark"; }
  std::string operator()(const AnswerFailover& answer) const {
    return answer.status.ok() ? "ok" : absl::StrCat("ERR ", answer.status.message());
  }
  std::string operator()(const AnswerSync& answer) const {
    static constexpr std::array<const char*, 6> kWords = {
        "accepted", "loading", "referral", "later-term", "other-group", "no-primary"};
    std::string words = kWords.at(static_cast<std::size_t>(answer.what));
    if (answer.common) absl::StrAppend(&words, "@", *answer.common);
    return words;
  }
  std::string operator()(const Remark& remark) const {
    return absl::StrCat("remark:", static_cast<int>(remark.what));
  }
};

inline constexpr std::array kStateWords = {"loading", "gated",   "serving", "yielding", "following",
                                           "asking",  "waiting", "saving",  "deposed",  "stopping"};

}  // namespace weir
