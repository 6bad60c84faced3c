// Writes replies through Redis, as protocol/resp_writer.h does in the server.
// core/commands/replies.h lists the functions that it must have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "module/api/redis_api.h"

namespace weir {

class RedisReply {
 public:
  explicit RedisReply(redis::Context* context) noexcept : context_(context) {}

  // The version of the protocol that the client speaks: 2 or 3.
  [[nodiscard]] int protocol() const {
    return (redis::GetContextFlags(context_) & redis::kResp3) != 0 ? 3 : 2;
  }

  // Requires: `text` has neither CR, LF nor NUL.
  void SimpleString(const std::string& text) {
    redis::ReplyWithSimpleString(context_, text.c_str());
  }
  // `text` begins with the error's prefix. Control bytes become spaces.
  void Error(std::string text);
  void Integer(std::int64_t number) { redis::ReplyWithLongLong(context_, number); }
  void Bulk(std::string_view bytes) {
    redis::ReplyWithStringBuffer(context_, bytes.data(), bytes.size());
  }
  void Null() { redis::ReplyWithNull(context_); }
  void Array(std::size_t values) { redis::ReplyWithArray(context_, static_cast<long>(values)); }
  void ArrayOf(std::size_t values, std::span<const std::int64_t> first) {
    Array(values);
    for (const std::int64_t number : first) Integer(number);
  }
  void Map(std::size_t pairs) { redis::ReplyWithMap(context_, static_cast<long>(pairs)); }

 private:
  redis::Context* const context_;
};

}  // namespace weir
