// The reader of the bodies of /v1/allow and its siblings and of /v1/batch: JSON -> commands.
//
//     request = {"key": text, "limits": [limit, ...], "cost": n, "and": [group, ...],
//                "or": [other, ...], "details": bool, "upto": n, "hold": text, "ttl_ms": n,
//                "do": name}
//     other   = {"key": text, "limits": [limit, ...], "cost": n, "and": [group, ...]}
//     group   = {"key": text, "limits": [limit, ...], "cost": n}
//     batch   = {"requests": [request, ...]}        at most kJsonRequestsMax of them
//
// Fields come in any order, each once. The command decides which of them a request may have, and
// which it must have. "do" stands in batches only, where it is "allow" by
// default. The words are those that a client of the Redis protocol would send.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "server/json/field_reader.h"
#include "server/json/json_words.h"

namespace weir {

// A command about limits that has a path of its own under /v1.
struct LimitCommand {
  std::string_view name;     // "allow"
  std::string_view command;  // "RL.ALLOW"
  // The fields that a request may have, and those that it must have. "limits" may be empty, or
  // missing, unless it is among the latter.
  FieldSet takes;
  FieldSet needs;
};

// Null if there is none.
[[nodiscard]] const LimitCommand* FindLimitCommand(std::string_view name) noexcept;

// The names of all commands: "allow, ... or take".
inline constexpr std::string_view kLimitCommandNames =
    "allow, cancel, charge, commit, peek, refund, reserve or take";

class LimitRequestReader final : private FieldReader {
 public:
  explicit LimitRequestReader(std::string_view body);

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
  struct Request {
    std::string error;
    std::size_t command = 0;  // in words_
  };

  // A key with its limits; the first one has the values of the request itself.
  struct Group {
    std::size_t alternative = 0;  // 0, or 1 and more for those of "or"
    bool is_and = false;          // an element of "and"
    FieldSet seen;
    std::size_t limits_begin = 0;  // in limits_
    std::size_t limits_end = 0;
    std::array<std::string_view, 11> values;  // of texts and numbers, by field
  };

  bool IsKnown(std::size_t field) const override;
  std::string KnownText() const override;
  std::string NameOf(std::size_t field) const override;
  absl::Status BeginObject() override;
  absl::Status Store(std::size_t field, const JsonValue& value) override;
  absl::Status EndObject(FieldSet seen) override;
  absl::Status NoObject() override;
  bool KeepsMistake(std::string_view what) override;

  absl::Status BeginRequest();
  absl::Status FinishRequest();
  // The mistake in the fields of the request that was read, or of one of its groups; empty if there
  // is none. In a batch the command may stand behind them, so they are checked at the end.
  [[nodiscard]] std::string Mistake() const;
  [[nodiscard]] std::string MistakeIn(std::size_t index) const;
  void AddGroup(const Group& group);
  void AddOption(std::string_view name, std::string_view value);

  [[nodiscard]] bool InBatch() const noexcept { return is_batch_ && objects() == 1; }
  // The number of objects that are open within the request: of an element of "or", "and" or both.
  [[nodiscard]] std::size_t GroupDepth() const noexcept {
    const std::size_t around = is_batch_ ? 2 : 1;
    return objects() > around ? objects() - around : 0;
  }
  // True inside of an element of "and".
  [[nodiscard]] bool InAnd() const noexcept;
  // The group that is being read.
  [[nodiscard]] std::size_t GroupIndex() const noexcept;
  [[nodiscard]] std::string FieldName(std::size_t field, std::size_t index) const;

  const std::string_view body_;
  JsonWords words_;
  std::vector<Request> requests_;
  bool is_batch_ = false;
  bool seen_requests_ = false;

  // The reading of the present request.
  const LimitCommand* command_ = nullptr;
  std::vector<Group> groups_;
  std::size_t other_ = 0;         // in groups_: the present or last element of "or"
  std::size_t alternatives_ = 1;  // begun so far
  std::vector<std::string_view> limits_;
  bool details_ = false;
};

}  // namespace weir
