#include "server/page/page_request.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"

#include "protocol/http_target.h"
#include "protocol/resp_parser.h"
#include "server/access/access_list.h"
#include "server/http/http_exchange.h"
#include "server/session/services.h"

namespace weir {
namespace {

constexpr std::string_view kDoneReply = R"({"ok":true})";

bool IsUnreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::string EncodedForUrl(std::string_view bytes) {
  std::string out;
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : bytes) {
    if (IsUnreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

}  // namespace

std::string_view ReadOnlyReason(const HttpExchange& exchange) {
  if (exchange.services().options.users_file.empty()) return "no users are configured";
  const std::shared_ptr<const User>& user = exchange.session().client().user();
  if (!user || user->name() == kDefaultUser) return "changes need a log-in as a user with a name";
  return {};
}

bool MayChange(HttpExchange& exchange) {
  const HttpHead& head = exchange.head();
  if (head.Field("X-Weir") != "1") {
    exchange.Fail(403, "NOPERM a change needs the field X-Weir: 1");
    return false;
  }
  if (!head.AllAre("Sec-Fetch-Site", "same-origin")) {
    exchange.Fail(403, "NOPERM a change must come from the page itself");
    return false;
  }
  const std::string_view reason = ReadOnlyReason(exchange);
  if (reason.empty()) return true;
  exchange.Fail(403, std::string("NOPERM the page is read-only: ").append(reason));
  return false;
}

void RunChange(HttpExchange& exchange, std::span<const std::string_view> words) {
  if (exchange.IsHeldBack(words)) {
    return exchange.GoOnLater(
        [kept = std::vector<std::string>(words.begin(), words.end())](HttpExchange& later) {
          RunChange(later, std::vector<std::string_view>(kept.begin(), kept.end()));
        });
  }
  std::string_view reply = exchange.Run(words);
  if (!reply.starts_with('-')) return exchange.Answer(200, kJson, kDoneReply);
  reply.remove_prefix(1);
  reply.remove_suffix(2);
  exchange.FailAs(reply);
}

std::optional<std::string> ReadKey(HttpExchange& exchange) {
  std::optional<std::string> key;
  bool is_good = true;
  for (QueryReader parameters(exchange.head().query); parameters.Next() && is_good;) {
    is_good = parameters.name() == "k" && !key &&
              AppendDecoded(parameters.value(), PlusMeans::kBlank, key.emplace());
  }
  if (is_good && key && key->size() <= static_cast<std::size_t>(kRespCaps.arg_bytes_max)) {
    return key;
  }
  exchange.Fail(400, "ERR the query must be k= and a key, encoded as a URL needs it");
  return std::nullopt;
}

std::string MarkOfCutKey(const TopKeys::Row& row, const Services& services) {
  const KeyHasher::Fingerprint mark = services.limiter.hasher().FingerprintOf(
      absl::StrCat("a key in lists ", row.hash, " ", row.partition));
  std::string text;
  for (const unsigned char byte : mark) {
    absl::StrAppend(&text, absl::Hex(byte, absl::kZeroPad2));
  }
  return text;
}

std::int64_t UnixMillis(const Services& services, Instant instant) {
  const Nanos wall = instant.time_since_epoch() + services.wall_clock_offset();
  return std::chrono::floor<std::chrono::milliseconds>(wall).count();
}

void AppendKey(std::string_view key, JsonWriter json) {
  json.Field("key", key).Field("k", EncodedForUrl(key));
}

void AppendLimits(const PolicyLimits& limits, JsonWriter json) {
  json.Array("limits");
  for (const PolicyLimit& limit : limits) json.Value(PolicyLimitText(limit));
  json.EndArray();
}

}  // namespace weir
