#include "manual/documents.h"

#include <algorithm>
#include <array>

#include "server/commands/command_docs.h"

namespace weir {
namespace {

constexpr std::array<Document, 7> kDocuments = {{
    {.path = "contrib/bash-completion/weir-server", .make = BashCompletion},
    {.path = "contrib/config/weir.toml", .make = ConfigFile},
    {.path = "docs/commands.md", .make = CommandsMarkdown},
    {.path = "docs/man/weir-check.1", .make = CheckPage},
    {.path = "docs/man/weir-replay.1", .make = ReplayPage},
    {.path = "docs/man/weir-server.1", .make = ServerPage},
    {.path = "docs/man/weir.toml.5", .make = ConfigPage},
}};
static_assert(std::ranges::is_sorted(kDocuments, {}, &Document::path));

}  // namespace

std::span<const Document> Documents() noexcept { return kDocuments; }

}  // namespace weir
