// The rows of the commands about backups. Part of command_table.cc.
#pragma once

#include <array>

#include "core/commands/command_spec.h"
#include "server/commands/handlers.h"

namespace weir::rows {

inline constexpr std::array kBackupCommands = {
    CommandSpec{.name = "RL.BACKUP",
                .arity = Between(2, 3),
                .flags = kAdmin | kBlocking | kNotInTransaction,
                .group = "server",
                .since = "0.2.0",
                .complexity = "O(buckets that changed)",
                .summary =
                    "Saves, and makes a backup in backup-dir: a data directory that shares the "
                    "files of the present one. The name is 1 to 64 of a-z, 0-9 and -. Answers the "
                    "bytes of its files and the number of buckets. DEL removes a backup.",
                .syntax = "[DEL] name",
                .handler = MakeOrRemoveBackup},
    CommandSpec{.name = "RL.BACKUPS",
                .arity = Exactly(1),
                .flags = kAdmin | kBlocking | kNotInTransaction,
                .group = "server",
                .since = "0.2.0",
                .complexity = "O(files)",
                .summary = "Lists the backups, 64 at most, by name: name, bytes, and the Unix "
                           "second in which it was made.",
                .handler = ListBackups},
};

}  // namespace weir::rows
