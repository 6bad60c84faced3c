// A parser of Lists of RFC 9651, section 4.2, written from the RFC's text for the tests of the
// writer, with which it shares nothing. It knows Integers, Strings, Byte Sequences and their
// parameters; other types and Inner Lists are errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weir {

struct ByteSequence {
  std::string bytes;
  bool operator==(const ByteSequence&) const = default;
};

using BareItem = std::variant<std::int64_t, std::string, ByteSequence>;

struct StructuredItem {
  BareItem value;
  std::map<std::string, BareItem> parameters;
  bool operator==(const StructuredItem&) const = default;
};

class StructuredListParser {
 public:
  explicit StructuredListParser(std::string_view text) : rest_(text) {}

  // The items, or nothing if the text is no List.
  std::optional<std::vector<StructuredItem>> Parse() {
    std::vector<StructuredItem> items;
    Skip(" ");
    while (!rest_.empty()) {
      std::optional<StructuredItem> item = Item();
      if (!item) return std::nullopt;
      items.push_back(*item);
      Skip(" \t");
      if (rest_.empty()) return items;
      if (!Take(',')) return std::nullopt;
      Skip(" \t");
      if (rest_.empty()) return std::nullopt;  // a comma at the end
    }
    return items;
  }

 private:
  void Skip(std::string_view blanks) {
    while (!rest_.empty() && blanks.find(rest_.front()) != std::string_view::npos) {
      rest_.remove_prefix(1);
    }
  }

  bool Take(char byte) {
    if (rest_.empty() || rest_.front() != byte) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<StructuredItem> Item() {
    const std::optional<BareItem> value = Bare();
    if (!value) return std::nullopt;
    StructuredItem item{.value = *value, .parameters = {}};
    while (Take(';')) {
      Skip(" ");
      const std::string key = Key();
      if (key.empty() || !Take('=')) return std::nullopt;  // true, without "=", is no type of ours
      const std::optional<BareItem> parameter = Bare();
      if (!parameter) return std::nullopt;
      item.parameters[key] = *parameter;
    }
    return item;
  }

  std::string Key() {
    std::string key;
    const auto is_letter = [](char byte) { return byte >= 'a' && byte <= 'z'; };
    while (!rest_.empty()) {
      const char byte = rest_.front();
      const bool first = is_letter(byte) || byte == '*';
      const bool later = (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte == '.';
      if (!first && (key.empty() || !later)) break;
      key += byte;
      rest_.remove_prefix(1);
    }
    return key;
  }

  std::optional<BareItem> Bare() {
    if (Take('"')) return String();
    if (Take(':')) return Bytes();
    return Integer();
  }

  std::optional<BareItem> Integer() {
    const bool negative = Take('-');
    std::int64_t number = 0;
    int digits = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      if (++digits > 15) return std::nullopt;
      number = number * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    if (digits == 0) return std::nullopt;
    return negative ? -number : number;
  }

  std::optional<BareItem> String() {
    std::string text;
    while (!rest_.empty()) {
      const char byte = rest_.front();
      rest_.remove_prefix(1);
      if (byte == '"') return text;
      if (byte < 0x20 || byte > 0x7e) return std::nullopt;
      if (byte == '\\') {
        if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\\')) return std::nullopt;
        text += rest_.front();
        rest_.remove_prefix(1);
      } else {
        text += byte;
      }
    }
    return std::nullopt;
  }

  std::optional<BareItem> Bytes() {
    static const std::string kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    ByteSequence sequence;
    std::uint32_t bits = 0;
    int count = 0;
    while (!rest_.empty()) {
      const char byte = rest_.front();
      rest_.remove_prefix(1);
      if (byte == ':') return sequence;
      if (byte == '=') continue;
      const std::size_t digit = kAlphabet.find(byte);
      if (digit == std::string::npos) return std::nullopt;
      bits = bits << 6U | static_cast<std::uint32_t>(digit);
      count += 6;
      if (count >= 8) {
        count -= 8;
        sequence.bytes += static_cast<char>(bits >> static_cast<unsigned>(count));
      }
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

}  // namespace weir
