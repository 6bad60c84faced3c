// CLIENT: shows and changes this connection, and lists, closes and pauses others.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/ignore_case.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "protocol/arg_reader.h"
#include "protocol/integer.h"
#include "server/commands/handlers.h"
#include "server/observe/client_name.h"
#include "server/session/call.h"

namespace weir {
namespace {

// Redis's types of clients. The links of replicas are no clients of weir: CLIENT LIST has none of
// them, and CLIENT KILL ends them by TYPE alone.
enum class ClientType { kNormal, kPubSub, kReplica, kMaster };

std::optional<ClientType> FindClientType(std::string_view name) {
  constexpr std::pair<std::string_view, ClientType> kTypes[] = {{"normal", ClientType::kNormal},
                                                                {"pubsub", ClientType::kPubSub},
                                                                {"replica", ClientType::kReplica},
                                                                {"slave", ClientType::kReplica},
                                                                {"master", ClientType::kMaster}};
  for (const auto& [known, type] : kTypes) {
    if (EqualsIgnoreCase(known, name)) return type;
  }
  return std::nullopt;
}

ClientType TypeOf(const ClientRecord& record) {
  return record.is_subscribed() ? ClientType::kPubSub : ClientType::kNormal;
}

// The error of CLIENT LIST and CLIENT KILL for an unknown type.
std::string UnknownType(std::string_view type) {
  return absl::StrCat("Unknown client type ", Quote(type));
}

// The clients that exist, in the order of `ids`.
std::vector<std::shared_ptr<ClientRecord>> FindEach(const ClientRegistry& clients,
                                                    const std::vector<std::int64_t>& ids) {
  std::vector<std::shared_ptr<ClientRecord>> found;
  for (const std::int64_t id : ids) {
    std::shared_ptr<ClientRecord> record = clients.Find(static_cast<std::uint64_t>(id));
    if (record) found.push_back(std::move(record));
  }
  return found;
}

// Kills the clients. Their waits end when all records are marked. In a transaction they end when
// EXEC has unlocked its keys, since a wait may have the tokens of any key.
void Kill(Call& call, const std::vector<std::shared_ptr<ClientRecord>>& records) {
  for (const auto& record : records) {
    if (record.get() == &call.client().record()) {
      call.client().Close();
      continue;
    }
    record->killed.store(true, std::memory_order_relaxed);
    call.services().client_memory.Set(*record, 0);
    call.session.worker().AddKilled(record);
  }
  if (!call.queued) call.session.worker().EndKilled();
}

// CLIENT KILL ip:port
void KillByAddress(Call& call, std::string_view address) {
  for (const auto& record : call.services().clients.All()) {
    if (record->address != address) continue;
    Kill(call, {record});
    return call.reply.SimpleString("OK");
  }
  call.Fail("No such client");
}

// The filters of CLIENT KILL; a client must match all of them.
struct Victims {
  std::optional<std::uint64_t> id;
  std::optional<std::string_view> address;
  std::optional<std::string_view> local_address;
  std::optional<std::string_view> user;
  std::optional<ClientType> type;
  bool skip_me = true;

  [[nodiscard]] bool has_only_type() const {
    return type && !id && !address && !local_address && !user;
  }
  [[nodiscard]] bool Has(const ClientRecord& record, const ClientRecord& me) const {
    return (!type || TypeOf(record) == *type) && (!id || record.id == *id) &&
           (!address || record.address == *address) &&
           (!local_address || record.local_address == *local_address) &&
           (!user || record.user() == *user) && (!skip_me || &record != &me);
  }
};

// Ends the connections of replication, if they are of this type. Returns their number.
std::int64_t KillLinks(const Services& services, ClientType type) {
  std::size_t killed = 0;
  if (services.replication && type == ClientType::kReplica) {
    killed = services.replication->CloseReplicas();
  } else if (services.replication && type == ClientType::kMaster) {
    killed = services.replication->CloseLink();
  }
  return static_cast<std::int64_t>(killed);
}

absl::StatusOr<Victims> ReadVictims(const Services& services,
                                    std::span<const std::string_view> arguments) {
  Victims victims;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const std::string_view name = arguments[i];
    const std::string_view value = arguments[i + 1];
    if (EqualsIgnoreCase(name, "ID")) {
      const std::optional<std::int64_t> id = ParseInteger(value);
      if (!id || *id < 1) return absl::InvalidArgumentError("client-id should be greater than 0");
      victims.id = static_cast<std::uint64_t>(*id);
    } else if (EqualsIgnoreCase(name, "ADDR")) {
      victims.address = value;
    } else if (EqualsIgnoreCase(name, "LADDR")) {
      victims.local_address = value;
    } else if (EqualsIgnoreCase(name, "TYPE")) {
      victims.type = FindClientType(value);
      if (!victims.type) return absl::InvalidArgumentError(UnknownType(value));
    } else if (EqualsIgnoreCase(name, "USER")) {
      if (!services.access.Find(value)) {
        return absl::InvalidArgumentError(absl::StrCat("No such user ", Quote(value)));
      }
      victims.user = value;
    } else if (EqualsIgnoreCase(name, "SKIPME") &&
               (EqualsIgnoreCase(value, "yes") || EqualsIgnoreCase(value, "no"))) {
      victims.skip_me = EqualsIgnoreCase(value, "yes");
    } else {
      return absl::InvalidArgumentError("syntax error");
    }
  }
  if (arguments.size() % 2 != 0) return absl::InvalidArgumentError("syntax error");
  return victims;
}

}  // namespace

void ClientId(Call& call) {
  call.reply.Integer(static_cast<std::int64_t>(call.client().record().id));
}

void ClientGetName(Call& call) {
  const std::string name = call.client().record().name();
  if (name.empty()) return call.reply.Null();
  call.reply.Bulk(name);
}

void ClientSetName(Call& call) {
  const std::string_view name = call.arguments()[0];
  if (!IsClientName(name)) return call.Fail(kBadClientName);
  call.client().record().set_name(std::string(name));
  call.reply.SimpleString("OK");
}

void ClientSetInfo(Call& call) {
  const std::string_view option = call.arguments()[0];
  const std::string_view value = call.arguments()[1];
  const bool name = EqualsIgnoreCase(option, "LIB-NAME");
  if (!name && !EqualsIgnoreCase(option, "LIB-VER")) {
    return call.Fail(absl::StrCat("Unrecognized option ", Quote(option)));
  }
  if (!IsClientName(value))
    return call.Fail(absl::StrCat(name ? "lib-name" : "lib-ver",
                                  " cannot contain spaces, newlines or special characters."));
  ClientRecord& record = call.client().record();
  if (name) {
    record.set_library(std::string(value));
  } else {
    record.set_library_version(std::string(value));
  }
  call.reply.SimpleString("OK");
}

void ClientInfo(Call& call) {
  const HostInstant now = call.services().clock.HostNow();
  call.reply.Verbatim(call.client().record().Line(now) + "\n");
}

void ClientList(Call& call) {
  ArgReader arguments(call.arguments());
  std::optional<std::string_view> type_name;
  std::vector<std::int64_t> ids;
  if (arguments.TryKeyword("TYPE")) {
    type_name = arguments.Word("type");
  } else if (arguments.TryKeyword("ID")) {
    do {
      ids.push_back(arguments.Integer("client-id", 1, INT64_MAX));
    } while (!arguments.AtEnd());
  }
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  const std::optional<ClientType> type = type_name ? FindClientType(*type_name) : std::nullopt;
  if (type_name && !type) return call.Fail(UnknownType(*type_name));
  call.Charge(kWholeTableWork + ids.size());
  std::string lines;
  const HostInstant now = call.services().clock.HostNow();
  const ClientRegistry& clients = call.services().clients;
  for (const auto& record : ids.empty() ? clients.All() : FindEach(clients, ids)) {
    if (!type || TypeOf(*record) == *type) absl::StrAppend(&lines, record->Line(now), "\n");
  }
  call.reply.Verbatim(lines);
}

void ClientKill(Call& call) {
  const auto arguments = call.arguments();
  call.Charge(kWholeTableWork);
  if (arguments.size() == 1) return KillByAddress(call, arguments[0]);
  const absl::StatusOr<Victims> victims = ReadVictims(call.services(), arguments);
  if (!victims.ok()) return call.Fail(victims.status());
  std::int64_t killed = victims->has_only_type() ? KillLinks(call.services(), *victims->type) : 0;
  std::vector<std::shared_ptr<ClientRecord>> records = call.services().clients.All();
  std::erase_if(records,
                [&](const auto& record) { return !victims->Has(*record, call.client().record()); });
  Kill(call, records);
  call.reply.Integer(killed + static_cast<std::int64_t>(records.size()));
}

void ClientUnblock(Call& call) {
  using Blocked = ClientRecord::Blocked;
  const auto arguments = call.arguments();
  const std::optional<std::int64_t> id = ParseInteger(arguments[0]);
  if (!id) return call.Fail("value is not an integer or out of range");
  Blocked end = Blocked::kEndedAsTimeout;
  if (arguments.size() > 1) {
    if (EqualsIgnoreCase(arguments[1], "ERROR")) {
      end = Blocked::kEndedAsError;
    } else if (!EqualsIgnoreCase(arguments[1], "TIMEOUT")) {
      return call.Fail("CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    }
  }
  const auto record = call.services().clients.Find(static_cast<std::uint64_t>(*id));
  Blocked expected = Blocked::kYes;
  const bool ended = record && record->blocked.compare_exchange_strong(expected, end);
  if (ended) record->Wake();
  call.reply.Integer(ended ? 1 : 0);
}

void ClientPause(Call& call) {
  const auto arguments = call.arguments();
  const std::optional<std::int64_t> millis = ParseInteger(arguments[0]);
  if (!millis) return call.Fail("timeout is not an integer or out of range");
  if (*millis < 0) return call.Fail("timeout is negative");
  Pause::What what = Pause::What::kEverything;
  if (arguments.size() > 1) {
    if (EqualsIgnoreCase(arguments[1], "WRITE")) {
      what = Pause::What::kChanges;
    } else if (!EqualsIgnoreCase(arguments[1], "ALL")) {
      return call.Fail("CLIENT PAUSE mode must be WRITE or ALL");
    }
  }
  constexpr auto kMillisMax =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::hours{24 * 365});
  const auto length = std::min(std::chrono::milliseconds{*millis}, kMillisMax);
  const HostInstant now = call.services().clock.HostNow();
  call.services().pause.Begin(what, now, now + length);
  call.reply.SimpleString("OK");
}

void ClientUnpause(Call& call) {
  call.services().pause.End();
  for (const auto& record : call.services().clients.All()) record->Wake();
  call.reply.SimpleString("OK");
}

void ClientReply(Call& call) {
  using Replies = ClientState::Replies;
  const std::string_view mode = call.arguments()[0];
  if (EqualsIgnoreCase(mode, "ON")) {
    call.client().set_replies(Replies::kOn);
    call.reply.SimpleString("OK");
  } else if (EqualsIgnoreCase(mode, "OFF")) {
    call.client().set_replies(Replies::kOff);
  } else if (EqualsIgnoreCase(mode, "SKIP")) {
    if (call.client().replies() == Replies::kOff) return;
    call.client().set_replies(Replies::kSkipThisAndNext);
  } else {
    call.Fail("syntax error");
  }
}

void ClientNoEvict(Call& call) {
  const std::string_view mode = call.arguments()[0];
  const bool stays = EqualsIgnoreCase(mode, "ON");
  if (!stays && !EqualsIgnoreCase(mode, "OFF")) return call.Fail("syntax error");
  call.client().record().stays.store(stays, std::memory_order_relaxed);
  call.reply.SimpleString("OK");
}

}  // namespace weir
