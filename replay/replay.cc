#include "replay/replay.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/policies/policies.h"
#include "core/policies/policy_file.h"
#include "core/table/key_hash.h"
#include "replay/line_reader.h"
#include "replay/log_format.h"
#include "replay/log_reader.h"
#include "replay/time_order.h"
#include "replay/trial.h"

namespace weir {
namespace {

constexpr std::uint64_t kLinesPerProgress = 1 << 16;

std::unique_ptr<LogReader> MakeReader(LogFormat format, const ReplayOptions& options) {
  const int ipv6_bits = options.ipv6_bits.value_or(kIpv6Bits);
  switch (format) {
    case LogFormat::kCsv:
      return MakeCsvReader(options.columns, options.cost_is_optional, options.key);
    case LogFormat::kJson:
      return MakeJsonReader(options.json_fields, options.key, ipv6_bits);
    case LogFormat::kMonitor:
      return MakeMonitorReader();
    case LogFormat::kAccess:
      break;
  }
  return MakeAccessLogReader(ipv6_bits);
}

// The end of the error for a log without a request: names the format that its first line looks
// like. Empty if none is known.
std::string HintFor(std::string_view line, const std::optional<LogFormat>& said) {
  if (const std::optional<UnreadFormat> unread = TellUnread(line)) {
    return absl::StrCat("; this looks like ", AbslView(unread->name), ": use ",
                        AbslView(unread->use));
  }
  const std::optional<LogFormat> told = TellFormat(line);
  if (!said || !told || told == said) return "";
  return absl::StrCat("; this looks like ", AbslView(NameOf(*told)), ": leave out --",
                      said == LogFormat::kJson ? "json-fields" : AbslView(WordOf(*said)));
}

class Replay {
 public:
  explicit Replay(const ReplayOptions& options)
      : options_(options), is_told_(options.format.has_value()) {
    report_.log.name = options.log;
    SetFormat(options.format.value_or(LogFormat::kAccess));
    report_.fit_percent = options.fit_percent;
  }

  absl::Status Prepare() {
    if (!options_.policies.empty()) {
      const absl::StatusOr<PolicyFile> file = ReadPolicyFile(options_.policies);
      if (!file.ok()) return file.status();
      const auto replaced = policies_.ReplaceFile(*file);
      if (!replaced.ok()) return replaced.status();
    }
    for (const std::string& ask : options_.asks) {
      absl::StatusOr<std::unique_ptr<Question>> question = Question::Parse(ask, &policies_);
      if (!question.ok()) return question.status();
      if (options_.fit && (*question)->alternatives() > 1) {
        return absl::InvalidArgumentError("--fit needs an --ask without OR");
      }
      trials_.push_back(
          std::make_unique<Trial>(*std::move(question), secret_, options_.max_wait, options_.fit));
    }
    return absl::OkStatus();
  }

  absl::Status ReadLog(const std::function<void(const ReplayProgress&)>& progress) {
    const auto lines = LineReader::Open(options_.log);
    if (!lines.ok()) return lines.status();
    LineReader& reader = **lines;
    const auto visit = [this](const LoggedRequest& request) { Ask(request); };
    const auto ahead = [this](const KeyHash& key) {
      for (const auto& trial : trials_) trial->Prefetch(key);
    };
    while (reader.Next()) {
      WEIR_RETURN_IF_ERROR(ReadLine(reader));
      order_.Release(visit, ahead);
      if (reader.number() % kLinesPerProgress == 0) {
        progress({reader.number(), reader.bytes_read(), reader.file_bytes()});
      }
    }
    order_.ReleaseAll(visit, ahead);
    report_.log.lines = reader.number();
    report_.log.end_line = order_.latest_line();
    return reader.status();
  }

  absl::StatusOr<Report> MakeReport() {
    const LogReport& log = report_.log;
    if (log.requests == 0) {
      std::string error = absl::StrCat(Quote(log.name), " has no request in ", log.lines,
                                       log.lines == 1 ? " line" : " lines");
      if (log.bad_lines > 0) {
        absl::StrAppend(&error, ": line ", log.first_bad_lines.front().number, ": ",
                        log.first_bad_lines.front().error);
      }
      error += hint_;
      return absl::FailedPreconditionError(error);
    }
    if (log.late_lines > log.requests + log.refunds) {
      return absl::FailedPreconditionError(
          absl::StrCat(Quote(log.name), ": ", log.late_lines, " lines go back in time and only ",
                       log.requests + log.refunds, " do not: sort the log, raise --slack, ",
                       SecondsOf(options_.slack), ", or correct the time of line ", log.end_line));
    }
    for (const auto& trial : trials_) report_.asks.push_back(trial->MakeReport());
    if (trials_.size() == 2) report_.comparison = comparison_;
    return report_;
  }

 private:
  // Fails only if no line can be read.
  absl::Status ReadLine(const LineReader& reader) {
    if (reader.is_too_long()) {
      CountBad(reader.number(), "the line is longer than 1 MiB");
      return absl::OkStatus();
    }
    if (!has_line_ && !reader.line().empty()) {
      has_line_ = true;
      hint_ = HintFor(reader.line(), options_.format);
    }
    if (!is_told_) {
      if (reader.line().empty() || reader.line().starts_with('#')) {
        ++report_.log.passed_over;
        return absl::OkStatus();
      }
      WEIR_RETURN_IF_ERROR(Tell(reader.line()));
    }
    LoggedRequest request;
    const absl::StatusOr<bool> read = log_->Read(reader.line(), request);
    if (absl::IsFailedPrecondition(read.status())) {
      return absl::InvalidArgumentError(absl::StrCat(Quote(options_.log), " line ", reader.number(),
                                                     ": ", read.status().message()));
    }
    if (!read.ok()) {
      CountBad(reader.number(), StdView(read.status().message()));
    } else if (*read) {
      Add(reader.number(), request);
    } else {
      ++report_.log.passed_over;
    }
    return absl::OkStatus();
  }

  // Chooses the reader by a line. Until one tells its format, they are read as of an access log.
  absl::Status Tell(std::string_view line) {
    std::optional<LogFormat> format = TellFormat(line);
    LoggedRequest request;
    if (!format && log_->Read(line, request).ok()) format = LogFormat::kAccess;
    if (!format) return absl::OkStatus();
    is_told_ = true;
    SetFormat(*format);
    return CheckFormat(options_, *format);
  }

  void SetFormat(LogFormat format) {
    report_.log.format = format;
    log_ = MakeReader(format, options_);
  }

  void Add(std::uint64_t number, const LoggedRequest& request) {
    if (request.action == LoggedAction::kWait &&
        std::chrono::milliseconds{request.number} > options_.max_wait) {
      return CountBad(number, "RL.WAIT: TIMEOUT is above --max-wait");
    }
    for (const auto& trial : trials_) {
      const absl::Status may_ask = trial->MayAsk(request);
      if (!may_ask.ok()) return CountBad(number, StdView(may_ask.message()));
    }
    const absl::Status added = order_.Add(number, request);
    if (const auto leap = order_.TakeLeapBack()) CountBad(leap->line_number, leap->error);
    if (!added.ok()) {
      ++report_.log.late_lines;
      CountBad(number, StdView(added.message()));
    }
  }

  void CountBad(std::uint64_t number, std::string_view error) {
    LogReport& log = report_.log;
    ++log.bad_lines;
    if (log.first_bad_lines.size() < kBadLinesShown) {
      log.first_bad_lines.push_back({number, std::string(error)});
    }
  }

  void Ask(const LoggedRequest& request) {
    LogReport& log = report_.log;
    if (log.requests + log.refunds == 0) log.begin = request.at;
    WEIR_CHECK(log.end <= request.at);
    log.end = request.at;
    ++(AsksForTokens(request.action) ? log.requests : log.refunds);
    bool admitted[kAsksMax] = {};
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      admitted[i] = trials_[i]->Replay(request).value_or(false);
    }
    if (trials_.size() < 2 || !AsksForTokens(request.action)) return;
    if (admitted[0]) {
      ++(admitted[1] ? comparison_.both : comparison_.only_first);
    } else {
      ++(admitted[1] ? comparison_.only_second : comparison_.neither);
    }
  }

  const ReplayOptions& options_;
  Policies policies_;
  std::vector<std::unique_ptr<Trial>> trials_;  // 1 or 2
  bool is_told_;                                // by the command line or by a line
  std::unique_ptr<LogReader> log_;
  bool has_line_ = false;  // that is not empty
  std::string hint_;       // about the first of these
  const HashSecret secret_ = RandomHashSecret();
  const KeyHasher hasher_{secret_};
  TimeOrder order_{options_.slack, hasher_};
  Report report_;
  Comparison comparison_;
};

}  // namespace

absl::StatusOr<Report> RunReplay(const ReplayOptions& options,
                                 const std::function<void(const ReplayProgress&)>& progress) {
  Replay replay(options);
  WEIR_RETURN_IF_ERROR(replay.Prepare());
  WEIR_RETURN_IF_ERROR(replay.ReadLog(progress));
  return replay.MakeReport();
}

}  // namespace weir
