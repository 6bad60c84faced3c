// The formats of logs: each reader turns a line into a request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "protocol/client_address.h"
#include "replay/logged_request.h"

namespace weir {

class LogReader {
 public:
  LogReader() = default;
  virtual ~LogReader() = default;
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // Reads a line, without its newline, into `request`, which is then good until the next call and
  // as long as the line. Returns false, with `request` unchanged, for a line that is no request and
  // that the format may have: a header, another command. Fails with kInvalidArgument and what would
  // be right for any other line, and with kFailedPrecondition for a line by which no other can be
  // read: a header of other columns.
  [[nodiscard]] virtual absl::StatusOr<bool> Read(std::string_view line,
                                                  LoggedRequest& request) = 0;
};

// Common and combined access logs, as nginx and Apache write them. The key is the client's network,
// as in checks (client_address.h), or a name that is no address:
//     192.0.2.7 - ann [10/Oct/2026:13:55:36 +0200] "GET / HTTP/1.1" 200 2326 "-" "curl/7.88"
// Apache's vhost_combined has a host and a port before it ("www.example.net:80 192.0.2.7 - ...").
[[nodiscard]] std::unique_ptr<LogReader> MakeAccessLogReader(int ipv6_bits = kIpv6Bits);

// Commas between the fields, and quotes as in RFC 4180, except that a record is one line: a field
// with a line break is an error on each of its lines that has a quote. `columns`: the name of each
// field in order; "time" (Unix seconds, or as ReadIsoTime), "key" and "cost" are read, and others
// are passed over. `cost_is_optional`: a line may end before a last column "cost". A line whose
// time begins with a letter is a header if no record is before it; it must not have one of these
// names, or of `columns`, in the place of a column that is read. A byte order mark before the first
// line is passed over, and so are lines that begin with #, unless the key is first. Requires:
// columns with one "time", at most one "cost", and either one "key" or a `key` of all records.
[[nodiscard]] std::unique_ptr<LogReader> MakeCsvReader(const std::vector<std::string>& columns,
                                                       bool cost_is_optional, std::string key = "");

// The paths of the fields in an object, as in "request.remote_ip": the names on the way, joined by
// points. Of an array its first element counts. Empty: those that Caddy, Traefik and nginx's
// variables have (json_log.cc); without a path for the cost it is 1.
struct JsonFields {
  std::string time{};
  std::string key{};
  std::string cost{};
};

// An object a line, as nginx (escape=json), Caddy and Traefik write them:
//     {"ts":1700000000.25,"request":{"remote_ip":"192.0.2.7","uri":"/"},"status":200}
// The time is Unix seconds, or as ReadIsoTime or ReadAccessTime read it. The key is the client's
// network, as in access logs, or any other text or number; or `key`, if that is not empty. A line
// that lacks a field is an error; but Caddy writes its own messages between its requests, so one
// without a known key is passed over if a request is before it.
[[nodiscard]] std::unique_ptr<LogReader> MakeJsonReader(const JsonFields& fields,
                                                        std::string key = "",
                                                        int ipv6_bits = kIpv6Bits);

// The lines of MONITOR, from weir, Redis or Valkey:
//     1700000000.250000 [0 127.0.0.1:50000] "RL.ALLOW" "user:42" "10/s" "COST" "3"
// An AT is the time of its request. Of alternatives (OR) the first one is read: an ask has its own.
// DEL, UNLINK, FLUSHALL and FLUSHDB forget buckets, as RL.RESET does. Lines of other commands that
// change no bucket are passed over, RL.PEEK among them.
[[nodiscard]] std::unique_ptr<LogReader> MakeMonitorReader();

// The instant of a count of Unix seconds. Fails for a text that is no time, or is not in
// [Instant{}, kInstantMax].
[[nodiscard]] absl::StatusOr<Instant> ParseUnixSeconds(std::string_view text);

// The error for a word of a log, quoted: "time 'x': ...".
[[nodiscard]] absl::Status BadWord(std::string_view name, std::string_view word,
                                   std::string_view what);

}  // namespace weir
