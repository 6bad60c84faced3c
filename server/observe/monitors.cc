#include "server/observe/monitors.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

#include "core/base/status.h"
#include "server/commands/redaction.h"

namespace weir {
namespace {

// Quotes a word as redis-cli expects it: printable ASCII unchanged, other bytes escaped as in C.
void AppendQuoted(std::string& line, std::string_view word) {
  line += '"';
  for (const char byte : word) {
    constexpr std::string_view kNamed = "\n\r\t\a\b\\\"";
    constexpr std::string_view kNames = "nrtab\\\"";
    if (const std::size_t named = kNamed.find(byte); named != std::string_view::npos) {
      line += '\\';
      line += kNames[named];
    } else if (byte >= ' ' && byte <= '~') {
      line += byte;
    } else {
      absl::StrAppendFormat(&line, "\\x%02x", static_cast<unsigned char>(byte));
    }
  }
  line += '"';
}

}  // namespace

Monitor::Monitor(Monitors& monitors, Outbox& outbox) : monitors_(monitors), outbox_(outbox) {
  MutexLock lock(monitors_.mutex_);
  monitors_.monitors_.push_back(this);
  monitors_.count_.store(monitors_.monitors_.size(), std::memory_order_relaxed);
  outbox_.record().monitors.store(true, std::memory_order_relaxed);
}

Monitor::~Monitor() {
  MutexLock lock(monitors_.mutex_);
  std::erase(monitors_.monitors_, this);
  monitors_.count_.store(monitors_.monitors_.size(), std::memory_order_relaxed);
  outbox_.record().monitors.store(false, std::memory_order_relaxed);
}

std::string Monitors::Line(Instant now, std::string_view address,
                           std::span<const std::string_view> words) {
  const auto micros = std::chrono::floor<std::chrono::microseconds>(now.time_since_epoch()).count();
  std::string line = absl::StrFormat("%d.%06d [0 ", micros / 1'000'000, micros % 1'000'000);
  if (address.starts_with('/')) {  // Redis writes "/path:0" as "unix:/path" here.
    absl::StrAppend(&line, "unix:", absl::StripSuffix(AbslView(address), ":0"), "]");
  } else {
    absl::StrAppend(&line, AbslView(address), "]");
  }
  const std::size_t words_begin = line.size();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t begin = line.size();
    line += ' ';
    AppendQuoted(line, Truncated(words[i], kWordBytesMax));
    if (line.size() - words_begin <= kLineBytesMax) continue;
    line.resize(begin);
    absl::StrAppend(&line, " \"", OmittedWordsText(words.size() - i), "\"");
    break;
  }
  return line;
}

std::size_t Monitors::Show(Instant now, std::string_view address,
                           std::span<const std::string_view> words) {
  const std::string line = absl::StrCat("+", Line(now, address, words), "\r\n");
  std::size_t missed = 0;
  MutexLock lock(mutex_);
  for (Monitor* const monitor : monitors_) {
    if (monitor->outbox_.record().is_silent.load(std::memory_order_relaxed)) continue;
    std::string gap;
    if (monitor->missed_ > 0) {
      const std::string text = absl::StrCat("... (", monitor->missed_, " more commands)");
      const std::string_view word = text;
      gap = absl::StrCat("+", Line(now, address, {{word}}), "\r\n");
    }
    if (monitor->outbox_.Offer(gap.empty() ? line : gap + line)) {
      monitor->missed_ = 0;
    } else {
      ++monitor->missed_;
      ++missed;
    }
  }
  return missed;
}

}  // namespace weir
