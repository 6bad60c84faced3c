// A second, naive parser of requests, with which tests compare the real parser. It is an automaton
// that is fed single bytes and copies them: it has no buffer to look ahead in, no offset to get
// wrong, and cuts in its input cannot matter. It is slow, and shares only the definition of the
// caps with the real parser.
#pragma once

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/resp_parser.h"
#include "tests/protocol/resp_transcript.h"

namespace weir {

class NaiveRespParser {
 public:
  explicit NaiveRespParser(const RespCaps& caps) : caps_(caps) {}

  Transcript Parse(std::string_view bytes) {
    for (const char byte : bytes) {
      if (!transcript_.ending.empty()) break;
      ++request_bytes_;
      Feed(byte);
    }
    if (transcript_.ending.empty()) transcript_.ending = kNeedsMore;
    return transcript_;
  }

 private:
  enum class Expect {
    kRequest,
    kInline,
    kCount,
    kCountLf,
    kLength,
    kLengthLf,
    kData,
    kDataCr,
    kDataLf
  };

  void Feed(char byte) {
    switch (expect_) {
      case Expect::kRequest:
        words_.clear();
        text_ = byte;
        if (byte == '*') {
          expect_ = Expect::kCount;
          text_.clear();
          line_bytes_ = 1;
        } else if (byte == '\n') {
          Finish();
        } else {
          expect_ = Expect::kInline;
        }
        return;
      case Expect::kInline:
        if (byte == '\n') return FinishInline();
        text_ += byte;
        if (text_.size() > caps_.line_bytes_max) Fail("too big inline request");
        return;
      case Expect::kCount:
        return FeedLine(byte, Expect::kCountLf, "mbulk", "multibulk");
      case Expect::kCountLf:
        return byte == '\n' ? FinishCount() : Fail("invalid multibulk length");
      case Expect::kLength:
        if (line_bytes_ == 0 && byte != '$') {
          return Fail(std::string("expected '$', got '") + byte + "'");
        }
        return FeedLine(byte, Expect::kLengthLf, "bulk", "bulk");
      case Expect::kLengthLf:
        return byte == '\n' ? FinishLength() : Fail("invalid bulk length");
      case Expect::kData:
        text_ += byte;
        if (static_cast<std::int64_t>(text_.size()) == data_bytes_) expect_ = Expect::kDataCr;
        return;
      case Expect::kDataCr:
        bulk_end_good_ = byte == '\r';
        expect_ = Expect::kDataLf;
        return;
      case Expect::kDataLf:
        return bulk_end_good_ && byte == '\n' ? FinishData() : Fail("invalid bulk length");
    }
  }

  void FeedLine(char byte, Expect next, const std::string& noun, const std::string& long_noun) {
    if (byte == '\n') return Fail("invalid " + long_noun + " length");
    if (byte == '\r') {
      expect_ = next;
      return;
    }
    if (line_bytes_ > 0) text_ += byte;
    ++line_bytes_;
    if (line_bytes_ > caps_.line_bytes_max) return Fail("too big " + noun + " count string");
    CheckRoomForLineEnd();
  }

  void CheckRoomForLineEnd() {
    if (request_bytes_ + 2 > caps_.request_bytes_max) Fail("too big request");
  }

  void FinishCount() {
    const std::optional<std::int64_t> count = Number();
    if (!count || *count > 2147483647) return Fail("invalid multibulk length");
    if (*count > caps_.args_max) {
      return Fail(caps_.authenticated ? "invalid multibulk length"
                                      : "unauthenticated multibulk length");
    }
    words_wanted_ = *count;
    if (words_wanted_ <= 0) return Finish();
    ExpectLength();
  }

  void FinishLength() {
    const std::optional<std::int64_t> length = Number();
    if (!length || *length < 0 || *length > 536870912) return Fail("invalid bulk length");
    if (*length > caps_.arg_bytes_max) {
      return Fail(caps_.authenticated ? "invalid bulk length" : "unauthenticated bulk length");
    }
    if (request_bytes_ + static_cast<std::size_t>(*length) + 2 > caps_.request_bytes_max) {
      return Fail("too big request");
    }
    data_bytes_ = *length;
    text_.clear();
    expect_ = data_bytes_ == 0 ? Expect::kDataCr : Expect::kData;
  }

  void FinishData() {
    words_.push_back(text_);
    if (static_cast<std::int64_t>(words_.size()) == words_wanted_) return Finish();
    ExpectLength();
  }

  void ExpectLength() {
    expect_ = Expect::kLength;
    text_.clear();
    line_bytes_ = 0;
    CheckRoomForLineEnd();
  }

  // The number in text_, if it is spelled canonically.
  [[nodiscard]] std::optional<std::int64_t> Number() const {
    const std::int64_t number = std::strtoll(text_.c_str(), nullptr, 10);
    if (std::to_string(number) != text_) return std::nullopt;
    return number;
  }

  void FinishInline() {
    if (IsHttp()) {
      transcript_.ending = kForeign;
      return;
    }
    text_ += ' ';  // Every word is now followed by a blank.
    bool in_word = false;
    char quote = 0;
    std::string word;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char byte = text_[i];
      if (!in_word && std::isspace(static_cast<unsigned char>(byte))) continue;
      if (!in_word && static_cast<std::int64_t>(words_.size()) == caps_.args_max) {
        return Fail("too many arguments in inline request");
      }
      in_word = true;
      if (quote == 0 && std::isspace(static_cast<unsigned char>(byte))) {
        words_.push_back(word);
        word.clear();
        in_word = false;
      } else if (quote == 0 && (byte == '"' || byte == '\'')) {
        quote = byte;
      } else if (quote != 0 && byte == quote) {
        if (!std::isspace(static_cast<unsigned char>(text_[i + 1]))) break;
        quote = 0;
      } else if (quote == '\'' && text_.compare(i, 2, "\\'") == 0) {
        word += text_[++i];
      } else if (quote == '"' && byte == '\\' && i + 2 < text_.size()) {
        i += Unescape(text_.substr(i + 1, text_.size() - i - 2), word);
      } else {
        word += byte;
      }
    }
    if (quote != 0) return Fail("unbalanced quotes in request");
    Finish();
  }

  // Appends the bytes that the escape at the front of `rest` stands for; returns the length of the
  // escape.
  static std::size_t Unescape(const std::string& rest, std::string& word) {
    static const std::string letters = "nrtba";
    if (rest.size() >= 3 && rest[0] == 'x' && std::isxdigit(static_cast<unsigned char>(rest[1])) &&
        std::isxdigit(static_cast<unsigned char>(rest[2]))) {
      word += static_cast<char>(std::stoi(rest.substr(1, 2), nullptr, 16));
      return 3;
    }
    const std::size_t letter = letters.find(rest[0]);
    word += letter == std::string::npos ? rest[0] : "\n\r\t\b\a"[letter];
    return 1;
  }

  [[nodiscard]] bool IsHttp() const {
    std::string first;
    for (const char byte : text_) {
      if (!std::isspace(static_cast<unsigned char>(byte))) {
        first += static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
      } else if (!first.empty()) {
        break;
      }
    }
    return first == "post" || first == "host:" || text_.find(" HTTP/1") != std::string::npos;
  }

  void Finish() {
    if (!words_.empty()) transcript_.commands.push_back(words_);
    transcript_.consumed += request_bytes_;
    request_bytes_ = 0;
    expect_ = Expect::kRequest;
  }

  void Fail(const std::string& what) { transcript_.ending = "Protocol error: " + what; }

  RespCaps caps_;
  Transcript transcript_;
  Expect expect_ = Expect::kRequest;
  std::size_t request_bytes_ = 0;  // of the request, so far
  std::size_t line_bytes_ = 0;     // of its length line, the type byte counted
  std::string text_;               // of its line or bulk, the type byte not counted
  std::int64_t words_wanted_ = 0;
  std::int64_t data_bytes_ = 0;
  bool bulk_end_good_ = false;
  std::vector<std::string> words_;
};

inline Transcript ParseNaively(const RespCaps& caps, std::string_view bytes) {
  return NaiveRespParser(caps).Parse(bytes);
}

}  // namespace weir
