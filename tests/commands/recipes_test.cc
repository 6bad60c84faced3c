// Goal: docs/recipes.md shows what happens. Method: each block of commands is replayed on a new
// host whose clock is stopped where FakeClock begins, and must come out unchanged.
// tests/e2e/recipes_test.py runs the Python of the page. The commands of README.md are only checked
// to exist.
//
// With WEIR_RECIPES_PAGE=FILE the test writes the page, with the replies that it saw, to FILE;
// `./dev docs` uses this.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/commands/client.h"
#include "tests/support/transcript.h"

namespace weir {
namespace {

constexpr std::string_view kBegin = "\n```\n> ";
constexpr std::string_view kEnd = "\n```\n";

std::string Read(const std::string& path) {
  std::ifstream file(WEIR_SOURCE_DIR "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string RecipesPage() { return Read("docs/recipes.md"); }

std::string Seen(std::string_view block) {
  const bool explicit_time = block.find(" AT ") != std::string_view::npos;
  Client client({.explicit_time = explicit_time});
  return Replay(client, client.clock(), block);
}

TEST(RecipesTest, ThePageShowsWhatHappens) {
  const char* const path = std::getenv("WEIR_RECIPES_PAGE");
  const std::string page = RecipesPage();
  std::string seen;
  std::string_view rest = page;
  for (std::size_t at = rest.find(kBegin); at != std::string_view::npos; at = rest.find(kBegin)) {
    const std::size_t begin = at + kBegin.size() - 2;
    const std::size_t end = rest.find(kEnd, begin) + 1;
    ASSERT_NE(end, std::string_view::npos + 1);
    const std::string_view block = rest.substr(begin, end - begin);
    const std::string answered = Seen(block);
    EXPECT_TRUE(path != nullptr || block == answered) << block << "\nBut today:\n" << answered;
    seen.append(rest.substr(0, begin)).append(answered);
    rest.remove_prefix(end);
  }
  seen.append(rest);
  if (path != nullptr) std::ofstream(path, std::ios::binary) << seen;
}

TEST(RecipesTest, EveryRecipeHasCommandsAndAClient) {
  const std::string page = RecipesPage();
  std::string_view rest = page;
  int recipes = 0;
  for (std::size_t at = rest.find("\n## "); at != std::string_view::npos; ++recipes) {
    rest.remove_prefix(at + 1);
    at = rest.find("\n## ");
    const std::string_view recipe = rest.substr(0, at);
    const std::string_view title = recipe.substr(0, recipe.find('\n'));
    EXPECT_NE(recipe.find(kBegin), std::string_view::npos) << title;
    EXPECT_NE(recipe.find("\n```python\n"), std::string_view::npos) << title;
  }
  EXPECT_GT(recipes, 10);
}

// README.md shows no replies, only commands to type.
TEST(ReadmeTest, EveryCommandIsOne) {
  Client client({.explicit_time = true});
  std::istringstream page(Read("README.md"));
  int commands = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("RL.") && !line.starts_with("CL.")) continue;
    const RespValue reply = client.Ask(line);
    EXPECT_FALSE(reply.is_error()) << line << '\n' << reply.text;
    ++commands;
  }
  EXPECT_GT(commands, 15);
}

}  // namespace
}  // namespace weir
