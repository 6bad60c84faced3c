#include "server/http/check_template.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

constexpr std::string_view kVariables =
    "{ip}, {method}, {host}, {path}, {path:2}, {header:name}, {query:name} or {cookie:name}";

template <typename... Texts>
absl::Status Wrong(Texts... texts) {
  return absl::InvalidArgumentError(absl::StrCat(texts...));
}

// True for a token of RFC 9110: the name of a field or a cookie.
bool IsToken(std::string_view text) {
  static constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return absl::ascii_isalnum(c) || kSigns.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// Appends 22 characters, which have all 128 bits of the hash.
void AppendHash(std::string_view value, const KeyHasher& hasher, std::string& out) {
  const KeyHasher::Fingerprint hash = hasher.FingerprintOf(value);
  std::string text;
  absl::WebSafeBase64Escape({reinterpret_cast<const char*>(hash.data()), hash.size()}, &text);
  out.append(text);
}

}  // namespace

absl::StatusOr<CheckTemplate> CheckTemplate::Parse(std::string_view text) {
  CheckTemplate parsed;
  parsed.text_ = text;
  std::string_view rest = text;
  while (true) {
    const std::size_t brace = rest.find_first_of("{}");
    const std::string_view literal = rest.substr(0, brace);
    if (brace == std::string_view::npos) {
      parsed.end_ = literal;
      return parsed;
    }
    const std::size_t end = rest.find_first_of("{}", brace + 1);
    if (rest[brace] == '}' || end == std::string_view::npos || rest[end] == '{') {
      return Wrong("template ", Quote(text), ": a brace is not closed, or not opened");
    }
    absl::StatusOr<Part> part = ParseVariable(rest.substr(brace + 1, end - brace - 1));
    if (!part.ok()) {
      return Wrong("template ", Quote(text), ": ", part.status().message());
    }
    part->literal = literal;
    parsed.parts_.push_back(*std::move(part));
    if (parsed.parts_.size() > kTemplateVariablesMax) {
      return Wrong("template ", Quote(text), ": it has at most ", kTemplateVariablesMax,
                   " variables");
    }
    rest.remove_prefix(end + 1);
  }
}

// Reads what is between the braces.
absl::StatusOr<CheckTemplate::Part> CheckTemplate::ParseVariable(std::string_view text) {
  Part part;
  const std::string_view source = text.substr(0, text.find('|'));
  part.source = source;
  WEIR_RETURN_IF_ERROR(ParseSource(source, part));
  std::string_view filters = text.substr(source.size());
  while (!filters.empty()) {
    filters.remove_prefix(1);
    const std::string_view filter = filters.substr(0, filters.find('|'));
    filters.remove_prefix(filter.size());
    const bool is_path = part.variable == Variable::kPath || part.variable == Variable::kSegment;
    if (filter == "raw" && is_path && !part.raw && !part.lower && !part.hash) {
      part.raw = true;
    } else if (filter == "lower" && !part.lower && !part.hash) {
      part.lower = true;
    } else if (filter == "hash" && !part.hash) {
      part.hash = true;
    } else {
      return Wrong("bad filters of {", AbslView(text),
                   "}: there are |lower, |hash and |lower|hash, and of a path |raw before them");
    }
  }
  return part;
}

absl::Status CheckTemplate::ParseSource(std::string_view text, Part& part) {
  constexpr std::pair<std::string_view, Variable> kPlain[] = {{"ip", Variable::kIp},
                                                              {"method", Variable::kMethod},
                                                              {"host", Variable::kHost},
                                                              {"path", Variable::kPath}};
  for (const auto& [name, variable] : kPlain) {
    if (text != name) continue;
    part.variable = variable;
    return absl::OkStatus();
  }
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view kind = text.substr(0, colon);
  part.name = text.substr(std::min(colon + 1, text.size()));
  if (kind == "path") {
    const std::optional<std::int64_t> segment = ParseDigits(part.name);
    if (!segment || *segment < 1 || *segment > kPathSegmentMax) {
      return Wrong("a segment of the path is {path:1} to {path:", kPathSegmentMax, "}");
    }
    part.variable = Variable::kSegment;
    part.segment = static_cast<int>(*segment);
    return absl::OkStatus();
  }
  if (kind == "query" && !part.name.empty() && part.name.find(',') == std::string::npos) {
    part.variable = Variable::kQuery;
    return absl::OkStatus();
  }
  if ((kind != "header" && kind != "cookie") || !IsToken(part.name)) {
    return Wrong("unknown variable ", Quote(text), ": it must be ", AbslView(kVariables));
  }
  part.variable = kind == "header" ? Variable::kHeader : Variable::kCookie;
  if (part.variable == Variable::kHeader && absl::EqualsIgnoreCase(part.name, "Authorization")) {
    return Wrong("Authorization is never read: let the proxy pass what counts in another field");
  }
  return absl::OkStatus();
}

ProxiedRequest::Value CheckTemplate::ValueOf(const Part& part, const ProxiedRequest& request,
                                             std::string& scratch) {
  switch (part.variable) {
    case Variable::kIp:
      return request.Ip(scratch);
    case Variable::kMethod:
      return request.Method();
    case Variable::kHost:
      return request.Host();
    case Variable::kPath:
      return part.raw ? request.Path() : request.NormalPath(scratch);
    case Variable::kSegment:
      return ProxiedRequest::SegmentOf(part.raw ? request.Path() : request.NormalPath(scratch),
                                       part.segment);
    case Variable::kHeader:
      return request.Header(part.name);
    case Variable::kQuery:
      return request.Query(part.name, scratch);
    case Variable::kCookie:
      break;
  }
  return request.Cookie(part.name);
}

std::string CheckTemplate::LackOf(const Part& part, const ProxiedRequest& request) {
  switch (part.variable) {
    case Variable::kIp:
      return request.Header("X-Forwarded-For") ? "its X-Forwarded-For has no address at ip_hops"
                                               : "the request had no X-Forwarded-For";
    case Variable::kSegment:
      return absl::StrCat("its path had no segment ", part.segment);
    case Variable::kHeader:
      return absl::StrCat("the request had no field ", part.name);
    case Variable::kQuery:
      return absl::StrCat("the request had no parameter ", part.name);
    case Variable::kCookie:
      return absl::StrCat("the request had no cookie ", part.name);
    case Variable::kMethod:
    case Variable::kHost:
    case Variable::kPath:
      break;
  }
  return "the proxy did not say it, see `original` in docs/http.md";
}

std::string CheckTemplate::MissingIn(const ProxiedRequest& request) const {
  std::string scratch;
  const auto part = std::ranges::find_if(
      parts_, [&](const Part& each) { return !ValueOf(each, request, scratch); });
  WEIR_CHECK(part != parts_.end());
  return absl::StrCat("{", part->source, "}: ", LackOf(*part, request));
}

bool CheckTemplate::Fill(const ProxiedRequest& request, const KeyHasher& hasher,
                         std::string& out) const {
  std::string scratch;
  for (const Part& part : parts_) {
    out.append(part.literal);
    ProxiedRequest::Value value = ValueOf(part, request, scratch);
    if (!value) return false;
    if (part.lower) {
      if (value->data() != scratch.data()) scratch = *value;
      absl::AsciiStrToLower(&scratch);
      value = scratch;
    }
    if (part.hash) {
      AppendHash(*value, hasher, out);
    } else {
      out.append(value->substr(0, kTemplateValueBytesMax));
    }
  }
  out.append(end_);
  return true;
}

}  // namespace weir
