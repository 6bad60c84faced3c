#include "weir/fields.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kItemsMax = 8;
constexpr std::int64_t kNumberMax = 999'999'999'999'999;  // an Integer of RFC 9651 has 15 digits

std::string Seconds(milliseconds time) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count());
}

std::string Hexadecimal(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {kDigits[byte >> 4], kDigits[byte & 0xF]};
}

// A String of RFC 9651. Bytes that it cannot have are written as those of a Display String.
std::string Quoted(std::string_view text) {
  std::string written = "\"";
  for (const char c : text) {
    if (c < 0x20 || c > 0x7E || c == '%') {
      written += "%" + Hexadecimal(c);
      continue;
    }
    if (c == '"' || c == '\\') written.push_back('\\');
    written.push_back(c);
  }
  return written + "\"";
}

// A string of JSON.
std::string JsonString(std::string_view text) {
  std::string written = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      written += "\\u00" + Hexadecimal(c);
      continue;
    }
    if (c == '"' || c == '\\') written.push_back('\\');
    written.push_back(c);
  }
  return written + "\"";
}

// The rows that a caller sees, first the one that decided.
std::vector<LimitRow> Listed(const Decision& decision) {
  std::vector<LimitRow> rows = decision.limits;
  const std::size_t first = decision.limit.value_or(0);
  if (first < rows.size()) {
    const auto begin = rows.begin();
    const auto decided = begin + static_cast<std::ptrdiff_t>(first);
    std::rotate(begin, decided, decided + 1);
  }
  std::vector<LimitRow> listed;
  for (const LimitRow& row : rows) {
    const bool is_seen = std::ranges::any_of(listed, [&](const LimitRow& other) {
      return other.group == row.group && other.name == row.name;
    });
    if (row.is_shadow || row.count > kNumberMax || is_seen) continue;
    if (listed.size() < kItemsMax) listed.push_back(row);
  }
  return listed;
}

std::int64_t Remaining(const LimitRow& row) {
  return std::max<std::int64_t>(0, row.remaining - row.keep);
}

std::string Item(std::string_view name, std::int64_t remaining,
                 std::optional<milliseconds> retry_after, bool allowed) {
  std::string item = Quoted(name);
  if (remaining <= kNumberMax) item += ";r=" + std::to_string(remaining);
  if (!allowed && retry_after) item += ";t=" + Seconds(*retry_after);
  return item;
}

void AddItem(std::string& list, const std::string& item) {
  list += (list.empty() ? "" : ", ") + item;
}

// The value of RateLimit; empty: none.
std::string LimitsOf(const Decision& decision, const std::vector<LimitRow>& rows) {
  if (decision.limits.empty()) {
    return Item("limit", decision.remaining.value_or(0), decision.retry_after, decision.allowed);
  }
  std::string list;
  for (const LimitRow& row : rows) {
    if (!decision.allowed && row.allowed) continue;
    AddItem(list, Item(row.name, Remaining(row), row.retry_after, row.allowed));
  }
  return list;
}

}  // namespace

std::vector<Field> Fields(const Decision& decision, bool legacy) {
  if (decision.reason == Reason::kUnavailable) return {};
  std::vector<Field> fields;
  const std::vector<LimitRow> rows = Listed(decision);
  std::string policies;
  for (const LimitRow& row : rows) {
    AddItem(policies, Quoted(row.name) + ";q=" + std::to_string(row.count));
  }
  if (!policies.empty()) fields.push_back({"RateLimit-Policy", policies});
  if (const std::string limits = LimitsOf(decision, rows); !limits.empty()) {
    fields.push_back({"RateLimit", limits});
  }
  if (legacy && !rows.empty()) {
    fields.push_back({"X-RateLimit-Limit", std::to_string(rows[0].count)});
    fields.push_back({"X-RateLimit-Remaining", std::to_string(Remaining(rows[0]))});
    fields.push_back({"X-RateLimit-Reset", Seconds(rows[0].reset_after)});
  }
  if (decision.reason == Reason::kDenied) {
    const milliseconds wait = decision.retry_after.value_or(milliseconds(0));
    fields.push_back({"Retry-After", Seconds(std::max(milliseconds(1), wait))});
  }
  return fields;
}

ProblemBody Problem(const Decision& decision) {
  if (decision.reason == Reason::kUnavailable) {
    return {503, R"({"title":"Service Unavailable"})"};
  }
  std::string violated;
  for (const LimitRow& row : Listed(decision)) {
    if (!row.allowed) violated += (violated.empty() ? "" : ",") + JsonString(row.name);
  }
  std::string body = R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",)"
                     R"("title":"Request cannot be satisfied as assigned quota has been exceeded")";
  if (!violated.empty()) body += R"(,"violated-policies":[)" + violated + "]";
  return {429, body + "}"};
}

}  // namespace weir
