// The host of an edge in unit tests: notes what the edge sends and answers, as texts, and makes the
// replies of a primary.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "edge/edge.h"
#include "protocol/resp_writer.h"

namespace weir {

inline std::vector<std::string> WordsIn(std::string_view text) {
  return absl::StrSplit(absl::string_view(text.data(), text.size()), ' ', absl::SkipEmpty());
}

// "wait", "pass on", "away", or the numbers of a verdict.
inline std::string TextOf(const EdgeAnswer& answer) {
  switch (answer.kind) {
    case EdgeAnswer::Kind::kWaits:
      return "wait";
    case EdgeAnswer::Kind::kPassOn:
      return "pass on";
    case EdgeAnswer::Kind::kAway:
      return "away";
    case EdgeAnswer::Kind::kVerdict:
      break;
  }
  std::string text = absl::StrJoin(answer.numbers, " ");
  for (const EdgeAnswer::Row& row : answer.rows) {
    absl::StrAppend(&text, " [", absl::string_view(row.name.data(), row.name.size()), " ",
                    absl::StrJoin(row.numbers, " "), "]");
  }
  return text;
}

// A reply to RL.SLICE about one limit, 100/s, with a cost of 1.
struct SliceNumbersInTest {
  std::int64_t granted = 0;
  std::int64_t remaining = 0;
  std::int64_t retry_us = 0;
  std::int64_t reset_us = 0;
  std::int64_t life_us = 250'000;
  std::int64_t changes = 1;
};
inline std::string SliceReplyOf(const SliceNumbersInTest& n) {
  std::string reply;
  RespWriter writer(reply);
  writer.Array(8);
  for (const std::int64_t number :
       {n.granted, n.remaining, n.retry_us, n.reset_us, std::int64_t{0}, n.life_us, n.changes}) {
    writer.Integer(number);
  }
  writer.Array(1);
  writer.Array(9);
  writer.Bulk("100/s");
  for (const std::int64_t number :
       {std::int64_t{n.retry_us == 0}, std::int64_t{100}, n.remaining, n.retry_us, n.reset_us,
        std::int64_t{0}, std::int64_t{1}, std::int64_t{0}}) {
    writer.Integer(number);
  }
  return reply;
}

class ScriptedPrimary final : public Edge::Host {
 public:
  void Send(std::span<const std::string_view> words) override {
    sent_.push_back(absl::StrJoin(
        words, " ", [](std::string* out, std::string_view word) { out->append(word); }));
  }
  void Answer(std::uint64_t ticket, const EdgeAnswer& answer) override {
    answers_.push_back(absl::StrCat(ticket, ": ", TextOf(answer)));
    const char* const blank = flags_.empty() ? "" : " ";
    if (answer.was_needed) absl::StrAppend(&flags_, blank, "needed");
    if (answer.is_counted) absl::StrAppend(&flags_, " counted");
  }

  [[nodiscard]] std::vector<std::string> TakeSent() { return std::exchange(sent_, {}); }
  // What the answers since the last call say about the primary's part in them.
  [[nodiscard]] std::string Flags() { return std::exchange(flags_, {}); }
  [[nodiscard]] std::vector<std::string> TakeAnswers() { return std::exchange(answers_, {}); }

 private:
  std::vector<std::string> sent_;
  std::vector<std::string> answers_;
  std::string flags_;
};

}  // namespace weir
