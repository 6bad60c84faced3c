// The reader of the bodies of /v1/allow and its siblings and of /v1/batch: JSON -> commands.
//
//     request = {"key": text, "limits": [limit, ...], "cost": n, "and": [group, ...],
//                "details": bool, "upto": n, "hold": text, "ttl_ms": n, "do": name}
//     group   = {"key": text, "limits": [limit, ...], "cost": n}
//     batch   = {"requests": [request, ...]}        at most kJsonRequestsMax of them
//
// Fields come in any order, each once. The command decides which of them a request may have, and
// which it must have (limit_command.h). "do" stands in batches only, where it is "allow" by
// default. The words are those that a client of the Redis protocol would send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "protocol/json_reader.h"
#include "server/json/json_words.h"
#include "server/json/limit_command.h"

namespace weir {

class LimitRequestReader final : private JsonParts {
 public:
  explicit LimitRequestReader(std::string_view body) : body_(body), words_(body) {}

  // Read the body, once. Fail with kInvalidArgument if it is no such body; a mistake inside a
  // request of a batch is that request's error.
  [[nodiscard]] absl::Status ReadRequest(const LimitCommand& command);
  [[nodiscard]] absl::Status ReadBatch();

  // The number of requests.
  [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }
  // The mistake in a request of a batch; empty if there is none.
  [[nodiscard]] std::string_view error(std::size_t request) const {
    return requests_[request].error;
  }
  // The words of a request without a mistake, which last as long as the reader.
  [[nodiscard]] std::span<const std::string_view> words(std::size_t request) const {
    return words_[requests_[request].command];
  }
  // The words of all requests without a mistake, in their order.
  [[nodiscard]] std::vector<std::span<const std::string_view>> commands() const;

 private:
  using Field = LimitField;
  // The innermost bracket that is open.
  enum class Place : std::uint8_t { kOutside, kBatch, kRequests, kRequest, kLimits, kAnd, kGroup };

  struct Request {
    std::string error;
    std::size_t command = 0;  // in words_
  };

  // A key with its limits.
  struct Group {
    LimitFields seen;
    std::string_view key;
    std::size_t limits_begin = 0;  // in limits_
    std::size_t limits_end = 0;
    std::string_view cost;
  };

  absl::Status OnBegin(char bracket) override;
  absl::Status OnEnd(char bracket) override;
  absl::Status OnName(std::string_view name) override;
  absl::Status OnText(std::string_view text) override;
  absl::Status OnNumber(std::string_view text, std::optional<std::int64_t> integer) override;
  absl::Status OnLiteral(std::optional<bool> value) override;

  absl::Status BeginRequest();
  absl::Status FinishRequest();
  // The mistake in the fields of the request that was read, or of one of its groups; empty if there
  // is none. In a batch the command may stand behind them, so they are checked at the end.
  [[nodiscard]] std::string Mistake() const;
  [[nodiscard]] std::string MistakeIn(std::size_t index) const;
  void AddGroup(const Group& group);
  void AddOption(std::string_view name, std::string_view value);
  absl::Status OnScalar();

  // Ends the reading of the present request with an error.
  absl::Status Fail(std::string_view what);
  absl::Status Refuse(Field field);
  // The error of a field of a group whose value does not fit.
  [[nodiscard]] static std::string Refusal(Field field, std::size_t group);
  // The name of a field of a group: "and[0].key".
  [[nodiscard]] static std::string NameOf(Field field, std::size_t group);
  [[nodiscard]] std::string KnownFields() const;
  [[nodiscard]] bool Allows(Field field) const;
  [[nodiscard]] std::string_view* NumberOf(Field field);
  [[nodiscard]] bool InObject() const noexcept {
    return place_ == Place::kRequest || place_ == Place::kGroup;
  }

  // The group that is being read.
  [[nodiscard]] std::size_t GroupIndex() const noexcept { return in_and_ ? groups_.size() - 1 : 0; }
  [[nodiscard]] Group& group() { return groups_[GroupIndex()]; }

  const std::string_view body_;
  JsonWords words_;
  std::vector<Request> requests_;
  bool is_batch_ = false;
  bool seen_requests_ = false;

  // The reading of the present request.
  Place place_ = Place::kOutside;
  const LimitCommand* command_ = nullptr;
  std::vector<Group> groups_;  // the first is the request itself
  std::vector<std::string_view> limits_;
  Field field_ = Field::kNone;
  bool in_and_ = false;
  bool details_ = false;
  std::string_view upto_;
  std::string_view hold_;
  std::string_view ttl_;
  bool failed_ = false;    // the rest of the request is skipped
  std::size_t depth_ = 0;  // of brackets, its own counted
};

}  // namespace weir
