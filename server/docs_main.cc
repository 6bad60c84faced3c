// weir-docs: prints docs/commands.md, made from the command table. `./dev docs` writes it to its
// place.
#include <cstdio>

#include "server/commands/command_docs.h"

int main() {
  std::fputs(weir::CommandsMarkdown().c_str(), stdout);
  return 0;
}
