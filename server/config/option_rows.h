// The rows of the options, sorted by name; options.h says what a row holds.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/instant.h"
#include "core/rules/limit_counters.h"
#include "core/rules/slice.h"
#include "core/table/hold.h"
#include "core/table/table_bound.h"
#include "server/config/option_checks.h"
#include "server/config/options.h"
#include "server/config/replica_option_rows.h"
#include "server/config/rls_option_rows.h"
#include "server/config/xds_option_rows.h"

namespace weir {

// The rows of several arrays, in the order of their names.
template <std::size_t... kSizes>
[[nodiscard]] consteval auto SortedByName(const std::array<OptionSpec, kSizes>&... arrays) {
  std::array<const OptionSpec*, (kSizes + ...)> rows{};
  std::size_t count = 0;
  const auto add = [&](const auto& array) {
    for (const OptionSpec& row : array) rows[count++] = &row;
  };
  (add(arrays), ...);
  std::ranges::sort(rows, {}, [](const OptionSpec* row) { return row->name; });
  return rows;
}

inline constexpr auto kRedisLogLevels = std::to_array<RedisWord>({{"debug", "debug"},
                                                                  {"notice", "info"},
                                                                  {"verbose", "info"},
                                                                  {"warning", "warning"},
                                                                  {"warning", "error"}});

// Those that have no file of their own.
inline constexpr auto kServerOptionRows = std::to_array<OptionSpec>({
    {.name = "accept-damaged-state",
     .group = OptionGroup::kRare,
     .rank = 2,
     .field = &Options::accept_damaged_state,
     .fallback = "false",
     .summary = "Starts even if files in data-dir are damaged, and logs what is lost. By default "
                "weir then refuses to start."},
    {.name = "admin-bind",
     .group = OptionGroup::kHttp,
     .field = &Options::admin_bind,
     .fallback = "127.0.0.1",
     .summary = "The IP addresses of admin-port, separated by commas."},
    {.name = "admin-hosts",
     .group = OptionGroup::kHttp,
     .field = &Options::admin_hosts,
     .fallback = "",
     .summary = "Names under which browsers reach the page on admin-port, separated by commas. The "
                "page always answers to localhost and to the addresses of admin-bind, and refuses "
                "other names, because any site can give its own name the address of this host."},
    {.name = "admin-port",
     .group = OptionGroup::kHttp,
     .rank = 1,
     .field = &Options::admin_port,
     .fallback = "0",
     .min = 0,
     .max = 65'535,
     .summary = "The TCP port where operators ask over HTTP: the live page, /metrics, /livez, "
                "/readyz; usually 7382. 0 for none."},
    {.name = "allow-explicit-time",
     .group = OptionGroup::kRare,
     .field = &Options::allow_explicit_time,
     .fallback = "false",
     .summary = "Lets clients set the time of a decision (AT). Only for tests and replays: full "
                "buckets are never dropped, and a sliding window counts again 2^31 windows later "
                "(24 days of 1 ms)."},
    {.name = "backup-dir",
     .group = OptionGroup::kState,
     .field = &Options::backup_dir,
     .fallback = "",
     .summary = "The directory for RL.BACKUP, on the file system of data-dir, made if it does not "
                "exist. Without one there are no backups."},
    {.name = "bind",
     .group = OptionGroup::kListen,
     .rank = 2,
     .field = &Options::bind,
     .fallback = "127.0.0.1",
     .summary = "The IP addresses to listen on, separated by commas."},
    {.name = "checks",
     .group = OptionGroup::kHttp,
     .field = &Options::checks,
     .fallback = "",
     .summary = "A TOML file of the routes of /check/NAME, read at the start and at SIGHUP; see "
                "docs/http.md."},
    {.name = "config",
     .group = OptionGroup::kGeneral,
     .field = &Options::config,
     .fallback = "",
     .summary = "A TOML file with more options; those on the command line override it."},
    {.name = "data-dir",
     .group = OptionGroup::kState,
     .rank = 1,
     .field = &Options::data_dir,
     .fallback = "",
     .redis_alias = "dir",
     .summary = "The directory to keep the state in; without one, nothing survives a restart."},
    {.name = "durability",
     .group = OptionGroup::kState,
     .rank = 2,
     .field = &Options::durability,
     .fallback = "snapshot",
     .summary = "How much a crash may lose. `snapshot`: the last snapshot-interval; `always`: "
                "nothing, each admission waits for the disk; `none`: everything."},
    {.name = "http-bind",
     .group = OptionGroup::kHttp,
     .field = &Options::http_bind,
     .fallback = "127.0.0.1",
     .summary = "The IP addresses of http-port and http-tls-port, separated by commas."},
    {.name = "http-hosts",
     .group = OptionGroup::kHttp,
     .field = &Options::http_hosts,
     .fallback = "",
     .summary = "Names with a dot under which clients without a login reach /v1 and /check on "
                "http-port, separated by commas. Addresses, localhost and names without a dot are "
                "always answered; other names are refused, because any site can give its own name "
                "the address of this host."},
    {.name = "http-max-connection-age",
     .group = OptionGroup::kHttp,
     .field = &Options::http_max_connection_age,
     .fallback = "0s",
     .min = 0,
     .max = 2'592'000'000,
     .redis_seconds = true,
     .live = true,
     .summary = "Asks clients of HTTP/2 (gRPC) after this time, a tenth more or less, to end their "
                "connection and to open another; 0 never does. So a load balancer, or a name with "
                "several addresses, spreads them again."},
    {.name = "http-port",
     .group = OptionGroup::kHttp,
     .rank = 2,
     .field = &Options::http_port,
     .fallback = "0",
     .summary = "The TCP port where applications and proxies ask over HTTP, usually 7381, or up to "
                "4 ports, separated by commas. 0 for none."},
    {.name = "http-tls-port",
     .group = OptionGroup::kHttp,
     .field = &Options::http_tls_port,
     .fallback = "0",
     .min = 0,
     .max = 65'535,
     .summary = "The TCP port for HTTPS, with the certificate and the clients of tls-port; 0 for "
                "none."},
    {.name = "http-unix-socket",
     .group = OptionGroup::kHttp,
     .field = &Options::http_unix_socket,
     .fallback = "",
     .summary = "The path of a Unix socket for HTTP, with the mode of unix-socket-perm."},
    {.name = "latency-monitor-threshold",
     .group = OptionGroup::kLogs,
     .field = &Options::latency_monitor_threshold,
     .fallback = "0",
     .min = 0,
     .max = 3'600'000,
     .live = true,
     .summary =
         "LATENCY records events that take at least this many milliseconds; 0 records none."},
    {.name = "log-format",
     .group = OptionGroup::kLogs,
     .rank = 2,
     .field = &Options::log_format,
     .fallback = "text",
     .summary =
         "How log lines are written: `text`, or `json`, one object a line with time, level and "
         "message."},
    {.name = "log-level",
     .group = OptionGroup::kLogs,
     .rank = 1,
     .field = &Options::log_level,
     .fallback = "info",
     .redis_alias = "loglevel",
     .redis_words = kRedisLogLevels,
     .live = true,
     .summary = "The lowest level of log lines that are written to standard error."},
    {.name = "max-clients",
     .group = OptionGroup::kMemory,
     .rank = 2,
     .field = &Options::max_clients,
     .fallback = "10000",
     .min = 1,
     .max = 1'000'000,
     .redis_alias = "maxclients",
     .live = true,
     .check = CheckClientsFit,
     .summary = "The maximum number of connections. Each needs a file descriptor and 2 KiB."},
    {.name = "max-clients-memory",
     .group = OptionGroup::kMemory,
     .field = &Options::max_clients_memory,
     .fallback = "67108864",
     .min = std::int64_t{1} << 20,
     .max = std::int64_t{1} << 42,
     .redis_alias = "maxmemory-clients",
     .live = true,
     .summary = "The maximum memory for what connections hold: incomplete requests, unread "
                "replies, transactions, requests that wait for tokens. Above it the client that "
                "holds the most is closed. At least 1mb; 0 is no bound."},
    {.name = "max-hold",
     .group = OptionGroup::kLimits,
     .field = &Options::max_hold,
     .fallback = "3600s",
     .min = 1,
     .max = std::chrono::duration_cast<std::chrono::milliseconds>(kHoldMax).count(),
     .summary = "The longest TTL of RL.RESERVE, at most 24h. The reservation of a client that "
                "died ends after at most this time."},
    {.name = "max-holds",
     .group = OptionGroup::kLimits,
     .field = &Options::max_holds,
     .fallback = "1000000",
     .min = 0,
     .max = 100'000'000,
     .summary =
         "The maximum number of open holds (RL.RESERVE), one for each key of a request. Each "
         "takes 150 to 240 bytes for one to three limits, 2,700 for 64, and keeps them for "
         "up to a minute after it is settled. All together may take 256 bytes times the "
         "maximum; a named user may have a tenth of the number and of the memory."},
    {.name = "max-memory",
     .group = OptionGroup::kMemory,
     .rank = 1,
     .field = &Options::max_memory,
     .fallback = "0",
     .min = TableBound::kBytesMin,
     .max = std::int64_t{1} << 42,
     .redis_alias = "maxmemory",
     .live = true,
     .summary =
         "The maximum memory for buckets and holds. Above it full buckets are dropped first, then "
         "those that have used the smallest share of their limit. Holds may take a quarter. At "
         "least 32mb; 0 is no bound."},
    {.name = "max-wait",
     .group = OptionGroup::kLimits,
     .rank = 2,
     .field = &Options::max_wait,
     .fallback = "60s",
     .min = 0,
     .max = std::chrono::duration_cast<std::chrono::milliseconds>(kMaxWaitMax).count(),
     .summary =
         "The longest TIMEOUT of RL.WAIT. Stored times more than max(max-wait, capacity, ban) "
         "beyond an empty bucket's are treated as corrupt and cut."},
    {.name = "metrics-max-limits",
     .group = OptionGroup::kHttp,
     .field = &Options::metrics_max_limits,
     .fallback = "500",
     .min = 0,
     .max = static_cast<std::int64_t>(kCountedLimitsMax),
     .summary = "The number of limits that get series of their own in /metrics, at most 4,096: "
                "policies and labelled limits first, then others in order of first use. Later "
                "limits are summed as `(others)` until a restart."},
    {.name = "notify-at",
     .group = OptionGroup::kLimits,
     .field = &Options::notify_at,
     .fallback = "80,95,100",
     .live = true,
     .summary =
         "An admission that reaches one of these percentages of a window, or of a held limit, "
         "is an event on the channel weir:used; see docs/observing.md."},
    {.name = "notify-interval",
     .group = OptionGroup::kLimits,
     .field = &Options::notify_interval,
     .fallback = "60s",
     .min = 0,
     .max = 86'400'000,
     .live = true,
     .summary = "The time between two messages on weir:denied about the same key and limit, from "
                "each thread; 0 tells every denial."},
    {.name = "on-persist-error",
     .group = OptionGroup::kState,
     .field = &Options::on_persist_error,
     .fallback = "refuse",
     .live = true,
     .summary = "What happens with durability always when the disk fails. `refuse`: requests that "
                "would be admitted or start a ban get MISCONF; `serve`: they are answered, and a "
                "crash may lose what they change."},
    {.name = "open-checks",
     .group = OptionGroup::kHttp,
     .field = &Options::open_checks,
     .fallback = "true",
     .summary = "Answers /check?key=K&limit=10/s on http-port, where the URL has the limits. "
                "Off: only the routes of `checks` are answered."},
    {.name = "policies",
     .group = OptionGroup::kLimits,
     .rank = 1,
     .field = &Options::policies,
     .fallback = "",
     .summary = "A TOML file of policies, read at the start, at RL.POLICY RELOAD and at SIGHUP."},
    {.name = "port",
     .group = OptionGroup::kListen,
     .rank = 1,
     .field = &Options::port,
     .fallback = "7379",
     .min = 0,
     .max = 65'535,
     .summary = "The TCP port to listen on; 0 takes any free one."},
    {.name = "protected-mode",
     .group = OptionGroup::kAccess,
     .field = &Options::protected_mode,
     .fallback = "true",
     .redis_words = kRedisFlag,
     .live = true,
     .summary = "While neither a password nor a certificate is required, serves only clients that "
                "connect over loopback or a Unix socket."},
    {.name = "requirepass",
     .group = OptionGroup::kAccess,
     .field = &Options::requirepass,
     .fallback = "",
     .summary = "The password of the user `default`; if set, clients must give it. Never shown. "
                "Safer in a file than on a command line, which other users can read."},
    {.name = "requirepass-file",
     .group = OptionGroup::kAccess,
     .rank = 1,
     .field = &Options::requirepass_file,
     .fallback = "",
     .summary = "A file whose first line is requirepass; read at the start and at SIGHUP."},
    {.name = "reset-clock",
     .group = OptionGroup::kRare,
     .rank = 1,
     .field = &Options::reset_clock,
     .fallback = "false",
     .summary = "Starts at the wall clock's time even if the data directory has a later one. For a "
                "single start, after a wrong clock was corrected."},
    {.name = "server-name",
     .group = OptionGroup::kHttp,
     .field = &Options::server_name,
     .fallback = "",
     .summary = "The name under which the live page shows this server; by default that of the "
                "host."},
    {.name = "slice-life",
     .group = OptionGroup::kLimits,
     .field = &Options::slice_life,
     .fallback = "2s",
     .min = 0,
     .max = std::chrono::duration_cast<std::chrono::milliseconds>(kSliceLifeMax).count(),
     .live = true,
     .summary = "The longest life of a slice (RL.SLICE), and so the longest time by which a client "
                "may spend tokens later than they were charged; 0 grants nothing in advance."},
    {.name = "slowlog-log-slower-than",
     .group = OptionGroup::kLogs,
     .field = &Options::slowlog_log_slower_than,
     .fallback = "10000",
     .min = -1,
     .max = 3'600'000'000,
     .live = true,
     .summary = "SLOWLOG records commands that take at least this many microseconds; -1 records "
                "none."},
    {.name = "slowlog-max-len",
     .group = OptionGroup::kLogs,
     .field = &Options::slowlog_max_len,
     .fallback = "128",
     .min = 0,
     .max = 10'000,
     .live = true,
     .summary = "The maximum number of entries in SLOWLOG. Each takes up to 6 KiB."},
    {.name = "snapshot-interval",
     .group = OptionGroup::kState,
     .field = &Options::snapshot_interval,
     .fallback = "1s",
     .min = 10,
     .max = 3'600'000,
     .live = true,
     .summary = "The time between saves. A shorter one loses less in a crash and writes more."},
    {.name = "threads",
     .group = OptionGroup::kListen,
     .field = &Options::threads,
     .fallback = "0",
     .min = 0,
     .max = 64,
     .redis_alias = "io-threads",
     .summary = "The number of threads that serve connections; 0 is one per core, at most 8."},
    {.name = "timeout",
     .group = OptionGroup::kMemory,
     .field = &Options::timeout,
     .fallback = "0s",
     .min = 0,
     .max = 2'592'000'000,
     .redis_seconds = true,
     .live = true,
     .summary = "Closes connections that have been idle for this long; 0 never does."},
    {.name = "tls-auth-clients",
     .group = OptionGroup::kTls,
     .field = &Options::tls_auth_clients,
     .fallback = "yes",
     .summary = "Whether a client must show a certificate signed by tls-ca. With `optional` it may "
                "show none, but not a wrong one."},
    {.name = "tls-ca",
     .group = OptionGroup::kTls,
     .field = &Options::tls_ca,
     .fallback = "",
     .redis_alias = "tls-ca-cert-file",
     .summary = "A PEM file: the authorities that sign the certificates of clients, and of the "
                "primary with replication-tls; read again at SIGHUP."},
    {.name = "tls-cert",
     .group = OptionGroup::kTls,
     .rank = 2,
     .field = &Options::tls_cert,
     .fallback = "",
     .redis_alias = "tls-cert-file",
     .summary =
         "A PEM file: the server's certificate, then intermediate ones; read again at SIGHUP."},
    {.name = "tls-key",
     .group = OptionGroup::kTls,
     .field = &Options::tls_key,
     .fallback = "",
     .redis_alias = "tls-key-file",
     .summary = "A PEM file: the private key of tls-cert, without a password."},
    {.name = "tls-only",
     .group = OptionGroup::kTls,
     .field = &Options::tls_only,
     .fallback = "false",
     .summary = "Disables the plain-text port; all TCP clients must use TLS."},
    {.name = "tls-port",
     .group = OptionGroup::kTls,
     .rank = 1,
     .field = &Options::tls_port,
     .fallback = "0",
     .min = 0,
     .max = 65'535,
     .summary = "The TCP port for TLS, on the addresses of bind; 0 for none."},
    {.name = "unix-socket",
     .group = OptionGroup::kListen,
     .field = &Options::unix_socket,
     .fallback = "",
     .redis_alias = "unixsocket",
     .summary = "The path of a Unix socket to listen on as well."},
    {.name = "unix-socket-perm",
     .group = OptionGroup::kListen,
     .field = &Options::unix_socket_perm,
     .fallback = "700",
     .redis_alias = "unixsocketperm",
     .summary = "Who may connect to the Unix sockets, as their mode: the owner, the group too, or "
                "all users."},
    {.name = "users-file",
     .group = OptionGroup::kAccess,
     .rank = 2,
     .field = &Options::users_file,
     .fallback = "",
     .redis_alias = "aclfile",
     .summary = "A file of users, one per line as in Redis's ACL files; read at the start and at "
                "ACL LOAD."},
});

inline constexpr auto kSortedRows =
    SortedByName(kServerOptionRows, kReplicaOptionRows, kRlsOptionRows, kXdsOptionRows);
inline constexpr auto kOptionRows = []<std::size_t... kIs>(std::index_sequence<kIs...>) {
  return std::array{*kSortedRows[kIs]...};
}
(std::make_index_sequence<kSortedRows.size()>());

static_assert(std::ranges::is_sorted(kOptionRows, {}, &OptionSpec::name));

}  // namespace weir
