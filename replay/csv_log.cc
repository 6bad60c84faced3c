// The reader of CSV files (log_reader.h).
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/number_word.h"
#include "replay/civil_time.h"
#include "replay/log_reader.h"

namespace weir {
namespace {

absl::StatusOr<Instant> CsvTime(std::string_view text) {
  if (const std::optional<Instant> at = ReadIsoTime(text)) return *at;
  absl::StatusOr<Instant> at = ParseUnixSeconds(text);
  if (at.ok()) return at;
  return BadWord("time", text,
                 "expected Unix seconds, as in 1700000000.25, or as in 2023-11-14T22:13:20.25Z");
}

class CsvReader final : public LogReader {
 public:
  CsvReader(const std::vector<std::string>& columns, bool cost_is_optional, std::string key)
      : key_text_(std::move(key)),
        columns_(columns.size()),
        time_(ColumnOf(columns, "time")),
        key_(ColumnOf(columns, "key")),
        cost_(ColumnOf(columns, "cost")),
        fields_min_(cost_is_optional && cost_ + 1 == columns_ ? cost_ : columns_),
        names_(columns) {
    WEIR_CHECK(time_ < columns_);
    WEIR_CHECK((key_ < columns_) == key_text_.empty());
  }

  absl::StatusOr<bool> Read(std::string_view line, LoggedRequest& request) override {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    const bool is_first = std::exchange(is_first_, false);
    if (is_first && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.empty() || (line.front() == '#' && key_ != 0)) return false;
    WEIR_RETURN_IF_ERROR(Split(line));
    if (fields_.size() < fields_min_ || fields_.size() > columns_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the line has ", fields_.size(), fields_.size() == 1 ? " field" : " fields",
          ", expected ", fields_min_, fields_min_ < columns_ ? absl::StrCat(" or ", columns_) : "",
          " (--columns)"));
    }
    const std::string_view time = StdView(absl::StripAsciiWhitespace(AbslView(fields_[time_])));
    if (!has_begun_ && !time.empty() &&
        absl::ascii_isalpha(static_cast<unsigned char>(time.front()))) {
      has_begun_ = true;
      WEIR_RETURN_IF_ERROR(CheckHeader());
      return false;
    }
    const absl::StatusOr<Instant> at = CsvTime(fields_[time_]);
    if (!at.ok()) return at.status();
    logged_ = {.key = key_ < columns_ ? fields_[key_] : key_text_};
    if (cost_ < fields_.size()) {
      const absl::StatusOr<std::int64_t> cost = ReadNumber("cost", fields_[cost_], 0, INT64_MAX);
      if (!cost.ok()) return cost.status();
      logged_.cost = *cost;
    }
    has_begun_ = true;
    request = {.at = *at, .keys = {&logged_, 1}};
    return true;
  }

 private:
  static std::size_t ColumnOf(const std::vector<std::string>& columns, std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
  }

  // Fails if the header has the name of one column in the place of another that is read.
  [[nodiscard]] absl::Status CheckHeader() const {
    std::vector<std::string> names;
    for (const std::string_view field : fields_) {
      names.push_back(absl::AsciiStrToLower(absl::StripAsciiWhitespace(AbslView(field))));
    }
    for (const std::size_t i : {time_, key_, cost_}) {
      if (i >= names.size()) continue;
      const std::string& name = names[i];
      const bool is_known =
          name == "time" || name == "key" || name == "cost" || ColumnOf(names_, name) < columns_;
      if (name == names_[i] || !is_known) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "the header has ", Quote(name), " in the place of ", Quote(names_[i]),
          ": expected the columns of the file, as in --columns ", absl::StrJoin(names, ",")));
    }
    return absl::OkStatus();
  }

  // Finds the fields: views into `line` or, for those in quotes, into unquoted_.
  absl::Status Split(std::string_view line) {
    fields_.clear();
    unquoted_.clear();
    unquoted_.reserve(line.size());  // so that it never moves
    for (std::string_view rest = line;;) {
      if (rest.starts_with('"')) {
        WEIR_RETURN_IF_ERROR(Unquote(rest));
      } else {
        const std::size_t size = std::min(rest.find(','), rest.size());
        if (rest.substr(0, size).find('"') != std::string_view::npos) {
          return absl::InvalidArgumentError(
              "a quote inside of a field: expected it doubled, and the field in quotes");
        }
        fields_.push_back(rest.substr(0, size));
        rest.remove_prefix(size);
      }
      if (rest.empty()) return absl::OkStatus();
      WEIR_CHECK(rest.front() == ',');
      rest.remove_prefix(1);
    }
  }

  // Takes the quoted field at the front of `rest`; a comma or the end of the line is next.
  absl::Status Unquote(std::string_view& rest) {
    const std::size_t begin = unquoted_.size();
    rest.remove_prefix(1);
    for (;;) {
      const std::size_t quote = rest.find('"');
      if (quote == std::string_view::npos) {
        return absl::InvalidArgumentError("a quote is not closed: a record is one line");
      }
      unquoted_ += rest.substr(0, quote);
      rest.remove_prefix(quote + 1);
      if (!rest.starts_with('"')) break;
      unquoted_ += '"';
      rest.remove_prefix(1);
    }
    if (!rest.empty() && rest.front() != ',') {
      return absl::InvalidArgumentError("expected a comma after a closing quote");
    }
    fields_.push_back(std::string_view(unquoted_).substr(begin));
    return absl::OkStatus();
  }

  const std::string key_text_;  // of all records; empty: it is in a column
  const std::size_t columns_;
  const std::size_t time_;
  const std::size_t key_;   // columns_ if there is none
  const std::size_t cost_;  // columns_ if there is none
  const std::size_t fields_min_;
  const std::vector<std::string> names_;
  bool is_first_ = true;
  bool has_begun_ = false;  // with a header or a record
  std::vector<std::string_view> fields_;
  std::string unquoted_;
  LoggedKey logged_;
};

}  // namespace

std::unique_ptr<LogReader> MakeCsvReader(const std::vector<std::string>& columns,
                                         bool cost_is_optional, std::string key) {
  return std::make_unique<CsvReader>(columns, cost_is_optional, std::move(key));
}

}  // namespace weir
