// SAVE, BGSAVE, LASTSAVE, RL.BACKUP, RL.BACKUPS: the state on disk.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "protocol/arg_reader.h"
#include "server/commands/handlers.h"
#include "server/session/call.h"

namespace weir {
namespace {

constexpr std::string_view kNothingKept =
    "nothing is kept on disk: see --data-dir and --durability";

// Executes a command on the thread of saves, after a save. `work` writes the reply, or returns an
// error with its prefix.
using BackupWork = std::function<std::string(const absl::Status& saved, Saver& saver,
                                             BackupDirectory& backups, RespWriter& reply)>;
void AnswerAfterSave(Call& call, BackupWork work) {
  StateOnDisk* const state = call.services().state;
  if (!state) return call.Fail(kNothingKept);
  if (!state->has_backups()) return call.Fail("there is no directory of backups: see --backup-dir");
  const auto late_reply = std::make_shared<LateReply>();
  state->RunAfterSave([late_reply, work = std::move(work)](const absl::Status& saved, Saver& saver,
                                                           BackupDirectory& backups) {
    RespWriter reply(late_reply->bytes);
    late_reply->error = work(saved, saver, backups, reply);
  });
  call.AwaitLateReply(late_reply);
}

std::string ErrorOf(const absl::Status& status) { return absl::StrCat("ERR ", status.message()); }

void MakeBackup(Call& call, std::string name) {
  const Services& services = call.services();
  AnswerAfterSave(
      call,
      [&services, name = std::move(name)](const absl::Status& saved, Saver& saver,
                                          BackupDirectory& backups,
                                          RespWriter& reply) -> std::string {
        if (!saved.ok()) return CannotSave(StdView(saved.message()));
        const std::size_t buckets = services.CountBuckets(services.clock.Now());
        const absl::StatusOr<Backup> made = backups.Make(
            name, [&](const std::string& directory) { return saver.LinkTo(directory); });
        if (!made.ok()) return ErrorOf(made.status());
        spdlog::info("made the backup '{}': {} buckets, {} bytes", name, buckets, made->bytes);
        reply.Array(2);
        reply.Integer(static_cast<std::int64_t>(made->bytes));
        reply.Integer(static_cast<std::int64_t>(buckets));
        return {};
      });
}

// Needs no save: it makes room on a full disk.
void RemoveBackup(Call& call, std::string name) {
  AnswerAfterSave(
      call,
      [name = std::move(name)](const absl::Status& /*saved*/, Saver& /*saver*/,
                               BackupDirectory& backups, RespWriter& reply) -> std::string {
        const absl::Status removed = backups.Remove(name);
        if (!removed.ok()) return ErrorOf(removed);
        spdlog::info("removed the backup '{}'", name);
        reply.SimpleString("OK");
        return {};
      });
}

}  // namespace

// The connection waits, its thread does not. It also waits for changes whose earlier save failed.
void Save(Call& call) {
  if (!call.services().state) return call.Fail(kNothingKept);
  call.AwaitSave();
  call.reply.SimpleString("OK");
}

void BgSave(Call& call) {
  ArgReader arguments(call.arguments());
  arguments.TryKeyword("SCHEDULE");
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  if (!call.services().state) return call.Fail(kNothingKept);
  static_cast<void>(call.services().state->RequestSave());
  call.reply.SimpleString("Background saving started");
}

// By the wall clock, as in INFO. Before the first save it is the time of the start.
void LastSave(Call& call) {
  const Services& services = call.services();
  const HostInstant last = services.state
                               ? services.state->status().last_save.value_or(services.started)
                               : services.started;
  const Nanos unix_time = last.time_since_epoch() + services.host_clock_offset();
  call.reply.Integer(std::chrono::floor<std::chrono::seconds>(unix_time).count());
}

// DEL alone is a name, and as such invalid.
void MakeOrRemoveBackup(Call& call) {
  ArgReader arguments(call.arguments());
  const bool removes = call.arguments().size() > 1 && arguments.TryKeyword("DEL");
  std::string name(arguments.Word("name"));
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  if (removes) return RemoveBackup(call, std::move(name));
  MakeBackup(call, std::move(name));
}

void ListBackups(Call& call) {
  AnswerAfterSave(
      call,
      [](const absl::Status& /*saved*/, Saver& /*saver*/, BackupDirectory& backups,
         RespWriter& reply) -> std::string {
        const absl::StatusOr<std::vector<Backup>> listed = backups.List();
        if (!listed.ok()) return ErrorOf(listed.status());
        reply.Array(listed->size());
        for (const Backup& backup : *listed) {
          reply.Array(3);
          reply.Bulk(backup.name);
          reply.Integer(static_cast<std::int64_t>(backup.bytes));
          reply.Integer(
              std::chrono::floor<std::chrono::seconds>(backup.made.time_since_epoch()).count());
        }
        return {};
      });
}

}  // namespace weir
