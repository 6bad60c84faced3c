// Describes a command for COMMAND DOCS, which redis-cli shows as hints, and sets its ACL categories
// (from Redis 7.2 on).
#pragma once

#include <string>

#include "core/commands/command_spec.h"
#include "module/api/redis_api.h"

namespace weir {

// Tells the server the row's summary, arguments and categories. Returns false, and logs, if the
// server refuses them.
[[nodiscard]] bool Describe(redis::Context* context, const std::string& name,
                            const CommandSpec& row);

}  // namespace weir
