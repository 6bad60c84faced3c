#include "weir/core/causes.h"

#include <algorithm>
#include <array>

namespace weir::client {
namespace {

struct Outage {
  std::string_view prefix;
  std::string_view cause;
};

constexpr Outage kOutages[] = {
    {"LOADING", "loading"},
    {"READONLY", "readonly"},
    {"NOREPLICAS", "noreplicas"},
    {"NOACK", "noack"},
    {"MISCONF", "misconf"},
    {"OOM", "oom"},
    {"BUSY", kBusy},
    {"MASTERDOWN", "masterdown"},
    {"CLUSTERDOWN", "clusterdown"},
    {"UNBLOCKED", "unblocked"},
    {"NOPRIMARY", kNoPrimary},
};
constexpr std::array<std::string_view, 4> kLoginPrefixes = {"NOAUTH", "WRONGPASS", "NOPERM",
                                                            "DENIED"};
constexpr std::string_view kFull = "ERR max number of clients reached";

// Behind these a server may serve again, but not at this address or not on this connection.
constexpr std::array<std::string_view, 3> kLeaveServer = {"READONLY", "LOADING", "MASTERDOWN"};
constexpr std::array<std::string_view, 4> kLeaveConnection = {"NOAUTH", "WRONGPASS", "DENIED",
                                                              "LOADING"};

std::string_view PrefixOf(std::string_view error) { return error.substr(0, error.find(' ')); }

bool IsAmong(std::string_view prefix, const auto& prefixes) {
  return std::ranges::find(prefixes, prefix) != std::end(prefixes);
}

}  // namespace

std::string_view CauseOf(const Answer& refused, bool has_succeeded) {
  const std::string_view prefix = PrefixOf(refused.text);
  if (refused.text.starts_with(kFull)) return "full";
  const auto* const outage = std::ranges::find(kOutages, prefix, &Outage::prefix);
  const bool is_outage = outage != std::end(kOutages);
  if (IsAmong(prefix, kLoginPrefixes) || (refused.is_login && !is_outage)) {
    return has_succeeded ? "login" : "";
  }
  return is_outage ? outage->cause : "";
}

bool LeavesServer(const Answer& refused) { return IsAmong(PrefixOf(refused.text), kLeaveServer); }

bool LeavesConnection(const Answer& refused) {
  return refused.text.starts_with(kFull) || IsAmong(PrefixOf(refused.text), kLeaveConnection);
}

bool IsUnknownCommand(std::string_view error) { return error.starts_with("ERR unknown command "); }

}  // namespace weir::client
