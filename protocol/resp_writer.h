// A writer of replies in RESP2 or RESP3, which appends them to a string: the connection's output.
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
//     Push(n)        as Array(n)                        ">" n CRLF, then n values
//     Map(pairs)     as Array(2 * pairs)                "%" pairs CRLF, then key, value, key, ...
//     Verbatim       as Bulk                            "=" (length + 4) CRLF "txt:" text CRLF
//
// Array, Set, Push and Map write only a header: the caller then writes the announced number of
// values, which may be aggregates themselves. Only the tests of the commands check that number.
//
// No byte from a client can end a reply early: Bulk and Verbatim say their length first, Error
// replaces control bytes, and SimpleString is for our own texts only.
//
// Not thread safe. Each call is one or two appends; nothing else is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir {

// Bytes of an error's text; the rest is cut off. Our longest text fits, with the words that it may
// quote.
inline constexpr std::size_t kErrorBytesMax = 512;

// A byte that no line of a reply has: not a status, nor an error, nor a number.
[[nodiscard]] constexpr bool IsControl(char byte) noexcept {
  return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f;
}

class RespWriter {
 public:
  // Appends to `out`, which must outlive the writer. Writes RESP2 until set_protocol.
  explicit RespWriter(std::string& out) noexcept : out_(out) {}
  RespWriter(const RespWriter&) = delete;
  RespWriter& operator=(const RespWriter&) = delete;

  // The version of the protocol. Requires: 2 or 3.
  void set_protocol(int version) noexcept;
  [[nodiscard]] int protocol() const noexcept { return version_; }

  // The size of the output so far, and a return to an earlier size. Requires: size <= size().
  [[nodiscard]] std::size_t size() const noexcept { return out_.size(); }
  void TakeBack(std::size_t size);

  // Requires: `text` has no control bytes.
  void SimpleString(std::string_view text);

  // `text` begins with its prefix, as in "ERR invalid limit 'x'", and may contain any bytes:
  // control bytes (below 0x20, and 0x7f) become spaces, and only the first kErrorBytesMax bytes are
  // sent. Errors are escaped here and nowhere else.
  void Error(std::string_view text);

  void Integer(std::int64_t number);
  // Writes the shortest text that reads as this number: 0.021. Requires: a finite number.
  void Double(double number);
  void Bulk(std::string_view bytes);
  void Null();
  void NullArray();

  void Array(std::size_t values);
  // Writes the header of an array and the first of its values, at a lower cost than one by one.
  // Requires: at most kFirstIntegersMax integers, and no more than `values`.
  static constexpr std::size_t kFirstIntegersMax = 5;
  void ArrayOf(std::size_t values, std::span<const std::int64_t> first);
  void Set(std::size_t values);
  // A message that is no reply, such as one of a channel.
  void Push(std::size_t values);
  void Map(std::size_t pairs);
  // One pair of a map.
  void Field(std::string_view name, std::string_view text) {
    Bulk(name);
    Bulk(text);
  }
  void Field(std::string_view name, std::int64_t number) {
    Bulk(name);
    Integer(number);
  }

  // Text for people: INFO, CLIENT LIST, RL.HELP.
  void Verbatim(std::string_view text);

 private:
  // Appends `type`, the number and CRLF.
  void Header(char type, std::int64_t number);
  void Blob(char type, std::string_view mark, std::string_view bytes);

  std::string& out_;
  int version_ = 2;
};

}  // namespace weir
