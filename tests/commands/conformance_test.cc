// Goal: weir answers correctly where other rate limiters go wrong, and docs/conformance.md says so
// truly. Method: each case is replayed on a new host; the page is made of the replies.
//
// With WEIR_CONFORMANCE_PAGE=FILE the test writes the page to FILE; `./dev docs` uses this.
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/commands/client.h"
#include "tests/commands/conformance_case.h"
#include "tests/commands/conformance_input.h"
#include "tests/commands/conformance_numbers.h"
#include "tests/commands/conformance_requests.h"
#include "tests/support/transcript.h"

namespace weir {
namespace {

struct Section {
  std::string_view title;
  std::span<const ConformanceCase> cases;
};

constexpr Section kSections[] = {
    {"Numbers", conformance::kNumbers},        {"Costs and denials", conformance::kCosts},
    {"Several limits", conformance::kSeveral}, {"Parameters and keys", conformance::kInput},
    {"Time and windows", conformance::kTime},
};

constexpr std::string_view kHead = R"(# Conformance

Wrong numbers are the commonest bug of rate limiters. This page lists cases that other limiters get
wrong, each with the answer of weir. A test replays every transcript on a server of its own, and in
a redis-server that has weir's module; `./dev docs` writes this page from the replies, and the test
fails when the page is stale.

The column "elsewhere" is from the sources and issues of other projects, read in 2026; they may have
changed since. Where no project is named, several do so. Restarts are not among the cases:
[persistence.md](persistence.md) says what a crash forgets.

The table is followed by the transcripts, in the same order. `>` begins a command, its reply is
below it, and time passes only where a line says so. [commands.md](commands.md) explains the numbers
of a reply and how replies are printed here.

)";

std::string Seen(const ConformanceCase& row) {
  Client client({.explicit_time = row.explicit_time});
  return Replay(client, client.clock(), row.transcript);
}

std::string ConformancePage() {
  std::string page(kHead);
  absl::StrAppend(&page, "| case | elsewhere | weir |\n| --- | --- | --- |\n");
  for (const Section& section : kSections) {
    for (const ConformanceCase& row : section.cases) {
      absl::StrAppend(&page, "| ", AbslView(row.title), " | ", AbslView(row.elsewhere), " | ",
                      AbslView(row.here), " |\n");
    }
  }
  for (const Section& section : kSections) {
    absl::StrAppend(&page, "\n## ", AbslView(section.title), "\n");
    for (const ConformanceCase& row : section.cases) {
      absl::StrAppend(&page, "\n### ", AbslView(row.title), "\n\n",
                      row.explicit_time ? "On a server with `--allow-explicit-time`:\n\n" : "",
                      "```\n", Seen(row), "```\n");
    }
  }
  return page;
}

class ConformanceTest : public testing::TestWithParam<const ConformanceCase*> {};

TEST_P(ConformanceTest, AnswersWhatIsRight) {
  EXPECT_EQ(Seen(*GetParam()), GetParam()->transcript);
}

std::vector<const ConformanceCase*> Cases() {
  std::vector<const ConformanceCase*> cases;
  for (const Section& section : kSections) {
    for (const ConformanceCase& row : section.cases) cases.push_back(&row);
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<const ConformanceCase*>& row) {
  std::string name;
  for (const char c : row.param->title) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
    if (c == ' ') name += '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Each, ConformanceTest, testing::ValuesIn(Cases()), CaseName);

TEST(ConformancePageTest, IsUpToDate) {
  const std::string page = ConformancePage();
  if (const char* path = std::getenv("WEIR_CONFORMANCE_PAGE")) {
    std::ofstream(path, std::ios::binary) << page;
    return;
  }
  std::ifstream file(WEIR_SOURCE_DIR "/docs/conformance.md", std::ios::binary);
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(kept == page) << "docs/conformance.md is stale or missing: run `./dev docs`";
}

}  // namespace
}  // namespace weir
