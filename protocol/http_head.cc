#include "protocol/http_head.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include "core/base/status.h"
#include "protocol/http_status.h"
#include "protocol/http_target.h"
#include "protocol/integer.h"

namespace weir {
namespace {

using Error = std::optional<HttpError>;

Error BadRequest(std::string_view what) {
  return HttpError{.status = kHttpBadRequest, .what = what};
}

bool IsSameWord(std::string_view left, std::string_view right) {
  return absl::EqualsIgnoreCase(AbslView(left), AbslView(right));
}

// True if a list of words, as Connection has it, contains `word`.
bool ListHas(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::string_view element = list.substr(0, list.find(','));
    list.remove_prefix(std::min(element.size() + 1, list.size()));
    if (IsSameWord(StdView(absl::StripAsciiWhitespace(AbslView(element))), word)) return true;
  }
  return false;
}

// True for "HTTP/" digit "." digit.
bool IsVersion(std::string_view text) {
  const auto is_digit = [](char byte) {
    return absl::ascii_isdigit(static_cast<unsigned char>(byte));
  };
  return text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) && text[6] == '.' &&
         is_digit(text[7]);
}

Error ReadTarget(HttpHead& head) {
  if (head.method == "CONNECT") return HttpError{.status = kHttpNotImplemented, .what = "CONNECT"};
  const std::optional<HttpTarget> target = SplitTarget(head.target);
  if (!target) return BadRequest("bad target");
  if (target->path == "*" && head.method != "OPTIONS") {
    return BadRequest("target * of another method than OPTIONS");
  }
  head.path = target->path;
  head.query = target->query;
  head.host = target->host;
  return std::nullopt;
}

Error ReadContentLength(std::string_view value, HttpHead& head) {
  if (head.content_length) return BadRequest("two Content-Lengths");
  const std::optional<std::int64_t> length = ParseInteger(value);
  if (!length || *length < 0) return BadRequest("bad Content-Length");
  head.content_length = static_cast<std::uint64_t>(*length);
  return std::nullopt;
}

// A coding in front of chunked is answered 400, like each value that only resembles chunked; a
// coding in the place of chunked is answered 501.
Error ReadTransferEncoding(std::string_view value, HttpHead& head) {
  if (head.chunked) return BadRequest("two Transfer-Encodings");
  if (!IsSameWord(value, "chunked")) {
    const std::string lower = absl::AsciiStrToLower(AbslView(value));
    if (absl::StrContains(lower, "chunked")) return BadRequest("bad Transfer-Encoding");
    return HttpError{.status = kHttpNotImplemented, .what = "Transfer-Encoding other than chunked"};
  }
  if (head.minor_version == 0) return BadRequest("Transfer-Encoding in HTTP/1.0");
  head.chunked = true;
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> HttpHead::Field(std::string_view name) const noexcept {
  const auto found = std::ranges::find_if(
      fields, [name](const HttpField& field) { return IsSameWord(field.name, name); });
  if (found == fields.end()) return std::nullopt;
  return found->value;
}

bool HttpHead::AllAre(std::string_view name, std::string_view value) const noexcept {
  return std::ranges::all_of(fields, [&](const HttpField& field) {
    return !IsSameWord(field.name, name) || field.value == value;
  });
}

std::optional<HttpError> CheckVersion(std::string_view line) noexcept {
  const std::size_t blank = line.rfind(' ');
  const std::string_view version = blank == std::string_view::npos ? "" : line.substr(blank + 1);
  if (!IsVersion(version)) return BadRequest("bad request line");
  if (version == "HTTP/1.1" || version == "HTTP/1.0") return std::nullopt;
  return HttpError{.status = kHttpVersionNotSupported,
                   .what = "another version than HTTP/1.1 and HTTP/1.0"};
}

std::optional<HttpError> ReadHead(HttpHead& head) {
  if (const Error error = ReadTarget(head)) return error;
  bool has_host = false;
  bool has_authorization = false;
  bool says_close = false;
  bool says_keep_alive = false;
  for (const HttpField& field : head.fields) {
    Error error;
    if (IsSameWord(field.name, "Host")) {
      if (has_host) return BadRequest("two Hosts");
      if (!field.value.empty() && !IsHost(field.value)) return BadRequest("bad Host");
      has_host = true;
      if (head.host.empty()) head.host = field.value;
    } else if (IsSameWord(field.name, "Authorization")) {
      if (std::exchange(has_authorization, true)) return BadRequest("two Authorizations");
    } else if (IsSameWord(field.name, "Connection")) {
      says_close = says_close || ListHas(field.value, "close");
      says_keep_alive = says_keep_alive || ListHas(field.value, "keep-alive");
    } else if (IsSameWord(field.name, "Content-Length")) {
      error = ReadContentLength(field.value, head);
    } else if (IsSameWord(field.name, "Transfer-Encoding")) {
      error = ReadTransferEncoding(field.value, head);
    } else if (IsSameWord(field.name, "Expect") && head.minor_version > 0) {
      head.expects_continue = IsSameWord(field.value, "100-continue");
      if (!head.expects_continue)
        return HttpError{.status = kHttpExpectationFailed, .what = "bad Expect"};
    }
    if (error) return error;
  }
  if (head.chunked && head.content_length) {
    return BadRequest("Content-Length with Transfer-Encoding");
  }
  if (!has_host && head.minor_version > 0) return BadRequest("no Host");
  head.keep_alive = !says_close && (head.minor_version > 0 || says_keep_alive);
  return std::nullopt;
}

}  // namespace weir
