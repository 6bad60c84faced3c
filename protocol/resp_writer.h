// Writes replies in RESP2 or RESP3 to the end of a string, which the connection sends when it
// likes.
//
//     value          RESP2                              RESP3
//     SimpleString   "+" text CRLF                      same
//     Error          "-" text CRLF                      same
//     Integer        ":" number CRLF                    same
//     Double         as Bulk                            "," number CRLF
//     Bulk           "$" length CRLF bytes CRLF         same
//     Null           "$-1" CRLF                         "_" CRLF
//     NullArray      "*-1" CRLF                         "_" CRLF
//     Array(n)       "*" n CRLF, then n values          same
//     Set(n)         as Array(n)                        "~" n CRLF, then n values
//     Map(pairs)     as Array(2 * pairs)                "%" pairs CRLF, then so often key and value
//     Verbatim       as Bulk                            "=" (length + 4) CRLF "txt:" text CRLF
//
// An aggregate is only its header: the caller writes as many values after it as it announced, and
// they may be aggregates themselves. Nothing checks that, except the tests of the commands.
//
// No byte from a client can end a reply early: Bulk and Verbatim carry any bytes behind their
// length, Error replaces control bytes, and SimpleString is for texts of ours.
//
// Not thread safe. Each call is one or two appends; nothing else is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir {

// Bytes of an error's text; the rest is cut off. Enough for the longest of ours with what it may
// quote.
inline constexpr std::size_t kErrorBytesMax = 512;

class RespWriter {
 public:
  // Appends to `out`, which must outlive the writer. Speaks RESP2 until told otherwise.
  explicit RespWriter(std::string& out) noexcept : out_(out) {}
  RespWriter(const RespWriter&) = delete;
  RespWriter& operator=(const RespWriter&) = delete;

  // The version of the protocol: 2 or 3.
  void set_protocol(int version) noexcept;
  [[nodiscard]] int protocol() const noexcept { return version_; }

  // What has been written so far, and a way to take the end of it back.
  [[nodiscard]] std::size_t size() const noexcept { return out_.size(); }
  void TakeBack(std::size_t size) { out_.resize(size); }

  // Requires: `text` has neither CR nor LF.
  void SimpleString(std::string_view text);

  // `text` begins with its prefix, "ERR invalid limit 'x'", and may hold anything: bytes below 0x20
  // and 0x7f become spaces, and only the first kErrorBytesMax bytes are sent. The one place where
  // errors are escaped.
  void Error(std::string_view text);

  void Integer(std::int64_t number);
  // One after the other: what Integer does, for less.
  void Integers(std::span<const std::int64_t> numbers);
  // In the fewest digits that are this number and no other: 0.021. Requires: it is finite.
  void Double(double number);
  void Bulk(std::string_view bytes);
  void Null();
  void NullArray();

  void Array(std::size_t values);
  void Set(std::size_t values);
  void Map(std::size_t pairs);

  // Text for humans: INFO, CLIENT LIST, RL.HELP.
  void Verbatim(std::string_view text);

 private:
  // Appends `type`, the number and CRLF.
  void Header(char type, std::int64_t number);
  void Blob(char type, std::string_view mark, std::string_view bytes);

  std::string& out_;
  int version_ = 2;
};

}  // namespace weir
