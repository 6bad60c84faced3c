// The server's options. One table of rows declares them; the command line, the TOML file, --help,
// CONFIG and docs/commands.md all read it.
//
//     weir-server --port 7379 --threads 4 --config weir.toml
//
// The keys of the file are the names of the options, and values are spelled as on the command line:
//
//     port = 7379
//     bind = ["127.0.0.1", "::1"]
//     max-wait = "60s"
//     allow-explicit-time = true
//
// The command line wins over the file, the file over the fallbacks. Neither has an option twice.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/host_and_port.h"
#include "core/commands/percents.h"
#include "server/os/descriptor_limit.h"
#include "server/os/log.h"
#include "server/os/wipe.h"

namespace weir {

// An IP address as text, in the form that inet_ntop prints.
using AddressList = std::vector<std::string>;

// Names of hosts in lower case, or IP addresses.
struct HostList {
  std::vector<std::string> names;  // may be empty
};

// The name of a host in lower case, or an IP address.
struct HostName {
  std::string name;  // empty: none
};

// The servers of one group.
struct ServerList {
  std::vector<HostAndPort> servers;  // may be empty
};

// TCP ports, from 1 on.
struct PortList {
  std::vector<std::uint16_t> ports;  // different ones; may be empty
};

// A size of memory.
struct ByteCount {
  std::int64_t bytes = 0;
};

// Redis's name for the order in which a bound of memory drops buckets. "volatile-ttl" comes
// closest: the buckets nearest to full go first, and a key is gone when its buckets are full.
[[nodiscard]] constexpr std::string_view EvictionPolicy(ByteCount max_memory) noexcept {
  return max_memory.bytes == 0 ? "noeviction" : "volatile-ttl";
}

// The types of options whose value is one of several words, each with its words in the order of the
// enumerators.
constexpr std::string_view OptionWords(bool) { return "false|true"; }
enum class Durability { kSnapshot, kAlways, kNone };
constexpr std::string_view OptionWords(Durability) { return "snapshot|always|none"; }
constexpr std::string_view OptionWords(LogLevel) { return "debug|info|warning|error"; }
constexpr std::string_view OptionWords(LogLineFormat) { return "text|json"; }
enum class EdgeAway { kError, kClosed, kOpen };
constexpr std::string_view OptionWords(EdgeAway) { return "error|closed|open"; }
enum class OnPersistError { kRefuse, kServe };
constexpr std::string_view OptionWords(OnPersistError) { return "refuse|serve"; }
enum class RlsHeaders { kNone, kReference, kRatelimit };
constexpr std::string_view OptionWords(RlsHeaders) { return "none|reference|ratelimit"; }
enum class RlsMetrics { kOwn, kReference };
constexpr std::string_view OptionWords(RlsMetrics) { return "own|reference"; }
enum class TlsAuthClients { kYes, kNo, kOptional };
constexpr std::string_view OptionWords(TlsAuthClients) { return "yes|no|optional"; }
enum class UnixSocketPerm { kOwner, kGroup, kAll };
constexpr std::string_view OptionWords(UnixSocketPerm) { return "700|770|777"; }

// The word of an enumerator.
template <typename Enum>
[[nodiscard]] constexpr std::string_view WordOf(Enum value) {
  std::string_view words = OptionWords(value);
  for (auto i = static_cast<int>(value); i > 0; --i) words.remove_prefix(words.find('|') + 1);
  return words.substr(0, words.find('|'));
}

struct Options {
  AddressList bind;          // never empty
  std::int64_t port = 0;     // 0: any free one
  std::int64_t threads = 0;  // 0: one per core, at most 8
  std::int64_t max_clients = 0;
  ByteCount max_clients_memory;  // 0: no bound
  ByteCount max_memory;          // 0: no bound
  std::chrono::milliseconds max_wait{0};
  std::chrono::milliseconds max_hold{0};
  std::int64_t max_holds = 0;
  std::chrono::milliseconds slice_life{0};  // 0: no slices
  bool allow_explicit_time = false;
  std::string data_dir;    // empty: nothing is kept
  std::string backup_dir;  // empty: there are no backups
  Durability durability{};
  std::chrono::milliseconds snapshot_interval{0};
  OnPersistError on_persist_error{};
  bool reset_clock = false;
  bool accept_damaged_state = false;
  Secret requirepass;            // empty: none; the server keeps only its hash
  std::string requirepass_file;  // path; empty: none
  std::string users_file;        // path; empty: none
  std::string policies;          // path of the policy file; empty: none
  LogLevel log_level{};
  LogLineFormat log_format{};
  std::string config;  // path of the file; empty: none
  bool protected_mode = true;
  std::chrono::milliseconds timeout{0};                  // 0: none
  std::chrono::milliseconds http_max_connection_age{0};  // 0: none
  std::int64_t slowlog_log_slower_than = 0;              // microseconds; 0: all, -1: none
  std::int64_t slowlog_max_len = 0;                      // entries
  std::int64_t latency_monitor_threshold = 0;            // milliseconds; 0: off
  TlsAuthClients tls_auth_clients{};
  std::string tls_ca;  // paths of PEM files; empty: none
  std::string tls_cert;
  std::string tls_key;
  bool tls_only = false;
  std::int64_t tls_port = 0;  // 0: no TLS
  std::string unix_socket;    // path; empty: none
  UnixSocketPerm unix_socket_perm{};
  AddressList http_bind;  // never empty
  HostList http_hosts;
  PortList http_port;              // none: no HTTP
  std::int64_t http_tls_port = 0;  // 0: no HTTPS
  std::string http_unix_socket;    // path; empty: none
  std::string checks;              // path of the file of check routes; empty: none
  bool open_checks = true;
  std::string rls_config;  // path of rules of Envoy's rate limit service; empty: none
  RlsHeaders rls_headers{};
  bool rls_merge_domains = false;
  bool rls_metadata = false;
  RlsMetrics rls_metrics{};
  bool rls_quota = false;
  bool rls_shadow = false;
  ServerList rls_xds;      // the control plane that has those rules, in place of files; none or one
  std::string rls_xds_ca;  // paths of PEM files; empty: none
  std::string rls_xds_cert;
  std::string rls_xds_key;
  Secret rls_xds_headers;            // see ParseHeaders; Settings alone has it
  std::string rls_xds_headers_file;  // path; empty: none
  std::string rls_xds_node;
  std::string rls_xds_node_metadata;  // see ParsePairs
  HostName rls_xds_san;               // none: the host of rls_xds
  bool rls_xds_tls = false;
  AddressList admin_bind;  // never empty
  HostList admin_hosts;
  std::int64_t admin_port = 0;  // 0: none
  std::int64_t metrics_max_limits = 0;
  Percents notify_at;
  std::chrono::milliseconds notify_interval{0};  // 0: none
  HostAndPort replicaof;                         // none: a primary
  std::string primary_user;                      // empty: the user `default`
  Secret primary_password;                       // empty: none; Settings alone has it
  std::string primary_password_file;             // path; empty: none
  HostName replica_announce_ip;                  // none: that of the socket
  std::int64_t replica_announce_port = 0;        // 0: port, or tls-port under replication-tls
  bool replica_announced = true;
  std::int64_t replica_priority = 0;  // 0: never promoted
  bool replica_serve_stale_data = true;
  std::int64_t ack_replicas = 0;  // 0: replies do not wait
  std::chrono::milliseconds ack_timeout{0};
  std::int64_t min_replicas_to_write = 0;  // 0: no lease
  std::chrono::milliseconds min_replicas_max_lag{0};
  ByteCount repl_backlog_size;
  std::chrono::milliseconds repl_timeout{0};
  std::string sentinel;                        // empty: no Sentinel watches this server
  std::chrono::milliseconds sentinel_wait{0};  // 0: without end
  bool replication_tls = false;
  ServerList edge_of;  // none: the server decides itself
  EdgeAway edge_away{};
  HostName server_name;  // none: the name of the host

  // True if a port, or a socket, takes decisions over HTTP.
  [[nodiscard]] bool serves_http() const {
    return !http_port.ports.empty() || http_tls_port != 0 || !http_unix_socket.empty();
  }
  // True if it is Envoy's rate limit service.
  [[nodiscard]] bool serves_rls() const { return !rls_config.empty() || !rls_xds.servers.empty(); }
  // True if the server is an edge of others.
  [[nodiscard]] bool is_edge() const { return !edge_of.servers.empty(); }
  // True if the state is kept on disk.
  [[nodiscard]] bool keeps_state() const {
    return !data_dir.empty() && durability != Durability::kNone;
  }
};

// A port on which the server listens.
struct OpenPort {
  std::string_view name;  // of its option
  const AddressList& addresses;
  std::uint16_t port;  // 0: any free one
};
[[nodiscard]] std::vector<OpenPort> OpenPorts(const Options& options);

// The parts of the server that need descriptors. Requires: `threads` is not 0.
[[nodiscard]] DescriptorUse DescriptorUseOf(const Options& options);

inline constexpr std::size_t kBindAddressesMax = 16;
inline constexpr std::size_t kHostNamesMax = 16;
inline constexpr std::size_t kServersMax = 16;
inline constexpr std::size_t kPortsMax = 4;
inline constexpr std::size_t kHostNameBytesMax = 253;

// Redis's word for a value, and weir's.
struct RedisWord {
  std::string_view redis;
  std::string_view ours;
};

// The subject of an option. --help shows the groups in this order (option_help.h).
enum class OptionGroup {
  kGeneral,
  kListen,
  kAccess,
  kState,
  kLimits,
  kMemory,
  kHttp,
  kReplicas,
  kTls,
  kLogs,
  kRare
};

// The row of one option.
struct OptionSpec {
  using Field =
      std::variant<AddressList Options::*, HostList Options::*, HostName Options::*,
                   HostAndPort Options::*, ServerList Options::*, PortList Options::*,
                   Percents Options::*, std::int64_t Options::*, ByteCount Options::*,
                   std::chrono::milliseconds Options::*, bool Options::*, std::string Options::*,
                   Secret Options::*, Durability Options::*, LogLevel Options::*,
                   LogLineFormat Options::*, OnPersistError Options::*, EdgeAway Options::*,
                   RlsHeaders Options::*, RlsMetrics Options::*, TlsAuthClients Options::*,
                   UnixSocketPerm Options::*>;

  std::string_view name;  // without the dashes
  OptionGroup group;
  int rank = 0;  // 1, 2: its place at the front of its group; 0: behind those, by its name
  Field field;
  std::string_view fallback;  // spelled as on the command line
  // The range of a number, of a size in bytes (0 is allowed, too), or of a duration in
  // milliseconds.
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::string_view redis_alias = {};  // Redis's name for it, which CONFIG takes, too
  // The words that CONFIG uses for values under Redis's name (the alias, or else `name`). CONFIG
  // GET shows the first word of a value; CONFIG SET accepts all of them, and weir's own.
  std::span<const RedisWord> redis_words = {};
  bool redis_seconds = false;  // for a duration: CONFIG has whole seconds without a unit
  bool live = false;           // CONFIG SET may change it (settings.h)
  bool secret = false;         // its value is neither shown nor logged
  // Fails if the system cannot provide what CONFIG SET asks for; may make room for it first.
  absl::Status (*check)(const Options& options) = nullptr;
  std::string_view summary;  // a sentence: the meaning, and the cost of larger values
};

// Sorted by name.
[[nodiscard]] std::span<const OptionSpec> OptionTable() noexcept;

// The options with their default values.
[[nodiscard]] Options DefaultOptions();

// Sets one option from its text. Fails with kInvalidArgument and changes nothing:
// "option 'port': invalid value '70000': must be an integer from 0 to 65535".
//
//     address list   127.0.0.1,::1      IP addresses, separated by commas or spaces
//     host list      name,127.0.0.1     host names or IP addresses, with commas; it may be empty
//     host           name               a host name or an IP address; it may be empty
//     server         "name 7379"        a host and a port from 1 on; it may be empty
//     servers        a:7379,b:7379      hosts and ports, separated by commas; it may be empty
//     ports          8081,8080          1 to 65535, separated by commas or spaces; 0 for none
//     percentages    80,95,100          1 to 100, separated by commas or spaces; it may be empty
//     number         digits             in the row's range
//     size           digits [unit]      k, m, g: thousands; kb, mb, gb: powers of 1,024
//     duration       0 | digits (ms|s|m|h)
//     flag           true | false       yes and no mean the same
//     word           one of the words of its type
//     text           any
absl::Status SetOption(const OptionSpec& spec, std::string_view text, Options& options);

// The kind of its values: ADDRESSES, HOSTS, HOST, SERVER, SERVERS, PORTS, PERCENTS, NUMBER, SIZE,
// TIME, FLAG, WORD or TEXT, in the order of the list above.
[[nodiscard]] std::string_view OptionKind(const OptionSpec& spec);

// The words of a FLAG or WORD, separated by '|'; empty for other kinds.
[[nodiscard]] std::string OptionChoices(const OptionSpec& spec);

// The values that SetOption accepts, in words: "an integer from 0 to 65535".
[[nodiscard]] std::string ExpectedText(const OptionSpec& spec);

// The value of an option, spelled so that SetOption takes it.
[[nodiscard]] std::string OptionText(const OptionSpec& spec, const Options& options);

// The summary, and whether CONFIG SET may change it.
[[nodiscard]] std::string OptionHelp(const OptionSpec& spec);

// Sets the options in a file. Fails with kInvalidArgument and one line that begins with the place
// and names the option, the value and what would be right: "weir.toml:3: option 'port': ...". The
// options before that one stay set.
absl::Status ReadOptionsFile(const std::string& path, Options& options);

// Sets those in the text of such a file; `path` is its name in errors.
absl::Status ApplyOptionsFile(std::string_view text, const std::string& path, Options& options);

// Reads a host name, or an IP address in any spelling. Unset if it is neither.
[[nodiscard]] std::optional<std::string> ParseHost(std::string_view text);

// Fails with kInvalidArgument if an option lacks another one that it needs. (The places of a
// password, and users-file beside one, are those of ReadPasswords; the files of TLS those of
// TlsContext::Load.)
absl::Status CheckTogether(const Options& options);

// A command line: the options to serve with, unless it asks for something else.
struct CommandLine {
  Options options;
  std::string print_and_exit{};       // the text of --help or --version; empty: none
  std::optional<std::string> ping{};  // the address of --ping; empty: that of the options
};

// Reads the command line and the file that --config names. Fails with kInvalidArgument and one line
// that names the option, the value and what would be right, and the file if the option is in it.
[[nodiscard]] absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv);

}  // namespace weir
