// What COMMAND DOCS and the ACL know of a command of ours: redis-cli shows hints, and from
// Redis 7.2 on it has categories.
#pragma once

#include <string>

#include "core/commands/command_spec.h"
#include "module/api/redis_api.h"

namespace weir {

// Tells the server the row's summary, arguments and categories. Returns false, and logs, where it
// does not take them.
[[nodiscard]] bool Describe(redis::Context* context, const std::string& name,
                            const CommandSpec& row);

}  // namespace weir
