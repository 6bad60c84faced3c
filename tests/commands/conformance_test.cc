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
#include "tests/commands/conformance_holds.h"
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
changed since. Where no project is named, several do so. No transcript restarts the server:
[persistence.md](persistence.md) says what a crash forgets.

The table is followed by the transcripts, in the same order. `>` begins a command, its reply is
below it, and time passes only where a line says so. [commands.md](commands.md) explains the numbers
of a reply and how replies are printed here.

)";

constexpr std::string_view kHoldsHead = R"(
## Holds

A reservation that is settled later has cases of its own. The table sets weir beside two other
projects that reserve and settle: limitador, whose calls are Reserve and Commit, and the proxy of
LiteLLM, which reserves tokens and slots by Lua scripts in Redis. Their answers were read, not run;
"not found" means that the files listed below the table do not show it. The transcripts of weir
follow.

)";

constexpr std::string_view kHoldsSources = R"(
These files were read in November 2026, in the newest versions that a public archive showed. It
names no commit for some of them:

- limitador (Kuadrant/limitador), around its pull request 515. In `limitador/src`: `reservation.rs`
  (commit ec855ae7), `storage/local_reservations.rs` (c942558b), and, without a commit,
  `storage/in_memory.rs`, `storage/redis/redis_sync.rs` and `storage/redis/scripts.rs`. The tests
  are `limitador/tests/integration_tests.rs`, without a commit.
- LiteLLM (BerriAI/litellm). In `litellm/proxy/hooks`: `batch_enqueued_tokens.py` (commit 738896d7),
  `realtime_call_lease.py` (34dcfbf8), and, without a commit, `parallel_request_limiter_v3.py`. The
  tests are, in `tests/test_litellm/proxy/hooks`, `test_batch_enqueued_tokens.py` (cc31ff57) and
  `test_team_max_parallel_requests_v3.py` (67b45898).
)";

// The part of a case that is run.
struct Shown {
  std::string_view title;
  std::string_view transcript;
  bool explicit_time;
};

template <typename Case>
Shown ShownBy(const Case& row) {
  return {row.title, row.transcript, row.explicit_time};
}

std::string Seen(const Shown& row) {
  Client client({.explicit_time = row.explicit_time});
  return Replay(client, client.clock(), row.transcript);
}

void AppendTranscript(const Shown& row, std::string& page) {
  absl::StrAppend(&page, "\n### ", AbslView(row.title), "\n\n",
                  row.explicit_time ? "On a server with `--allow-explicit-time`:\n\n" : "", "```\n",
                  Seen(row), "```\n");
}

void AppendHolds(std::string& page) {
  absl::StrAppend(&page, AbslView(kHoldsHead),
                  "| case | weir | limitador | LiteLLM |\n| --- | --- | --- | --- |\n");
  for (const HoldCase& row : conformance::kHolds) {
    absl::StrAppend(&page, "| **", AbslView(row.title), ".** ", AbslView(row.event), " | ",
                    AbslView(row.here), " | ", AbslView(row.limitador), " | ",
                    AbslView(row.litellm), " |\n");
  }
  absl::StrAppend(&page, AbslView(kHoldsSources));
  for (const HoldCase& row : conformance::kHolds) AppendTranscript(ShownBy(row), page);
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
    for (const ConformanceCase& row : section.cases) AppendTranscript(ShownBy(row), page);
  }
  AppendHolds(page);
  return page;
}

class ConformanceTest : public testing::TestWithParam<Shown> {};

TEST_P(ConformanceTest, AnswersWhatIsRight) { EXPECT_EQ(Seen(GetParam()), GetParam().transcript); }

std::vector<Shown> Cases() {
  std::vector<Shown> cases;
  for (const Section& section : kSections) {
    for (const ConformanceCase& row : section.cases) cases.push_back(ShownBy(row));
  }
  for (const HoldCase& row : conformance::kHolds) cases.push_back(ShownBy(row));
  return cases;
}

std::string CaseName(const testing::TestParamInfo<Shown>& row) {
  std::string name;
  for (const char c : row.param.title) {
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
