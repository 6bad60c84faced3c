// AUTH and ACL: logging in, and showing users. Users are changed in the users file only.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <sodium/randombytes.h>

#include "core/base/ignore_case.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "protocol/integer.h"
#include "server/access/denial.h"
#include "server/commands/command_category.h"
#include "server/commands/command_table.h"
#include "server/commands/handlers.h"
#include "server/handlers/aside_waiter.h"
#include "server/health/add_event.h"
#include "server/session/call.h"

namespace weir {
namespace {

constexpr std::int64_t kPasswordBitsMax = 4096;
constexpr std::int64_t kPasswordBits = 256;
constexpr std::size_t kLogEntriesShown = 10;

void WriteEntry(const AccessLog::Entry& entry, HostInstant now, RespWriter& reply) {
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - entry.last);
  reply.Map(7);
  reply.Field("count", static_cast<std::int64_t>(entry.count));
  reply.Field("reason", AccessLog::kReasonNames[static_cast<std::size_t>(entry.reason)]);
  reply.Field("context", entry.in_transaction ? "multi" : "toplevel");
  reply.Field("object", entry.object);
  reply.Field("username", entry.user);
  reply.Bulk("age-seconds");
  reply.Double(static_cast<double>(std::max<std::int64_t>(age.count(), 0)) / 1000);
  reply.Field("client-info", entry.client);
}

}  // namespace

void Auth(Call& call) {
  const auto arguments = call.arguments();
  if (arguments.size() > 2) return call.Fail("syntax error");
  const bool names_user = arguments.size() == 2;
  const std::string_view user = names_user ? arguments[0] : kDefaultUser;
  if (!names_user && call.services().access.Find(kDefaultUser)->needs_no_password()) {
    return call.Fail(
        "AUTH <password> called without any password configured for the default user. Are you sure "
        "your configuration is correct?");
  }
  if (!call.client().LogIn(call.words[0], user, arguments.back())) {
    return call.ReplyError(kWrongPassword);
  }
  call.reply.SimpleString("OK");
}

void AclCat(Call& call) {
  std::vector<std::string> names;
  if (call.arguments().empty()) {
    for (const std::string_view name : CategoryNames(kEveryCategory)) names.emplace_back(name);
  } else {
    const std::string_view name = call.arguments()[0];
    const std::optional<CommandCategories> category = FindCategory(name);
    if (!category || *category == kEveryCategory) {
      return call.Fail(absl::StrCat("Unknown category ", Quote(name)));
    }
    for (const CommandSpec& spec : CommandTable()) {
      if ((CategoriesOf(spec) & *category) != 0) names.push_back(LowerName(spec));
    }
  }
  call.reply.Array(names.size());
  for (const std::string& name : names) call.reply.Bulk(name);
}

void AclDryRun(Call& call) {
  const auto arguments = call.arguments();
  const std::shared_ptr<const User> user = call.services().access.Find(arguments[0]);
  if (!user) return call.Fail(absl::StrCat("User ", Quote(arguments[0]), " not found"));
  const auto words = arguments.subspan(1);
  const CommandSpec* spec = FindRequested(words);
  if (!spec) return call.Fail(absl::StrCat("Command ", Quote(words[0]), " not found"));
  if (!spec->arity.Allows(words.size())) return call.ReplyError(WrongArity(*spec));
  const std::optional<Denial> denial = FindDenial(*user, *spec, words);
  if (!denial) return call.reply.SimpleString("OK");
  const absl::string_view kind = denial->of == Denial::Of::kKey ? " key" : " channel";
  const std::string what = denial->of == Denial::Of::kCommand
                               ? absl::StrCat("run the '", LowerName(*spec), "' command")
                               : absl::StrCat("access the ", Quote(denial->name), kind);
  call.reply.Bulk(absl::StrCat("This user has no permissions to ", what));
}

void AclGenPass(Call& call) {
  std::int64_t bits = kPasswordBits;
  if (!call.arguments().empty()) {
    const std::optional<std::int64_t> asked = ParseInteger(call.arguments()[0]);
    if (!asked) return call.Fail("value is not an integer or out of range");
    if (*asked < 1 || *asked > kPasswordBitsMax) {
      return call.Fail(
          "ACL GENPASS argument must be the number of bits for the output password, a positive "
          "number up to 4096");
    }
    bits = *asked;
  }
  std::string bytes(kPasswordBitsMax / 8, '\0');
  randombytes_buf(bytes.data(), bytes.size());
  const auto digits = static_cast<std::size_t>((bits + 3) / 4);
  call.reply.Bulk(absl::BytesToHexString(bytes).substr(0, digits));
}

void AclGetUser(Call& call) {
  const std::shared_ptr<const User> user = call.services().access.Find(call.arguments()[0]);
  if (!user) return call.reply.Null();
  std::vector<std::string_view> flags = {user->is_on() ? "on" : "off"};
  if (user->needs_no_password()) flags.emplace_back("nopass");
  RespWriter& reply = call.reply;
  reply.Map(6);
  reply.Bulk("flags");
  reply.Set(flags.size());
  for (const std::string_view flag : flags) reply.Bulk(flag);
  reply.Bulk("passwords");
  const std::vector<std::string>& hashes = user->password_hashes();
  reply.Array(hashes.size());
  for (const std::string& hash : hashes) reply.Bulk(hash);
  reply.Field("commands", user->command_rules());
  reply.Field("keys", user->KeyRules());
  reply.Field("channels", user->ChannelRules());
  // weir has no selectors, but tools look for them.
  reply.Bulk("selectors");
  reply.Array(0);
}

void AclList(Call& call) {
  const auto users = call.services().access.All();
  call.Charge(users.size());
  call.reply.Array(users.size());
  for (const auto& user : users) call.reply.Bulk(user->Line());
}

void AclLoad(Call& call) {
  AccessList& access = call.services().access;
  if (!access.has_users_file()) return call.Fail(access.Load());
  const auto load = [&access, &services = call.services(), who = call.client().user()] {
    absl::Status loaded = access.Load();
    if (loaded.ok())
      AddEvent(services, ServerEventKind::kUsers, who ? who->name() : "", "ACL LOAD");
    return loaded;
  };
  const absl::Status begun = AnswerFromAside(
      call, {.aside = load, .unblocked = "UNBLOCKED the users file is still being read"});
  if (!begun.ok()) call.Fail(begun);
}

void AclLog(Call& call) {
  AccessLog& log = call.services().access_log;
  std::size_t count = kLogEntriesShown;
  if (!call.arguments().empty()) {
    const std::string_view word = call.arguments()[0];
    if (EqualsIgnoreCase(word, "RESET")) {
      log.Clear();
      return call.reply.SimpleString("OK");
    }
    const std::optional<std::int64_t> asked = ParseInteger(word);
    if (!asked) return call.Fail("value is not an integer or out of range");
    count = static_cast<std::size_t>(std::max<std::int64_t>(*asked, 0));
  }
  const std::vector<AccessLog::Entry> entries = log.Latest(count);
  call.Charge(entries.size());
  call.reply.Array(entries.size());
  const HostInstant now = call.services().clock.HostNow();
  for (const AccessLog::Entry& entry : entries) WriteEntry(entry, now, call.reply);
}

void AclUsers(Call& call) {
  const auto users = call.services().access.All();
  call.Charge(users.size());
  call.reply.Array(users.size());
  for (const auto& user : users) call.reply.Bulk(user->name());
}

void AclWhoAmI(Call& call) { call.reply.Bulk(call.client().user()->name()); }

}  // namespace weir
