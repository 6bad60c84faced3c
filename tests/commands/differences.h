// The differences between the hosts that tests of commands must know: a server counts buckets in
// its table, and Redis has its own keys and timers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "tests/commands/host.h"

namespace weir {

// The answer of DBSIZE for `keys` keys with `buckets` buckets in all.
inline std::string DbSize(int keys, int buckets) {
  return ":" + std::to_string(Host::IsModule() ? keys : buckets) + "\r\n";
}

// When a key is gone whose last bucket is full at `full`. Redis waits for the end of the
// millisecond.
inline Instant GoneAt(Instant full) {
  using std::chrono::milliseconds;
  return Host::IsModule() ? std::chrono::ceil<milliseconds>(full) + milliseconds{1} : full;
}

// The answer of TYPE for a key with buckets.
inline std::string TypeOfBuckets() { return Host::IsModule() ? "weir-keys" : "bucket"; }

// The number of commands RL.* that only this host has: the server's two about backups, and RL.SYNC.
inline std::size_t OwnCommands() { return Host::IsModule() ? 0 : 3; }

// The name of a field of INFO. Redis puts the name of the module before it.
inline std::string InfoName(std::string_view field) {
  return (Host::IsModule() ? "weir_" : "") + std::string(field);
}

// The error that refuses AT.
inline std::string NoExplicitTime() {
  return Host::IsModule() ? "AT needs a module that was loaded with allow-explicit-time"
                          : "AT needs a server that runs with --allow-explicit-time";
}

// The answer of RL.POLICY RELOAD.
inline std::string NoPolicyFile() {
  return Host::IsModule() ? "there is no policy file: the module keeps its policies with the data"
                          : "there is no policy file: start with --policies FILE";
}

// When a client that came at `now` is answered, if its tokens are available at `ready`. Redis's
// timers run for whole milliseconds, and begin at whole microseconds.
inline Instant AnsweredAt(Instant now, Instant ready) {
  if (!Host::IsModule()) return ready;
  const Instant began = std::chrono::floor<std::chrono::microseconds>(now);
  return began + std::chrono::ceil<std::chrono::milliseconds>(ready - began);
}

}  // namespace weir
