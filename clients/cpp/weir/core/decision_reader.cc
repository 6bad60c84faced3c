#include "weir/core/decision_reader.h"

#include <chrono>
#include <cstddef>
#include <string>

#include "weir/core/utf8.h"
#include "weir/errors.h"

namespace weir::client {
namespace {

std::int64_t IntegerAt(const Reply& reply, std::size_t index) {
  if (reply.kind != Reply::Kind::kArray || index >= reply.array.size() ||
      reply.array[index].kind != Reply::Kind::kInteger) {
    throw Mistake("the reply is not that of a decision: is the server weir?");
  }
  return reply.array[index].integer;
}

std::optional<std::chrono::milliseconds> TimeAt(const Reply& reply, std::size_t index) {
  const std::int64_t ms = IntegerAt(reply, index);
  if (ms < 0) return {};
  return std::chrono::milliseconds(ms);
}

// Whether the text of a limit, "5/s,shadow", has this option.
bool HasShadowOption(const std::string& name) {
  return (name + ",").find(",shadow,") != std::string::npos;
}

LimitRow ReadRow(const Reply& row, const Request& request) {
  if (row.array.size() < 9) throw Mistake("AND needs weir 0.2 or later");
  const std::string& name = row.array[0].text;
  LimitRow read;
  read.name = ToUtf8(name);
  read.allowed = IntegerAt(row, 1) == 1;
  read.count = IntegerAt(row, 2);
  read.remaining = IntegerAt(row, 3);
  read.retry_after = TimeAt(row, 4);
  read.reset_after = TimeAt(row, 5).value_or(std::chrono::milliseconds(0));
  read.group = static_cast<std::size_t>(IntegerAt(row, 6));
  read.cost = IntegerAt(row, 7);
  read.keep = IntegerAt(row, 8);
  read.is_shadow = HasShadowOption(name) || request.IsShadowLabel(read.group, name);
  return read;
}

}  // namespace

Decision ReadDecision(const Reply& reply, const Request& request) {
  Decision decision;
  decision.granted = IntegerAt(reply, 0);
  decision.allowed = decision.granted > 0;
  decision.remaining = IntegerAt(reply, 1);
  decision.retry_after = TimeAt(reply, 2);
  decision.reset_after = TimeAt(reply, 3);
  decision.limit = static_cast<std::size_t>(IntegerAt(reply, 4));
  decision.reason = decision.allowed       ? Reason::kAllowed
                    : decision.retry_after ? Reason::kDenied
                                           : Reason::kNever;
  if (reply.array.size() > 5) {
    for (const Reply& row : reply.array[5].array) {
      decision.limits.push_back(ReadRow(row, request));
    }
  }
  return decision;
}

Decision ReadSlice(Reply reply, const Request& request) {
  const std::chrono::microseconds life(IntegerAt(reply, 5));
  for (const std::size_t time : {2, 3}) {
    std::int64_t& value = reply.array[time].integer;
    if (value > 0) value = (value - 1) / 1000 + 1;
  }
  reply.array.resize(5);
  Decision decision = ReadDecision(reply, request);
  decision.life = life;
  return decision;
}

}  // namespace weir::client
