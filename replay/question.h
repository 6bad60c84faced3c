// The request that is asked instead of each logged one: the text of --ask, read once.
//
//     ask = word [limit ...] [COST n] [AND ...] [OR ...]     '{key} 10/s AND all 1000/s'
//
// The words are those of RL.ALLOW (core/commands/request_grammar.h), in a line whose words may be
// quoted (protocol/inline_words.h). {key} in a key stands for the logged key; any other word in
// braces is an error. A limit that names no cost, in a group that names none, takes the logged
// cost: that of the logged limit in its position, else that of the logged key. A logged request
// with several keys asks for all of them at once, in each alternative; a key without {key} is asked
// for once, with the costs of the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/policies/limit_memo.h"
#include "core/policies/policies.h"
#include "core/rules/limit.h"
#include "core/table/key_hash.h"
#include "core/words/request.h"
#include "replay/logged_request.h"

namespace weir {

// Not thread-safe.
class Question {
 public:
  // Fails with kInvalidArgument or kNotFound, and names the word that is wrong. `policies` must
  // outlive the question.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Question>> Parse(std::string_view text,
                                                                       const Policies* policies);
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  // The names of its limits, in the order of the text.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] const Check& check(std::size_t limit) const { return checks_[limit]; }

  // Fails with kInvalidArgument if the request cannot be asked: too many limits in all, limits that
  // RL.WAIT does not have, or alternatives of another command than RL.ALLOW.
  [[nodiscard]] absl::Status MayAsk(const LoggedRequest& logged) const;

  // The request. An alternative has a check of each of its limits for the first logged key, then
  // one of each limit of {key} for each further key. It views this object and `logged`, and is good
  // until the next call. Requires: MayAsk(logged), and hashes of its keys by the same hasher.
  [[nodiscard]] const Request& RequestFor(const LoggedRequest& logged, const KeyHasher& hasher);

  // The limit and the logged key of a check of such a request, as indices.
  struct Place {
    std::size_t limit;
    std::size_t key;
  };
  [[nodiscard]] Place PlaceOf(std::size_t check) const { return places_[check]; }
  // How many alternatives there are, and which one has the limit.
  [[nodiscard]] std::size_t alternatives() const noexcept {
    return AlternativeOf(checks_.size() - 1) + 1;
  }
  [[nodiscard]] std::size_t AlternativeOf(std::size_t limit) const noexcept {
    return checks_.AlternativeOf(limit);
  }

  // Visits the keys that {key} is a part of, for the logged key, and those without {key} that are
  // the logged key itself. visit(std::string_view).
  template <typename Visit>
  void VisitKeys(std::string_view logged_key, Visit visit) const {
    for (const KeyPattern& pattern : patterns_) {
      if (!pattern.is_constant() || pattern.pieces[0] == logged_key) {
        visit(pattern.Expand(logged_key));
      }
    }
  }

 private:
  // The text of a key between the places of {key}: one piece if it has none.
  struct KeyPattern {
    std::vector<std::string> pieces;

    [[nodiscard]] bool is_constant() const noexcept { return pieces.size() == 1; }
    [[nodiscard]] bool is_logged_key() const noexcept {
      return pieces.size() == 2 && pieces[0].empty() && pieces[1].empty();
    }
    [[nodiscard]] std::string Expand(std::string_view logged_key) const;
  };
  // The parts of a check that depend on the logged request.
  struct Part {
    std::size_t pattern;   // of patterns_
    std::size_t position;  // of the limit's word among those of its key
    bool takes_logged_cost;
  };

  Question(std::string_view text, const Policies* policies) : text_(text), memo_(policies) {}
  absl::Status Read(const Policies* policies);
  absl::Status ReadParts(std::span<const std::string_view> words);
  void PlaceChecks(std::size_t keys);

  const std::string text_;
  LimitMemo memo_;  // the checks' limits are its own, so it reads no other request
  std::string unquoted_;
  std::vector<KeyPattern> patterns_;
  std::vector<Part> parts_;      // one per check
  Request checks_;               // for one key, with the costs that the text names
  std::size_t of_each_key_ = 0;  // how many of these have {key} in their key
  std::vector<std::string> names_;
  absl::Status may_wait_;
  std::vector<Place> places_;      // of the checks of request_
  std::size_t placed_keys_ = 0;    // how many logged keys places_ is for
  Request request_;                // of RequestFor
  std::vector<std::string> keys_;  // that request_ views
};

}  // namespace weir
