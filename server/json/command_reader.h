// The reader of the bodies of /v1/command and /v1/pipeline: JSON -> commands.
//
//     command  = "[" word *("," word) "]"          ["RL.ALLOW", "user:42", "10/s", "COST", 2]
//     pipeline = "[" [command *("," command)] "]"  at most kJsonRequestsMax of them
//     word     = string | number                   a number is the word that spells it
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "absl/status/status.h"

#include "protocol/json_reader.h"
#include "server/json/json_words.h"

namespace weir {

class CommandReader final : private JsonParts {
 public:
  explicit CommandReader(std::string_view body) : body_(body), words_(body) {}

  // Read the body, once. Fail with kInvalidArgument: then there is no command.
  [[nodiscard]] absl::Status ReadCommand() { return Read(1); }
  [[nodiscard]] absl::Status ReadPipeline() { return Read(2); }

  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }
  // The words of a command, at least one, which last as long as the reader.
  [[nodiscard]] std::span<const std::string_view> operator[](std::size_t command) const {
    return words_[command];
  }

 private:
  absl::Status OnBegin(char bracket) override;
  absl::Status OnEnd(char bracket) override;
  absl::Status OnName(std::string_view name) override;
  absl::Status OnValue(const JsonValue& value) override;

  absl::Status Read(std::size_t depth);
  [[nodiscard]] absl::Status Refusal() const;

  const std::string_view body_;
  JsonWords words_;
  std::size_t depth_ = 0;        // of brackets
  std::size_t words_depth_ = 0;  // the one at which words stand
};

}  // namespace weir
