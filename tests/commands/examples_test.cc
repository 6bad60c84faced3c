// Goal: the examples of the documentation show what happens. Method: the examples of each row are
// run in order on a fresh host, whose clock is stopped at a realistic time; the replies are
// compared in the short form of the docs.
#include <string>

#include <gtest/gtest.h>

#include "core/commands/hold_commands.h"
#include "core/commands/limit_commands.h"
#include "tests/commands/client.h"

namespace weir {
namespace {

class ExamplesTest : public testing::TestWithParam<const CommandSpec*> {};

TEST_P(ExamplesTest, ShowWhatHappens) {
  Client client;
  // A time that is not a whole number of any unit since the epoch.
  client.clock().Advance(std::chrono::hours{4321} + Nanos{123'456'789});
  for (const Example& example : GetParam()->examples) {
    EXPECT_EQ(client.Show(example.command), example.reply) << example.command;
  }
}

std::vector<const CommandSpec*> RowsWithExamples() {
  std::vector<const CommandSpec*> rows;
  for (const CommandSpec& spec : rows::kLimitCommands) {
    if (!spec.examples.empty()) rows.push_back(&spec);
  }
  for (const CommandSpec& spec : rows::kHoldCommands) rows.push_back(&spec);
  return rows;
}

std::string RowName(const testing::TestParamInfo<const CommandSpec*>& row) {
  std::string name(row.param->name);
  for (char& c : name) c = c == '.' || c == '|' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Each, ExamplesTest, testing::ValuesIn(RowsWithExamples()), RowName);

// Every command that decides or changes buckets has an example.
TEST(ExamplesTest, EveryCommandWithAKeyHasSome) {
  for (const CommandSpec& spec : rows::kLimitCommands) {
    const bool wants_examples = spec.keys.first != 0;
    EXPECT_FALSE(wants_examples && spec.examples.empty()) << spec.name;
  }
  for (const CommandSpec& spec : rows::kHoldCommands) EXPECT_FALSE(spec.examples.empty());
}

}  // namespace
}  // namespace weir
