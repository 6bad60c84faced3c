#include "server/json/json_reply.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/escaping.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "protocol/integer.h"
#include "protocol/json_writer.h"
#include "server/http/http_exchange.h"

namespace weir {
namespace {

// Walks over a reply from left to right.
class ReplyReader {
 public:
  ReplyReader(std::string_view reply, JsonBytes bytes, JsonWriter json)
      : rest_(reply), bytes_(bytes), json_(json) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

  void AppendValue() {
    const std::string_view line = TakeLine();
    const std::string_view text = line.substr(1);
    switch (line.front()) {
      case '+':
        return AppendText(text, text == "OK" ? JsonBytes::kText : bytes_);
      case ':':
        json_.Value(NumberOf(text));
        return;
      case '$':
        return AppendBulk(NumberOf(text));
      default:
        WEIR_CHECK(line.front() == '*');
        return AppendArray(NumberOf(text));
    }
  }

 private:
  static std::int64_t NumberOf(std::string_view text) {
    const std::optional<std::int64_t> number = ParseInteger(text);
    WEIR_CHECK(number.has_value());
    return *number;
  }

  std::string_view TakeLine() {
    const std::size_t end = rest_.find("\r\n");
    WEIR_CHECK(end != std::string_view::npos && end > 0);
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 2);
    return line;
  }

  void AppendText(std::string_view text, JsonBytes bytes) {
    std::string encoded;
    if (bytes == JsonBytes::kBase64) {
      absl::Base64Escape(AbslView(text), &encoded);
      text = encoded;
    }
    json_.Value(text);
  }

  void AppendBulk(std::int64_t size) {
    if (size < 0) return AppendNull();
    const auto bytes = static_cast<std::size_t>(size);
    WEIR_CHECK(bytes + 2 <= rest_.size());
    AppendText(rest_.substr(0, bytes), bytes_);
    rest_.remove_prefix(bytes + 2);
  }

  void AppendArray(std::int64_t size) {
    if (size < 0) return AppendNull();
    json_.Array();
    for (std::int64_t i = 0; i < size; ++i) AppendValue();
    json_.EndArray();
  }

  void AppendNull() { json_.Value(std::nullopt); }

  std::string_view rest_;
  const JsonBytes bytes_;
  JsonWriter json_;
};

}  // namespace

void AppendJsonReply(std::string_view reply, JsonBytes bytes, std::string& out) {
  if (reply.starts_with('-')) {
    WEIR_CHECK(reply.ends_with("\r\n"));
    out += ErrorJson(reply.substr(1, reply.size() - 3));
    return;
  }
  JsonWriter json(out);
  json.Object().Name("result");
  if (reply.empty()) {
    json.Value(std::nullopt);
  } else {
    ReplyReader reader(reply, bytes, json);
    reader.AppendValue();
    WEIR_CHECK(reader.at_end());
  }
  json.EndObject();
}

}  // namespace weir
