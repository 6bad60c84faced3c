#include "server/os/log.h"

#include <array>
#include <memory>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "protocol/json_writer.h"

namespace weir {
namespace {

std::string Escaped(char byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\\':
      return "\\\\";
    default:
      break;
  }
  if (byte >= 0x20 && byte < 0x7F) return {byte};
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  return {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  constexpr std::array kLevels = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                  spdlog::level::err};
  return kLevels[static_cast<std::size_t>(level)];
}

// The message of a line as a string of JSON, with its quotes.
class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
  static constexpr char kFlag = '*';
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& line) override {
    std::string text;
    JsonWriter(text).Value(std::string_view(message.payload.data(), message.payload.size()));
    line.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

std::string PatternOf(LogLineFormat format) {
  if (format == LogLineFormat::kText) return "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
  return R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%*})";
}

}  // namespace

void ConfigureLog(LogLevel level, LogLineFormat format) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JsonMessage>(JsonMessage::kFlag).set_pattern(PatternOf(format));
  auto logger =
      std::make_shared<spdlog::logger>("weir", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::move(formatter));
  logger->set_level(SpdlogLevel(level));
  spdlog::set_default_logger(std::move(logger));
}

void SetLogLevel(LogLevel level) { spdlog::default_logger_raw()->set_level(SpdlogLevel(level)); }

std::string EscapedForLog(std::string_view bytes, std::size_t bytes_max) {
  std::string text;
  for (const char byte : bytes) {
    const std::string escaped = Escaped(byte);
    if (text.size() + escaped.size() > bytes_max) return text.append("...");
    text += escaped;
  }
  return text;
}

std::optional<std::uint64_t> LogThrottle::Admit() {
  const HostInstant now = clock_.HostNow();
  MutexLock lock(mutex_);
  if (last_ && now - *last_ < interval_) {
    ++suppressed_;
    return std::nullopt;
  }
  last_ = now;
  return std::exchange(suppressed_, 0);
}

}  // namespace weir
