// Texts that the program prints, in the form that case_programs.py gives them.
#pragma once

#include <chrono>
#include <optional>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "weir/fields.h"
#include "weir/limiter.h"

namespace weir {

inline std::string Number(std::optional<std::chrono::milliseconds> time) {
  return time ? std::to_string(time->count()) : "-";
}

inline std::string Said(const Decision& decision) {
  if (decision.reason == Reason::kUnavailable) {
    return "unavailable " + std::string(decision.cause) +
           (decision.allowed ? " allowed" : " denied");
  }
  std::string said = std::string(ToString(decision.reason)) + " " +
                     std::to_string(decision.remaining.value()) + " " +
                     Number(decision.retry_after) + " " + Number(decision.reset_after) + " " +
                     std::to_string(decision.limit.value());
  for (const LimitRow& row : decision.limits) {
    std::ostringstream text;
    text << " | " << row.name << " " << row.allowed << " " << row.count << " " << row.remaining
         << " " << Number(row.retry_after) << " " << Number(row.reset_after) << " " << row.group
         << " " << row.cost << " " << row.keep;
    said += text.str();
  }
  return said;
}

inline std::string Said(const Limited& limited) {
  return "limited " + limited.key + " " + Number(limited.retry_after) + " " +
         std::string(ToString(limited.decision.reason));
}

inline std::string Said(const Counts& counts) {
  std::ostringstream said;
  const auto add = [&](const std::string& name, std::int64_t count) {
    if (count > 0) said << (said.tellp() > 0 ? " " : "") << name << " " << count;
  };
  add("asked", counts.asked);
  add("allowed", counts.allowed);
  add("denied", counts.denied);
  add("kept", counts.kept);
  add("mistakes", counts.mistakes);
  for (const auto& [cause, count] : counts.unavailable) add(cause, count);
  return said.str();
}

inline std::string SaidInHttp(const Decision& decision) {
  std::ostringstream said;
  const auto blank = [&] { return said.tellp() > 0 ? " | " : ""; };
  for (const auto& [name, value] : Fields(decision, /*legacy=*/true)) {
    said << blank() << name << ": " << value;
  }
  if (!decision.allowed) {
    const auto [status, body] = Problem(decision);
    said << blank() << status << " " << body;
  }
  return said.tellp() > 0 ? said.str() : "none";
}

// As Python's json.dumps() writes it, with a blank behind each comma.
inline std::string Json(const Reply& reply) {
  switch (reply.kind) {
    case Reply::Kind::kNil:
      return "null";
    case Reply::Kind::kInteger:
      return std::to_string(reply.integer);
    case Reply::Kind::kText:
    case Reply::Kind::kError:
      return nlohmann::json(reply.text).dump();
    case Reply::Kind::kArray:
      break;
  }
  std::string elements;
  for (const Reply& element : reply.array) {
    elements += (elements.empty() ? "" : ", ") + Json(element);
  }
  return "[" + elements + "]";
}

}  // namespace weir
