#include "server/json/command_reader.h"

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "server/json/json_body.h"

namespace weir {

absl::Status CommandReader::Read(std::size_t depth) {
  words_depth_ = depth;
  return ReadJson(body_, *this);
}

absl::Status CommandReader::Refusal() const {
  if (words_depth_ == 1) {
    return absl::InvalidArgumentError(
        R"(a command must be a list of strings and numbers, as in ["RL.ALLOW","k","10/s"])");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a pipeline must be a list of commands, each a list of strings and numbers: see "
                   "command ",
                   words_.size()));
}

absl::Status CommandReader::OnBegin(char bracket) {
  if (bracket != '[' || depth_ == words_depth_) return Refusal();
  ++depth_;
  if (depth_ == words_depth_ && words_.size() == kJsonRequestsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("too many commands: a pipeline has at most ", kJsonRequestsMax));
  }
  return absl::OkStatus();
}

absl::Status CommandReader::OnEnd(char /*bracket*/) {
  if (depth_-- != words_depth_) return absl::OkStatus();
  if (words_.is_empty()) return Refusal();
  return words_.EndCommand();
}

absl::Status CommandReader::OnName(std::string_view /*name*/) { return Refusal(); }

absl::Status CommandReader::OnValue(const JsonValue& value) {
  const bool is_word = value.kind == JsonKind::kText || value.kind == JsonKind::kNumber;
  if (!is_word || depth_ != words_depth_) return Refusal();
  words_.Add(words_.Keep(value.text));
  return absl::OkStatus();
}

}  // namespace weir
