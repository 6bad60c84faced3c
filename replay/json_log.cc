// The reader of JSON lines (log_reader.h).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/number_word.h"
#include "protocol/client_address.h"
#include "protocol/json_reader.h"
#include "replay/civil_time.h"
#include "replay/log_reader.h"

namespace weir {
namespace {

// The fields that are read where the command line names none, the better ones first: those of Caddy
// (ts, request.*), of Traefik (StartUTC, ClientHost) and nginx's variables, by which a log_format
// commonly names its fields. Caddy's client_ip is behind its trusted_proxies, its remote_ip is not.
constexpr auto kKnownTimes = std::to_array<std::string_view>(
    {"ts", "StartUTC", "msec", "time_iso8601", "time_local", "time", "timestamp", "@timestamp"});
constexpr auto kKnownKeys = std::to_array<std::string_view>(
    {"request.client_ip", "request.remote_ip", "ClientHost", "remote_addr"});
constexpr std::span<const std::string_view> kNoKnown;

absl::StatusOr<Instant> JsonTime(std::string_view text) {
  if (const std::optional<Instant> at = ReadIsoTime(text)) return *at;
  if (const std::optional<Instant> at = ReadAccessTime(text)) return *at;
  absl::StatusOr<Instant> at = ParseUnixSeconds(text);
  if (at.ok()) return at;
  return BadWord("time", text,
                 "expected Unix seconds, as in 1700000000.25, or as in 2023-11-14T22:13:20.25Z or "
                 "14/Nov/2023:22:13:20 +0000");
}

// The first value of each field that is looked for, of one line.
class FieldFinder final : private JsonParts {
 public:
  // Looks for these paths. Returns their index.
  std::size_t Add(std::string_view path) {
    fields_.push_back({.path = std::string(path), .value = std::nullopt});
    return fields_.size() - 1;
  }

  // Fails as ReadJson does, and for a text that is no object.
  absl::Status Find(std::string_view line) {
    absl::Status read = Read(line);
    const auto is_ascii = [](char byte) {
      return absl::ascii_isascii(static_cast<unsigned char>(byte));
    };
    if (read.ok() || std::ranges::all_of(line, is_ascii)) return read;
    // nginx writes bytes as clients have sent them, and they may be no UTF-8.
    ascii_ = line;
    std::ranges::replace_if(ascii_, std::not_fn(is_ascii), '?');
    return Read(ascii_);
  }

  [[nodiscard]] const std::optional<std::string>& value(std::size_t index) const {
    return fields_[index].value;
  }

 private:
  struct Field {
    std::string path;
    std::optional<std::string> value;
  };

  absl::Status Read(std::string_view line) {
    for (Field& field : fields_) field.value.reset();
    path_.clear();
    objects_.clear();
    return ReadJson(line, *this);
  }

  absl::Status OnBegin(char bracket) override {
    if (bracket == '{') {
      objects_.push_back(path_.size());
      return absl::OkStatus();
    }
    return objects_.empty() ? NoObject() : absl::OkStatus();
  }
  absl::Status OnEnd(char bracket) override {
    if (bracket != '}') return absl::OkStatus();
    path_.resize(objects_.back());
    objects_.pop_back();
    return absl::OkStatus();
  }
  absl::Status OnName(std::string_view name) override {
    path_.resize(objects_.back());
    if (!path_.empty()) path_ += '.';
    path_ += name;
    return absl::OkStatus();
  }
  absl::Status OnValue(const JsonValue& value) override {
    if (objects_.empty()) return NoObject();
    if (value.kind == JsonKind::kNull) return absl::OkStatus();
    const bool is_flag = value.kind == JsonKind::kFlag;
    for (Field& field : fields_) {
      if (field.value || field.path != path_) continue;
      field.value = !is_flag ? value.text : *value.integer == 0 ? "false" : "true";
    }
    return absl::OkStatus();
  }

  static absl::Status NoObject() {
    return absl::InvalidArgumentError(R"(expected an object, as in {"ts": 1700000000.25, ...})");
  }

  std::vector<Field> fields_;
  std::string path_;                  // of the value that comes next
  std::vector<std::size_t> objects_;  // that are open: the bytes of the path to each
  std::string ascii_;
};

// The paths in which one word of a request may stand.
class WantedField {
 public:
  // `path`: the only one, or empty.
  WantedField(std::string_view name, std::string_view path, std::span<const std::string_view> known,
              FieldFinder& finder)
      : name_(name), is_known_(path.empty()), finder_(finder) {
    if (!is_known_) known = {&path, 1};
    for (const std::string_view one : known) {
      paths_.emplace_back(one);
      places_.push_back(finder.Add(one));
    }
  }

  // True if the command line names no path.
  [[nodiscard]] bool is_known() const noexcept { return is_known_; }

  // The value in the first of the paths that has one.
  [[nodiscard]] absl::StatusOr<std::string_view> Value() const {
    for (const std::size_t place : places_) {
      if (finder_.value(place)) return *finder_.value(place);
    }
    if (!is_known_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the line has no field ", Quote(paths_.front()), " for the ", AbslView(name_)));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "the line has none of the fields ", absl::StrJoin(paths_, ", "), " for the ",
        AbslView(name_), ": expected its name, as in --json-fields ", AbslView(name_), "=NAME"));
  }

 private:
  const std::string_view name_;
  const bool is_known_;
  const FieldFinder& finder_;
  std::vector<std::string> paths_;
  std::vector<std::size_t> places_;  // of the paths, in the finder
};

class JsonReader final : public LogReader {
 public:
  JsonReader(const JsonFields& fields, std::string key, int ipv6_bits)
      : key_text_(std::move(key)),
        ipv6_bits_(ipv6_bits),
        time_("time", fields.time, kKnownTimes, finder_) {
    if (key_text_.empty()) key_field_.emplace("key", fields.key, kKnownKeys, finder_);
    if (!fields.cost.empty()) cost_field_.emplace("cost", fields.cost, kNoKnown, finder_);
  }

  absl::StatusOr<bool> Read(std::string_view line, LoggedRequest& request) override {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return false;
    WEIR_RETURN_IF_ERROR(finder_.Find(line));
    const absl::StatusOr<std::string_view> time = time_.Value();
    if (!time.ok()) return time.status();
    const absl::StatusOr<Instant> at = JsonTime(*time);
    if (!at.ok()) return at.status();
    logged_ = {.key = key_text_};
    if (key_field_) {
      const absl::StatusOr<std::string_view> key = key_field_->Value();
      if (!key.ok() && key_field_->is_known() && has_read_) return false;  // a message of Caddy's
      if (!key.ok()) return key.status();
      network_.clear();
      logged_.key = AppendClientNetwork(*key, ipv6_bits_, network_) ? network_ : *key;
    }
    if (cost_field_) {
      const absl::StatusOr<std::string_view> text = cost_field_->Value();
      if (!text.ok()) return text.status();
      const absl::StatusOr<std::int64_t> cost = ReadNumber("cost", *text, 0, INT64_MAX);
      if (!cost.ok()) return cost.status();
      logged_.cost = *cost;
    }
    has_read_ = true;
    request = {.at = *at, .keys = {&logged_, 1}};
    return true;
  }

 private:
  const std::string key_text_;  // of all requests; empty: it is in a field
  const int ipv6_bits_;
  FieldFinder finder_;
  const WantedField time_;
  std::optional<WantedField> key_field_;
  std::optional<WantedField> cost_field_;
  bool has_read_ = false;  // a request
  std::string network_;    // of the last line
  LoggedKey logged_;
};

}  // namespace

std::unique_ptr<LogReader> MakeJsonReader(const JsonFields& fields, std::string key,
                                          int ipv6_bits) {
  return std::make_unique<JsonReader>(fields, std::move(key), ipv6_bits);
}

}  // namespace weir
