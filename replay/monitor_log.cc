// The reader of MONITOR's lines (log_reader.h).
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "core/words/number_word.h"
#include "core/words/throttle_request.h"
#include "core/words/word_reader.h"
#include "protocol/inline_words.h"
#include "replay/log_reader.h"

namespace weir {
namespace {

// A line's bytes bound its words.
constexpr std::size_t kWordsMax = std::numeric_limits<std::size_t>::max();

// weir's MONITOR cuts a word after this many bytes.
constexpr std::size_t kMonitorWordBytesMax = 512;

// True for a word that ends as MONITOR marks omissions: "... (88 more bytes)" for a word that it
// cuts, "... (3 more arguments)" for the words behind one, and "... (9 more commands)" for whole
// lines.
bool IsCut(std::string_view word) {
  const std::size_t dots = word.rfind("... (");
  if (dots == std::string_view::npos) return false;
  const std::string_view rest = word.substr(dots + std::string_view("... (").size());
  const std::size_t digits = rest.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return false;
  const std::string_view what = rest.substr(digits);
  return (dots == kMonitorWordBytesMax && what == " more bytes)") ||
         (dots == 0 && (what == " more arguments)" || what == " more commands)"));
}

enum class Command : std::uint8_t { kRequest, kReset, kDelete, kFlush, kThrottle };

struct CommandRow {
  std::string_view name;
  Command command;
  LoggedAction action;
};

constexpr std::array kCommandRows = {
    CommandRow{"RL.ALLOW", Command::kRequest, LoggedAction::kAllow},
    CommandRow{"RL.TAKE", Command::kRequest, LoggedAction::kTake},
    CommandRow{"RL.WAIT", Command::kRequest, LoggedAction::kWait},
    CommandRow{"RL.CHARGE", Command::kRequest, LoggedAction::kCharge},
    CommandRow{"RL.REFUND", Command::kRequest, LoggedAction::kRefund},
    CommandRow{"RL.RESET", Command::kReset, LoggedAction::kReset},
    CommandRow{"DEL", Command::kDelete, LoggedAction::kReset},
    CommandRow{"UNLINK", Command::kDelete, LoggedAction::kReset},
    CommandRow{"FLUSHALL", Command::kFlush, LoggedAction::kClear},
    CommandRow{"FLUSHDB", Command::kFlush, LoggedAction::kClear},
    CommandRow{"RL.THROTTLE", Command::kThrottle, LoggedAction::kAllow},
    CommandRow{"CL.THROTTLE", Command::kThrottle, LoggedAction::kAllow},
};

const CommandRow* FindRow(std::string_view name) {
  for (const CommandRow& row : kCommandRows) {
    if (absl::EqualsIgnoreCase(AbslView(name), AbslView(row.name))) return &row;
  }
  return nullptr;
}

// The costs of limits' words, remembered by text: a log has few different ones.
class WordCosts {
 public:
  // The word's cost=, or kNoCost. Fails as ParseLimitWord does.
  absl::StatusOr<std::int64_t> Read(std::string_view word) {
    if (const auto known = costs_.find(AbslView(word)); known != costs_.end()) return known->second;
    const absl::StatusOr<LimitWord> limit = ParseLimitWord(word);
    if (!limit.ok()) return limit.status();
    constexpr std::size_t kWordsKept = 4096;
    if (costs_.size() == kWordsKept) costs_.clear();
    return costs_[std::string(word)] = limit->cost.value_or(kNoCost);
  }

 private:
  absl::flat_hash_map<std::string, std::int64_t> costs_;
};

class MonitorReader final : public LogReader {
 public:
  absl::StatusOr<bool> Read(std::string_view line, LoggedRequest& request) override {
    absl::string_view text = AbslView(line);
    absl::ConsumePrefix(&text, "+");  // as on the wire
    if (text.empty() || text == "OK") return false;
    const std::string_view time = StdView(text.substr(0, text.find(' ')));
    const std::size_t words_begin = text.find("] \"");
    if (!StdView(text).substr(time.size()).starts_with(" [") ||
        words_begin == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          "expected a line of MONITOR, as in 1700000000.250000 [0 127.0.0.1:50000] \"PING\"");
    }
    const absl::StatusOr<Instant> at = ParseUnixSeconds(time);
    if (!at.ok()) return at.status();
    const absl::Status split =
        SplitInlineWords(StdView(text.substr(words_begin + 2)), kWordsMax, words_, unquoted_);
    if (!split.ok()) return absl::InvalidArgumentError("a quote is not closed");
    if (IsCut(words_.front())) {
      return absl::InvalidArgumentError("MONITOR has left out the commands before this line");
    }
    const CommandRow* const row = FindRow(words_.front());
    if (!row) return false;
    LoggedRequest read{.at = *at, .action = row->action};
    const absl::Status status = ReadArguments(*row, read);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(AbslView(row->name), ": ", status.message()));
    }
    read.keys = keys_;
    request = read;
    return true;
  }

 private:
  absl::Status ReadArguments(const CommandRow& row, LoggedRequest& request) {
    for (const std::string_view word : words_) {
      if (IsCut(word)) return absl::InvalidArgumentError("MONITOR has cut the line");
    }
    keys_.clear();
    next_ = 1;
    switch (row.command) {
      case Command::kThrottle:
        return ReadThrottle();
      case Command::kReset:
        return ReadReset();
      case Command::kDelete:
        return ReadDelete();
      case Command::kFlush:
        return ReadFlush();
      case Command::kRequest:
        break;
    }
    return ReadRequest(request);
  }

  absl::Status ReadThrottle() {
    if (words_.size() < 5 || words_.size() > 6) {
      return absl::InvalidArgumentError("expected 4 or 5 words after the command");
    }
    const absl::StatusOr<ThrottleRequest> request = ParseThrottle(std::span(words_).subspan(1));
    if (!request.ok()) return request.status();
    keys_.push_back({.key = request->key, .cost = request->quantity});
    return absl::OkStatus();
  }

  // RL.RESET key [limit ...]. An ask has limits of its own, so the words of the log select none of
  // them, and every limit of the ask is reset.
  absl::Status ReadReset() {
    if (words_.size() < 2) return absl::InvalidArgumentError("expected a key");
    keys_.push_back({.key = words_[1]});
    return absl::OkStatus();
  }

  // DEL key [key ...]
  absl::Status ReadDelete() {
    if (words_.size() < 2) return absl::InvalidArgumentError("expected a key");
    for (; next_ < words_.size(); ++next_) keys_.push_back({.key = words_[next_]});
    return absl::OkStatus();
  }

  // FLUSHALL [ASYNC | SYNC]
  absl::Status ReadFlush() {
    if (!TryKeyword("SYNC")) TryKeyword("ASYNC");
    if (next_ == words_.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("unexpected ", Quote(words_[next_])));
  }

  // key limit [limit ...] [COST n] [AND key ...] [OR key ...] [option ...]: see
  // core/commands/request_grammar.h. Of several alternatives the keys are those of the first.
  absl::Status ReadRequest(LoggedRequest& request) {
    word_costs_.clear();
    word_costs_.reserve(words_.size());  // so that it never moves
    std::size_t keys = 0;
    do {
      WEIR_RETURN_IF_ERROR(ReadGroups());
      if (keys == 0) keys = keys_.size();
    } while (request.action == LoggedAction::kAllow && TryKeyword("OR"));
    keys_.resize(keys);
    bool has_number =
        request.action != LoggedAction::kTake && request.action != LoggedAction::kWait;
    while (next_ < words_.size()) {
      if (TryKeyword("WITHLIMITS")) continue;
      std::int64_t number = 0;
      if (TryKeyword("AT")) {
        WEIR_RETURN_IF_ERROR(
            ReadNumberAfter("AT", 0, kInstantMax.time_since_epoch().count(), number));
        request.at = Instant{Nanos{number}};
      } else if (request.action == LoggedAction::kTake && TryKeyword("UPTO")) {
        WEIR_RETURN_IF_ERROR(ReadNumberAfter("UPTO", 1, INT64_MAX, request.number));
        has_number = true;
      } else if (request.action == LoggedAction::kTake && TryKeyword("HOLD")) {
        if (next_ < words_.size()) ++next_;  // its id
      } else if (request.action == LoggedAction::kTake && TryKeyword("TTL")) {
        WEIR_RETURN_IF_ERROR(ReadNumberAfter("TTL", 1, INT64_MAX, number));
      } else if (request.action == LoggedAction::kWait && TryKeyword("TIMEOUT")) {
        const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(kMaxWaitMax);
        WEIR_RETURN_IF_ERROR(ReadNumberAfter("TIMEOUT", 0, most.count(), request.number));
        has_number = true;
      } else {
        return absl::InvalidArgumentError(absl::StrCat("unexpected ", Quote(words_[next_])));
      }
    }
    if (has_number) return absl::OkStatus();
    return absl::InvalidArgumentError(request.action == LoggedAction::kTake
                                          ? "expected UPTO and a number"
                                          : "expected TIMEOUT and a number");
  }

  absl::Status ReadGroups() {
    do {
      WEIR_RETURN_IF_ERROR(ReadGroup());
    } while (TryKeyword("AND"));
    return absl::OkStatus();
  }

  absl::Status ReadGroup() {
    if (next_ == words_.size()) return absl::InvalidArgumentError("expected a key");
    LoggedKey group{.key = words_[next_++]};
    const std::size_t first = word_costs_.size();
    while (next_ < words_.size() && KeywordOf(words_[next_]) == Keyword::kNone) {
      const absl::StatusOr<std::int64_t> cost = costs_.Read(words_[next_]);
      if (!cost.ok()) return cost.status();
      word_costs_.push_back(*cost);
      ++next_;
    }
    group.word_costs = std::span(word_costs_).subspan(first);
    if (group.word_costs.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a limit after the key ", Quote(group.key)));
    }
    if (TryKeyword("COST")) {
      WEIR_RETURN_IF_ERROR(ReadNumberAfter("COST", 0, INT64_MAX, group.cost));
    }
    keys_.push_back(group);
    return absl::OkStatus();
  }

  bool TryKeyword(std::string_view keyword) {
    if (next_ == words_.size()) return false;
    if (!absl::EqualsIgnoreCase(AbslView(words_[next_]), AbslView(keyword))) return false;
    ++next_;
    return true;
  }

  absl::Status ReadNumberAfter(std::string_view name, std::int64_t min, std::int64_t max,
                               std::int64_t& number) {
    const std::string_view word = next_ < words_.size() ? words_[next_++] : "";
    const absl::StatusOr<std::int64_t> read = ReadNumber(name, word, min, max);
    if (read.ok()) number = *read;
    return read.status();
  }

  std::vector<std::string_view> words_;
  std::string unquoted_;
  std::size_t next_ = 0;  // of words_
  std::vector<LoggedKey> keys_;
  std::vector<std::int64_t> word_costs_;
  WordCosts costs_;
};

}  // namespace

std::unique_ptr<LogReader> MakeMonitorReader() { return std::make_unique<MonitorReader>(); }

}  // namespace weir
