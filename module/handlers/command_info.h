// A command's description for COMMAND DOCS, which redis-cli shows as hints, and its ACL categories,
// from Redis 7.2 on.
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
