// Goal: the examples of the documentation show what happens. Method: the examples of each row are
// run in order on a fresh server, whose clock is stopped at a realistic time; the replies are
// compared in the short form of the docs. Most of the limiting commands are tested in
// tests/commands/, too, on both hosts.
#include <string>

#include <gtest/gtest.h>

#include "server/commands/command_table.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

class CommandExamplesTest : public testing::TestWithParam<const CommandSpec*> {};

TEST_P(CommandExamplesTest, ShowWhatHappens) {
  Conversation client;
  // A time that is not a whole number of any unit since the epoch.
  client.server().clock.Advance(std::chrono::hours{4321} + Nanos{123'456'789});
  client.server().services.first_operator_change = 1'767'225'600'000'000;  // 2026
  for (const Example& example : GetParam()->examples) {
    EXPECT_EQ(client.Show(example.command), example.reply) << example.command;
  }
}

std::vector<const CommandSpec*> RowsWithExamples() {
  std::vector<const CommandSpec*> rows;
  for (const CommandSpec& spec : CommandTable()) {
    if (!spec.examples.empty()) rows.push_back(&spec);
  }
  return rows;
}

std::string RowName(const testing::TestParamInfo<const CommandSpec*>& row) {
  std::string name(row.param->name);
  for (char& c : name) c = c == '.' || c == '|' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Each, CommandExamplesTest, testing::ValuesIn(RowsWithExamples()), RowName);

}  // namespace
}  // namespace weir
