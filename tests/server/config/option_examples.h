// Values of each option, good ones and bad ones.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct OptionExample {
  std::string text;
  std::string in_file;    // as a TOML value
  std::string read_back;  // by OptionText
};

inline const std::map<std::string_view, std::vector<OptionExample>> kGoodOptions = {
    {"accept-damaged-state", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"admin-bind", {{"127.0.0.1,::1", "[\"127.0.0.1\", \"::1\"]", "127.0.0.1,::1"}}},
    {"admin-hosts",
     {{"", "[]", ""}, {"Weir.Internal 0::1", "[\"weir.internal\", \"::1\"]", "weir.internal,::1"}}},
    {"admin-port", {{"0", "0", "0"}, {"65535", "65535", "65535"}}},
    {"allow-explicit-time", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"backup-dir", {{"/backups", "\"/backups\"", "/backups"}}},
    {"bind",
     {{"127.0.0.1", "\"127.0.0.1\"", "127.0.0.1"},
      {"127.0.0.1,::1", "[\"127.0.0.1\", \"::1\"]", "127.0.0.1,::1"},
      {"0.0.0.0 0:0::0", "\"0.0.0.0 0:0::0\"", "0.0.0.0,::"}}},
    {"checks", {{"checks.toml", "\"checks.toml\"", "checks.toml"}}},
    {"config", {}},  // see the tests of the file
    {"data-dir", {{"/var/lib/weir", "\"/var/lib/weir\"", "/var/lib/weir"}}},
    {"durability",
     {{"snapshot", "\"snapshot\"", "snapshot"},
      {"always", "always", "always"},
      {"none", "none", "none"}}},
    {"http-bind", {{"127.0.0.1,::1", "[\"127.0.0.1\", \"::1\"]", "127.0.0.1,::1"}}},
    {"http-port", {{"0", "0", "0"}, {"65535", "65535", "65535"}}},
    {"http-tls-port", {{"0", "0", "0"}, {"65535", "65535", "65535"}}},
    {"http-unix-socket", {{"/run/http.sock", "\"/run/http.sock\"", "/run/http.sock"}}},
    {"latency-monitor-threshold", {{"0", "0", "0"}, {"3600000", "3600000", "3600000"}}},
    {"log-format", {{"text", "\"text\"", "text"}, {"json", "json", "json"}}},
    {"log-level",
     {{"debug", "\"debug\"", "debug"},
      {"info", "info", "info"},
      {"warning", "'warning'", "warning"},
      {"error", "error", "error"}}},
    {"max-clients", {{"1", "1", "1"}, {"1000000", "1000000", "1000000"}}},
    {"max-clients-memory", {{"0", "0", "0"}, {"1mb", "\"1mb\"", "1048576"}}},
    {"max-hold",
     {{"1ms", "\"1ms\"", "1ms"}, {"30m", "\"30m\"", "1800s"}, {"24h", "\"24h\"", "86400s"}}},
    {"max-holds", {{"0", "0", "0"}, {"100000000", "100000000", "100000000"}}},
    {"max-memory",
     {{"0", "0", "0"},
      {"32mb", "\"32mb\"", "33554432"},
      {"100M", "\"100m\"", "100000000"},
      {"2GB", "\"2gb\"", "2147483648"},
      {"50000k", "\"50000K\"", "50000000"},
      {"40000kb", "\"40000KB\"", "40960000"},
      {"1g", "1000000000", "1000000000"},
      {"33554432b", "33554432", "33554432"}}},
    {"max-wait",
     {{"0", "0", "0s"},
      {"500ms", "\"500ms\"", "500ms"},
      {"90s", "\"90s\"", "90s"},
      {"2m", "\"2m\"", "120s"},
      {"24h", "\"24h\"", "86400s"}}},
    {"metrics-max-limits", {{"0", "0", "0"}, {"4096", "4096", "4096"}}},
    {"on-persist-error", {{"refuse", "refuse", "refuse"}, {"serve", "\"serve\"", "serve"}}},
    {"open-checks", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"policies", {{"limits.toml", "\"limits.toml\"", "limits.toml"}}},
    {"port", {{"0", "0", "0"}, {"65535", "65535", "65535"}}},
    {"primary-password", {{"secret", "\"secret\"", "secret"}, {"", "\"\"", ""}}},
    {"primary-user", {{"link", "\"link\"", "link"}}},
    {"protected-mode", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"repl-backlog-size",
     {{"0", "0", "0"}, {"1mb", "\"1mb\"", "1048576"}, {"64mb", "\"64mb\"", "67108864"}}},
    {"repl-timeout", {{"100ms", "\"100ms\"", "100ms"}, {"1h", "\"1h\"", "3600s"}}},
    {"replica-announce-ip",
     {{"", "\"\"", ""},
      {"10.0.0.2", "\"10.0.0.2\"", "10.0.0.2"},
      {"Weir-B", "\"weir-b\"", "weir-b"}}},
    {"replica-announce-port", {{"0", "0", "0"}, {"65535", "65535", "65535"}}},
    {"replica-announced", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"replica-priority", {{"0", "0", "0"}, {"2147483647", "2147483647", "2147483647"}}},
    {"replica-serve-stale-data", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"replicaof",
     {{"", "\"\"", ""},
      {"10.0.0.1 7379", "\"10.0.0.1 7379\"", "10.0.0.1 7379"},
      {"0::1 1", "\"::1 1\"", "::1 1"},
      {"Weir.Internal 65535", "\"weir.internal 65535\"", "weir.internal 65535"}}},
    {"replication-tls", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"requirepass", {{"secret", "\"secret\"", "secret"}}},
    {"reset-clock", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"slowlog-log-slower-than",
     {{"-1", "-1", "-1"}, {"0", "0", "0"}, {"3600000000", "3600000000", "3600000000"}}},
    {"slowlog-max-len", {{"0", "0", "0"}, {"10000", "10000", "10000"}}},
    {"snapshot-interval",
     {{"10ms", "\"10ms\"", "10ms"}, {"1s", "\"1s\"", "1s"}, {"1h", "\"1h\"", "3600s"}}},
    {"threads", {{"0", "0", "0"}, {"64", "64", "64"}}},
    {"timeout", {{"0", "0", "0s"}, {"5m", "\"5m\"", "300s"}, {"720h", "'720h'", "2592000s"}}},
    {"tls-auth-clients",
     {{"yes", "yes", "yes"}, {"no", "\"no\"", "no"}, {"optional", "optional", "optional"}}},
    {"tls-ca", {{"ca.pem", "\"ca.pem\"", "ca.pem"}}},
    {"tls-cert", {{"weir.pem", "\"weir.pem\"", "weir.pem"}}},
    {"tls-key", {{"weir.key", "\"weir.key\"", "weir.key"}}},
    {"tls-only", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"tls-port", {{"0", "0", "0"}, {"65535", "65535", "65535"}}},
    {"unix-socket", {{"/run/weir.sock", "\"/run/weir.sock\"", "/run/weir.sock"}}},
    {"unix-socket-perm", {{"700", "700", "700"}, {"770", "\"770\"", "770"}, {"777", "777", "777"}}},
    {"users-file", {{"weir.users", "\"weir.users\"", "weir.users"}}},
};

struct OptionMistakes {
  std::vector<std::string> texts;
  std::string right;
};

inline constexpr const char* kAddressesWanted =
    "1 to 16 different IP addresses, separated by commas, as in 127.0.0.1,::1";

inline const std::map<std::string_view, OptionMistakes> kBadOptions = {
    {"accept-damaged-state", {{"yes", "TRUE", "1"}, "true or false"}},
    {"admin-bind", {{"", "localhost", "127.0.0.1:7382"}, kAddressesWanted}},
    {"admin-hosts",
     {{"weir:7382", "http://weir", "weir/", "[::1]", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"},
      "at most 16 host names without a port, separated by commas, as in weir.internal"}},
    {"admin-port", {{"", "-1", "65536", "http"}, "an integer from 0 to 65535"}},
    {"allow-explicit-time", {{"yes", "TRUE", "1"}, "true or false"}},
    {"backup-dir", {}},  // any text may be a path
    {"bind",
     {{"", ",", "localhost", "127.0.0.1:7379", "127.0.0.1,127.0.0.1", "::1,0::1", "256.0.0.1",
       "1.1.1.1,1.1.1.2,1.1.1.3,1.1.1.4,1.1.1.5,1.1.1.6,1.1.1.7,1.1.1.8,1.1.1.9,1.1.1.10,1.1.1.11,"
       "1.1.1.12,1.1.1.13,1.1.1.14,1.1.1.15,1.1.1.16,1.1.1.17"},
      kAddressesWanted}},
    {"checks", {}},  // any text may be a path
    {"config", {}},
    {"data-dir", {}},  // any text may be a path
    {"durability", {{"", "everysec", "Always"}, "one of snapshot, always, none"}},
    {"http-bind", {{"", "localhost", "127.0.0.1:7381"}, kAddressesWanted}},
    {"http-port", {{"", "-1", "65536", "http"}, "an integer from 0 to 65535"}},
    {"http-tls-port", {{"", "-1", "65536", "https"}, "an integer from 0 to 65535"}},
    {"http-unix-socket", {}},  // any text may be a path
    {"latency-monitor-threshold", {{"", "-1", "1s", "3600001"}, "an integer from 0 to 3600000"}},
    {"log-format", {{"", "JSON", "logfmt"}, "one of text, json"}},
    {"log-level", {{"", "loud", "INFO", "debug|info"}, "one of debug, info, warning, error"}},
    {"max-clients",
     {{"", "0", "-1", "1000001", "10k", "1.5", "010", "99999999999999999999"},
      "an integer from 1 to 1000000"}},
    {"max-clients-memory",
     {{"", "-1", "1", "1023kb", "5000gb"},
      "0, or a size from 1mb to 4096gb with a unit (kb, mb, gb)"}},
    {"max-hold",
     {{"", "0", "0s", "60", "-1s", "86401s", "25h", "1d"},
      "a time from 1ms to 86400s with a unit (ms, s, m, h)"}},
    {"max-holds", {{"", "-1", "100000001", "1M"}, "an integer from 0 to 100000000"}},
    {"max-memory",
     {{"", "mb", "1", "31mb", "5000gb", "1.5gb", "64 mb", "-64mb", "64tb", "64mib",
       "9223372036854775807gb"},
      "0, or a size from 32mb to 4096gb with a unit (kb, mb, gb)"}},
    {"max-wait",
     {{"", "60", "s", "-1s", "1.5s", "60 s", "60S", "86401s", "25h", "1d", "01s",
       "9223372036854775807h", "00"},
      "a time from 0s to 86400s with a unit (ms, s, m, h)"}},
    {"metrics-max-limits", {{"", "-1", "4097", "all"}, "an integer from 0 to 4096"}},
    {"on-persist-error", {{"", "deny"}, "one of refuse, serve"}},
    {"open-checks", {{"yes", "no", "1"}, "true or false"}},
    {"policies", {}},  // any text may be a path
    {"port", {{"", "-1", "65536", "redis", "0x1", "+1"}, "an integer from 0 to 65535"}},
    {"primary-password", {}},
    {"primary-user", {}},
    {"protected-mode", {{"yes", "no"}, "true or false"}},
    {"repl-backlog-size",
     {{"", "1", "1023kb", "2000gb"}, "0, or a size from 1mb to 4gb with a unit (kb, mb, gb)"}},
    {"repl-timeout",
     {{"", "5", "99ms", "2h"}, "a time from 100ms to 3600s with a unit (ms, s, m, h)"}},
    {"replica-announce-ip",
     {{"weir:7379", "a b", "[::1]"}, "a host name or an IP address, as in weir.internal"}},
    {"replica-announce-port", {{"", "-1", "65536", "redis"}, "an integer from 0 to 65535"}},
    {"replica-announced", {{"yes", "1"}, "true or false"}},
    {"replica-priority", {{"", "-1", "2147483648"}, "an integer from 0 to 2147483647"}},
    {"replica-serve-stale-data", {{"yes", "1"}, "true or false"}},
    {"replicaof",
     {{"weir", "weir:7379", "weir 0", "weir 65536", " 7379", "weir 7379 ", "no one"},
      "a host and a port from 1 to 65535, as in \"10.0.0.1 7379\""}},
    {"replication-tls", {{"yes", "1"}, "true or false"}},
    {"requirepass", {}},
    {"reset-clock", {{"yes", "1"}, "true or false"}},
    {"slowlog-log-slower-than",
     {{"", "-2", "10ms", "3600000001"}, "an integer from -1 to 3600000000"}},
    {"slowlog-max-len", {{"", "-1", "10001"}, "an integer from 0 to 10000"}},
    {"snapshot-interval",
     {{"", "0", "9ms", "3601s", "2h"}, "a time from 10ms to 3600s with a unit (ms, s, m, h)"}},
    {"threads", {{"", "65", "-1", "all"}, "an integer from 0 to 64"}},
    {"timeout",
     {{"", "60", "-1s", "721h"}, "a time from 0s to 2592000s with a unit (ms, s, m, h)"}},
    {"tls-auth-clients", {{"", "true", "YES"}, "one of yes, no, optional"}},
    {"tls-ca", {}},  // any text may be a path
    {"tls-cert", {}},
    {"tls-key", {}},
    {"tls-only", {{"yes"}, "true or false"}},
    {"tls-port", {{"", "-1", "65536"}, "an integer from 0 to 65535"}},
    {"unix-socket", {}},  // any text may be a path
    {"unix-socket-perm", {{"", "755", "0700", "u=rwx"}, "one of 700, 770, 777"}},
    {"users-file", {}},  // any text may be a path
};

}  // namespace weir
