// REPLICAOF, SLAVEOF, FAILOVER, ROLE, WAIT and RL.SYNC, and the commands of Redis's own
// replication, which are refused.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include <sodium/utils.h>
#include <spdlog/spdlog.h>

#include "core/base/ignore_case.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "protocol/arg_reader.h"
#include "protocol/integer.h"
#include "server/commands/handlers.h"
#include "server/config/options.h"
#include "server/handlers/ack_waiter.h"
#include "server/handlers/sync_waiter.h"
#include "server/os/log.h"
#include "server/session/call.h"
#include "server/session/worker.h"

namespace weir {
namespace {

constexpr std::string_view kNoReplication = "this server does not replicate";
constexpr std::string_view kExplicitTime =
    "replication does not go with --allow-explicit-time, since a replica's time is that of its "
    "primary";
constexpr std::int64_t kTermMax = std::int64_t{1} << 53;  // so that it can still grow
constexpr std::size_t kIdDigits = 40;                     // of a run id and of a history's id

// Replication of the server; null after answering an error.
Replication* FindReplication(Call& call) {
  Replication* const replication = call.services().replication;
  if (!replication) call.Fail(kNoReplication);
  if (replication && call.services().options.allow_explicit_time) {
    call.Fail(kExplicitTime);
    return nullptr;
  }
  return replication;
}

void LogFollow(const Call& call, const std::string& what) {
  spdlog::warn("client {}, user '{}', has asked this server to {}",
               EscapedForLog(call.client().record().address),
               EscapedForLog(call.client().user()->name()), what);
}

// Sentinel gives its connections names of this kind.
bool IsOfSentinel(const Call& call) {
  return !call.services().options.sentinel.empty() &&
         call.client().record().name().starts_with("sentinel-");
}

// --- RL.SYNC -------------------------------------------------------------------------------------

// The value of hexadecimal digits in any case.
template <std::size_t kBytes>
std::optional<std::array<unsigned char, kBytes>> ReadHex(std::string_view text) {
  std::array<unsigned char, kBytes> bytes{};
  std::size_t size = 0;
  const int failed =
      sodium_hex2bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &size, nullptr);
  if (failed != 0 || size != bytes.size()) return std::nullopt;
  return bytes;
}

// A run id or a history's id: it stays in INFO and in files, so it has one spelling.
std::string ReadId(ArgReader& arguments, std::string_view name) {
  const std::string_view word = arguments.Word(name);
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (word.size() != kIdDigits || !std::ranges::all_of(word, is_digit)) {
    arguments.Fail(absl::StrCat("invalid ", AbslView(name), ": must be 40 digits from 0 to f"));
  }
  return std::string(word);
}

void ExpectKeyword(ArgReader& arguments, std::string_view keyword) {
  if (!arguments.TryKeyword(keyword)) arguments.Fail("syntax error");
}

absl::StatusOr<SyncRequest> ReadSync(ArgReader arguments) {
  SyncRequest request;
  request.oldest_version =
      static_cast<std::uint32_t>(arguments.Integer("oldest-version", 1, INT32_MAX));
  request.newest_version =
      static_cast<std::uint32_t>(arguments.Integer("newest-version", 1, INT32_MAX));
  if (request.newest_version < request.oldest_version) {
    arguments.Fail("invalid newest-version: it is below oldest-version");
  }
  ExpectKeyword(arguments, "ID");
  request.run_id = ReadId(arguments, "run-id");
  ExpectKeyword(arguments, "ADDR");
  if (const std::string_view ip = arguments.Word("ip"); ip != "-") {
    std::optional<std::string> host = ParseHost(ip);
    if (!host) arguments.Fail("invalid ip: must be an IP address, a host name or -");
    request.ip = std::move(host).value_or("");
  }
  request.port = static_cast<std::uint16_t>(arguments.Integer("port", 1, UINT16_MAX));
  ExpectKeyword(arguments, "TERM");
  request.term = static_cast<std::uint64_t>(arguments.Integer("term", 0, kTermMax));
  ExpectKeyword(arguments, "KEY");
  const auto fingerprint = ReadHex<16>(arguments.Word("fingerprint"));
  if (!fingerprint) arguments.Fail("invalid fingerprint: must be 32 hexadecimal digits");
  request.key_fingerprint = fingerprint.value_or(std::array<unsigned char, 16>{});
  if (arguments.TryKeyword("FROM")) {
    HistoryPosition& from = request.from.emplace();
    from.replid = ReadId(arguments, "replid");
    from.offset = static_cast<std::uint64_t>(arguments.Integer("offset", 0, INT64_MAX));
  }
  request.was_told = arguments.TryKeyword("TOLD");
  if (const absl::Status read = arguments.Finish(); !read.ok()) return read;
  return request;
}

// --- FAILOVER ------------------------------------------------------------------------------------

// The order of the words and the errors are those of Redis.
absl::StatusOr<FailoverRequest> ReadFailover(ArgReader arguments) {
  FailoverRequest request;
  while (!arguments.AtEnd()) {
    if (!request.timeout && arguments.TryKeyword("TIMEOUT")) {
      request.timeout = std::chrono::milliseconds{arguments.Integer("timeout", 0, INT32_MAX)};
      if (*request.timeout == Nanos{0}) {
        arguments.Fail("FAILOVER timeout must be greater than 0");
      }
    } else if (!request.to && arguments.TryKeyword("TO")) {
      HostAndPort& to = request.to.emplace();
      to.host = ParseHost(arguments.Word("host")).value_or("");
      to.port = static_cast<std::uint16_t>(arguments.Integer("port", 1, UINT16_MAX));
      request.force = arguments.TryKeyword("FORCE");
    } else {
      arguments.Fail("syntax error");
    }
  }
  if (const absl::Status read = arguments.Finish(); !read.ok()) return read;
  return request;
}

}  // namespace

// Mistakes have the errors of Redis, which knows none in a host's name.
void ReplicaOf(Call& call) {
  const std::string_view name = call.arguments()[0];
  const std::string_view port_text = call.arguments()[1];
  if (EqualsIgnoreCase(name, "no") && EqualsIgnoreCase(port_text, "one")) {
    if (!call.services().is_primary()) LogFollow(call, "become a primary");
    Replication* const replication = call.services().replication;
    if (replication && IsOfSentinel(call)) {
      replication->BecomePrimaryForSentinel();
    } else if (replication) {
      replication->Follow(std::nullopt);
    }
    return call.reply.SimpleString("OK");
  }
  const std::optional<std::int64_t> port = ParseInteger(port_text);
  if (!port || *port < 1 || *port > UINT16_MAX) return call.Fail("Invalid master port");
  std::optional<std::string> host = ParseHost(name);
  if (!host) return call.Fail("Invalid master host");
  Replication* const replication = FindReplication(call);
  if (!replication) return;
  HostAndPort primary{*std::move(host), static_cast<std::uint16_t>(*port)};
  if (replication->IsOwn(primary)) {
    LogFollow(call, absl::StrCat("follow itself, ", primary.host, ":", primary.port,
                                 ", which changes nothing"));
    return call.Fail("this server cannot follow itself");
  }
  const std::optional<LinkStatus> link = replication->status().link;
  // A server that the link has refused is asked again, as one that was told to follow.
  const bool is_fed = link && link->state >= LinkState::kSync;
  if (is_fed && link->primary == primary) {
    return call.reply.SimpleString("OK Already connected to specified master");
  }
  LogFollow(call, absl::StrCat("follow ", primary.host, ":", primary.port));
  replication->Follow(std::move(primary));
  call.reply.SimpleString("OK");
}

void Failover(Call& call) {
  Replication* const replication = FindReplication(call);
  if (!replication) return;
  absl::Status begun;
  if (call.arguments().size() == 1 && EqualsIgnoreCase(call.arguments()[0], "ABORT")) {
    begun = replication->AbortFailover();
  } else {
    const absl::StatusOr<FailoverRequest> request = ReadFailover(ArgReader(call.arguments()));
    if (!request.ok()) return call.Fail(request.status());
    begun = replication->Failover(*request);
    if (begun.ok()) LogFollow(call, "fail over");
  }
  if (!begun.ok()) return call.Fail(begun);
  call.reply.SimpleString("OK");
}

void ShowRole(Call& call) {
  const Services& services = call.services();
  if (services.options.is_edge()) {
    const HostAndPort& primary = services.options.edge_of.servers.front();
    call.reply.Array(5);
    call.reply.Bulk("edge");
    call.reply.Bulk(primary.host);
    call.reply.Integer(primary.port);
    call.reply.Bulk(IsEdgeConnected(services) ? "connected" : "away");
    return call.reply.Integer(static_cast<std::int64_t>(EdgeMax(services, &EdgeNumbers::term)));
  }
  const ReplicationStatus status = services.replication_status();
  const auto offset = static_cast<std::int64_t>(status.offset);
  if (status.link) {
    const bool is_fed =
        status.link->state == LinkState::kSync || status.link->state == LinkState::kConnected;
    call.reply.Array(5);
    call.reply.Bulk("slave");
    call.reply.Bulk(status.link->primary.host);
    call.reply.Integer(status.link->primary.port);
    call.reply.Bulk(WordOf(status.link->state));
    return call.reply.Integer(is_fed ? offset : -1);
  }
  call.reply.Array(3);
  call.reply.Bulk("master");
  call.reply.Integer(offset);
  const auto is_online = [](const ReplicaStatus& replica) { return replica.online; };
  call.reply.Array(static_cast<std::size_t>(std::ranges::count_if(status.replicas, is_online)));
  for (const ReplicaStatus& replica : status.replicas) {
    if (!replica.online) continue;
    call.reply.Array(3);
    call.reply.Bulk(replica.ip);
    call.reply.Bulk(absl::StrCat(replica.port));
    call.reply.Bulk(absl::StrCat(replica.offset));
  }
}

void Sync(Call& call) {
  Replication* const replication = FindReplication(call);
  if (!replication) return;
  absl::StatusOr<SyncRequest> request = ReadSync(ArgReader(call.arguments()));
  if (!request.ok()) return call.Fail(request.status());
  if (call.services().admission().loading()) return call.ReplyError(kLoadingError);
  const ClientRecord& record = call.client().record();
  if (request->ip.empty()) request->ip = HostOf(record.address);
  request->connected_at = record.connected;
  auto late = std::make_shared<LateSyncAnswer>();
  replication->AnswerSync(*request, [late, record = call.client().shared_record()](auto answer) {
    late->answer = std::move(answer);
    late->is_there.store(true, std::memory_order_release);
    record->Wake();
  });
  auto waiter = std::make_unique<SyncWaiter>(call.session, *std::move(request), std::move(late));
  if (!waiter->is_there()) return call.session.Wait(std::move(waiter));
  call.failed = !waiter->Serve(call.reply, call.now);
}

// Errors are those of Redis, but for the one of a replica.
void AwaitReplicas(Call& call) {
  const Services& services = call.services();
  if (services.is_replica()) {
    return call.Fail("WAIT cannot be used on a replica: it has no replicas of its own");
  }
  const std::optional<std::int64_t> needed = ParseInteger(call.arguments()[0]);
  if (!needed) return call.Fail("value is not an integer or out of range");
  const std::optional<std::int64_t> timeout_ms = ParseInteger(call.arguments()[1]);
  if (!timeout_ms) return call.Fail("timeout is not an integer or out of range");
  if (*timeout_ms < 0) return call.Fail("timeout is negative");
  if (!services.replication) return call.reply.Integer(0);
  std::shared_ptr<AckWait> wait = call.session.delay().AwaitAcksOfLastChange(
      static_cast<std::size_t>(std::max(*needed, std::int64_t{0})));
  if (wait->is_over() || call.queued) {
    return call.reply.Integer(static_cast<std::int64_t>(wait->count()));
  }
  const HostInstant now = services.clock.HostNow();
  const auto longest = std::chrono::floor<std::chrono::milliseconds>(kHostInstantMax - now);
  const bool is_endless = *timeout_ms == 0 || *timeout_ms > longest.count();
  const HostInstant deadline =
      is_endless ? kHostInstantMax : now + std::chrono::milliseconds{*timeout_ms};
  call.session.Wait(std::make_unique<AckWaiter>(std::move(wait), deadline));
}

// PSYNC, SYNC and REPLCONF.
void NoRedisReplica(Call& call) {
  if (const auto suppressed = call.services().foreign_throttle.Admit()) {
    spdlog::warn(
        "refused client {}: it sends {}, as a replica of Redis does ({} similar lines suppressed)",
        EscapedForLog(call.client().record().address), call.spec.name, *suppressed);
  }
  call.Fail("weir replicates by RL.SYNC, to weir only");
}

}  // namespace weir
