#include "replay/time_order.h"

#include "absl/strings/str_cat.h"

#include "core/base/check.h"

namespace weir {

std::string SecondsOf(Nanos span) {
  const std::int64_t millis = CeilMillis(span);
  std::string text = absl::StrCat(millis / 1000);
  if (millis % 1000 == 0) return text + " s";
  const std::string thousandths = absl::StrCat(1000 + millis % 1000);
  return absl::StrCat(text, ".", thousandths.substr(1), " s");
}

absl::Status TimeOrder::Add(std::uint64_t line_number, const LoggedRequest& request) {
  WEIR_CHECK(!request.keys.empty() || request.action == LoggedAction::kClear);
  if (std::exchange(may_be_leap_, false)) TakeBackLeap(line_number, request.at);
  if (latest_ - request.at > slack_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its time is ", SecondsOf(latest_ - request.at), " before that of line ", latest_line_,
        ", more than --slack, ", SecondsOf(slack_), ": sort the log or raise it"));
  }
  if (request.at >= latest_) {
    may_be_leap_ = request.at - latest_ > std::max(kLeapMin, slack_);
    before_latest_ = std::exchange(latest_, request.at);
    line_before_latest_ = std::exchange(latest_line_, line_number);
  } else {
    is_sorted_ = false;
  }
  earliest_ = std::min(earliest_, request.at);
  queue_.Append(request);
  for (QueuedKey& key : std::span(queue_.keys).last(request.keys.size())) {
    key.hash = hasher_(std::string_view(queue_.text).substr(key.text, key.text_bytes));
  }
  return absl::OkStatus();
}

// Takes the last request back if this line shows that it was far ahead by mistake.
void TimeOrder::TakeBackLeap(std::uint64_t line_number, Instant at) {
  const Nanos back = latest_ - at;
  if (back <= std::max(kLeapMin, slack_) || before_latest_ - at > slack_) return;
  taken_back_ = {latest_line_, absl::StrCat("its time is ", SecondsOf(back), " after that of line ",
                                            line_number, ", the next: a wrong clock?")};
  latest_ = before_latest_;
  latest_line_ = line_before_latest_;
  queue_.DropLast();
}

void TimeOrder::Sort() {
  if (!std::exchange(is_sorted_, true)) {
    std::ranges::stable_sort(queue_.requests, {}, &Queued::at);
  }
}

void TimeOrder::Keep(std::size_t first) {
  spare_.Clear();
  for (std::size_t i = first; i < queue_.requests.size(); ++i) {
    spare_.Append(queue_.View(queue_.requests[i], view_));
  }
  std::swap(queue_, spare_);
  earliest_ = queue_.requests.empty() ? kInstantMax : queue_.requests.front().at;
}

void TimeOrder::Queue::Append(const LoggedRequest& request) {
  requests.push_back({request.at, request.number, keys.size(),
                      static_cast<std::uint32_t>(request.keys.size()), request.action});
  for (const LoggedKey& key : request.keys) {
    keys.push_back({text.size(), word_costs.size(), key.cost, key.hash,
                    static_cast<std::uint32_t>(key.key.size()),
                    static_cast<std::uint32_t>(key.word_costs.size())});
    text += key.key;
    word_costs.insert(word_costs.end(), key.word_costs.begin(), key.word_costs.end());
  }
}

void TimeOrder::Queue::DropLast() {
  const Queued& last = requests.back();
  keys.resize(last.first_key);  // Their text and costs stay until Clear.
  requests.pop_back();
}

LoggedRequest TimeOrder::Queue::View(const Queued& queued, std::vector<LoggedKey>& views) const {
  views.clear();
  for (const QueuedKey& key : std::span(keys).subspan(queued.first_key, queued.keys)) {
    views.push_back({.key = std::string_view(text).substr(key.text, key.text_bytes),
                     .cost = key.cost,
                     .hash = key.hash,
                     .word_costs = std::span(word_costs).subspan(key.first_cost, key.word_costs)});
  }
  return {.at = queued.at, .action = queued.action, .number = queued.number, .keys = views};
}

void TimeOrder::Queue::Clear() {
  requests.clear();
  keys.clear();
  word_costs.clear();
  text.clear();
}

}  // namespace weir
