// Goal: each rule finds what it forbids, and accepts what only looks like it. Method: small files
// that the test makes up.
#include "tests/tidy/rules.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/source_file.h"

namespace weir::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Rule = Findings (*)(const SourceFile&);

// The lines in which `rule` finds something, for a file with this path and text.
std::vector<std::size_t> Lines(Rule rule, std::string path, std::string_view text) {
  std::vector<std::size_t> lines;
  for (const Finding& finding : rule(MakeSourceFile(std::move(path), text))) {
    lines.push_back(finding.line);
  }
  return lines;
}

TEST(TidyRulesTest, CoreIncludesNoneOfOursAndProtocolItsBase) {
  EXPECT_THAT(Lines(IncludeArrows, "core/x.h", "#include \"core/y.h\"\n"), IsEmpty());
  EXPECT_THAT(Lines(IncludeArrows, "core/x.h", "#include <vector>\n"), IsEmpty());
  EXPECT_THAT(Lines(IncludeArrows, "core/x.h", "\n#include \"protocol/y.h\"\n"), ElementsAre(2));
  EXPECT_THAT(Lines(IncludeArrows, "protocol/x.h", "#include \"core/y.h\"\n"), ElementsAre(1));
  constexpr std::string_view kBaseAndRules =
      "#include \"core/base/y.h\"\n#include \"core/rules/y.h\"\n#include \"core/basement/y.h\"\n";
  EXPECT_THAT(Lines(IncludeArrows, "protocol/x.h", kBaseAndRules), ElementsAre(2, 3));
  EXPECT_THAT(Lines(IncludeArrows, "core/x.h", "#include \"tests/y.h\"\n"), ElementsAre(1));
  EXPECT_THAT(Lines(IncludeArrows, "core/x.h", "// #include \"server/y.h\"\n"), IsEmpty());
}

TEST(TidyRulesTest, TheServerIncludesOnlyRoomsBelowIt) {
  constexpr std::string_view kBelow =
      "#include \"core/y.h\"\n#include \"protocol/y.h\"\n#include \"persistence/y.h\"\n";
  EXPECT_THAT(Lines(IncludeArrows, "server/x.cc", kBelow), IsEmpty());
  EXPECT_THAT(Lines(IncludeArrows, "persistence/x.cc", kBelow), ElementsAre(2));
  EXPECT_THAT(Lines(IncludeArrows, "module/x.cc", kBelow), ElementsAre(2, 3));
  EXPECT_THAT(Lines(IncludeArrows, "tests/server/x.cc", kBelow), IsEmpty());
  EXPECT_THAT(Lines(IncludeArrows, "server/x.cc", "#include \"bench/y.h\"\n"), ElementsAre(1));
}

TEST(TidyRulesTest, RoomsIncludeOnlyDownwards) {
  const auto lines = [](const char* path, const std::string& included) {
    return Lines(IncludeArrows, path, "#include \"" + included + "\"\n");
  };
  EXPECT_THAT(lines("core/table/x.h", "core/rules/y.h"), IsEmpty());
  EXPECT_THAT(lines("core/table/x.h", "core/table/y.h"), IsEmpty());
  EXPECT_THAT(lines("core/rules/x.h", "core/table/y.h"), ElementsAre(1));
  EXPECT_THAT(lines("core/attic/x.h", "core/base/y.h"), ElementsAre(1)) << "no such room";
  EXPECT_THAT(lines("core/rules/x.h", "core/y.h"), ElementsAre(1));
  EXPECT_THAT(lines("server/handlers/x.cc", "core/commands/y.h"), IsEmpty());
  EXPECT_THAT(lines("server/handlers/x.cc", "server/session/y.h"), IsEmpty());
  EXPECT_THAT(lines("server/session/x.cc", "server/handlers/y.h"), ElementsAre(1));
  EXPECT_THAT(lines("server/net/x.cc", "server/handlers/y.h"), ElementsAre(1)) << "side by side";
  EXPECT_THAT(lines("server/main.cc", "server/net/y.h"), IsEmpty());
  EXPECT_THAT(lines("tests/server/net/x.cc", "server/handlers/y.h"), IsEmpty());
}

TEST(TidyRulesTest, RoomsHaveFewFiles) {
  std::vector<SourceFile> tree;
  const auto add = [&tree](const std::string& folder, std::size_t files) {
    for (std::size_t i = 0; i < files; ++i) {
      tree.push_back(MakeSourceFile(folder + std::to_string(i) + ".h", ""));
    }
  };
  add("core/rules/", kRoomFilesMax);
  add("tests/core/", kTestFolderFilesMax);
  add("bench/", 100);
  EXPECT_THAT(SmallRooms(tree), IsEmpty());
  add("core/rules/x", 1);
  add("tests/core/x", 1);
  EXPECT_EQ(SmallRooms(tree).size(), 2U);
}

TEST(TidyRulesTest, RoomsWithThreadsAssertEightTimesInAThousandLines) {
  constexpr std::string_view kSix =
      "WEIR_CHECK(a); WEIR_CHECK(b);\n  WEIR_DCHECK(c);\n  thread_.AssertHeld();\n"
      "[this] { thread_.AssertHeld(); WEIR_CHECK(d); };\n";
  constexpr std::string_view kNone =
      "// WEIR_CHECK(a)\nstatic_assert(b);\nf(\"WEIR_CHECK(c)\");\n#include "
      "\"core/base/check.h\"\n";
  const auto findings = [&](const std::string& room, std::string_view last) {
    const std::string lines(992, '\n');
    return FewAssertions({MakeSourceFile(room + "x.h", std::string(kSix) + lines),
                          MakeSourceFile(room + "y.cc", last)});
  };
  for (const char* room : {"server/net/", "server/replicas/", "server/session/", "server/state/"}) {
    const std::string two = "WEIR_CHECK(e);\nWEIR_CHECK(f);\n\n\n";
    EXPECT_THAT(findings(room, two), IsEmpty()) << room;
    EXPECT_THAT(findings(room, two + "\n"), SizeIs(1)) << room << ": 1,001 lines";
    EXPECT_THAT(findings(room, kNone), SizeIs(1)) << room;
  }
  EXPECT_THAT(findings("server/os/", kNone), IsEmpty());
}

TEST(TidyRulesTest, PhrasesAreBannedInProse) {
  EXPECT_THAT(Lines(BannedPhrases, "core/x.h", "// Made anew.\nint anew;\n"), ElementsAre(1));
  EXPECT_THAT(Lines(BannedPhrases, "core/x.cc", "Log(\"read anew\");\n"), ElementsAre(1));
  EXPECT_THAT(Lines(BannedPhrases, "core/x.cc", "int x;  // Lasts for\n// ever.\n"),
              ElementsAre(1));
  EXPECT_THAT(Lines(BannedPhrases, "core/x.cc", "// The other, this one, whose.\n"), IsEmpty());
  EXPECT_THAT(Lines(BannedPhrases, "core/x.cc", "Run(\"AUTH nobody x\");  // nobody\n"),
              ElementsAre(1));
  EXPECT_THAT(Lines(BannedPhrases, "core/x.cc", "Run(\"AUTH nobody x\");\n"), IsEmpty());
  EXPECT_THAT(Lines(BannedPhrases, "a.md", "By itself it\ndoes, by\nthemselves.\n"),
              ElementsAre(1, 2));
  EXPECT_THAT(Lines(BannedPhrases, "x.py", "nobody = 1  # of nobody\nnobody = 2\n"),
              ElementsAre(1));
  EXPECT_THAT(Lines(BannedPhrases, "x.js", "const anew = 1;  // Made anew.\nanew();\n"),
              ElementsAre(1));
}

TEST(TidyRulesTest, FormulasAreWhole) {
  EXPECT_THAT(Lines(BrokenFormulas, "core/x.h", "// iff next + keep *\n// E <= now.\n"),
              ElementsAre(1));
  EXPECT_THAT(Lines(BrokenFormulas, "core/x.h", "  // now <\n  // 2^62\n"), ElementsAre(1));
  EXPECT_THAT(Lines(BrokenFormulas, "core/x.h", "//     a = 1, bans\n//     = 0x01\n"),
              ElementsAre(2));
  EXPECT_THAT(Lines(BrokenFormulas, "core/x.h",
                    "//     saved | =     =\n//     word = a |\n// a <= b.\nint x =\n    1;\n"),
              IsEmpty());
  EXPECT_THAT(Lines(BrokenFormulas, "x.md", "// a <=\n"), IsEmpty());
}

TEST(TidyRulesTest, FilesOpenWithANounOrAVerb) {
  EXPECT_THAT(Lines(Opening, "core/x.h", "// What it is.\n"), ElementsAre(1));
  EXPECT_THAT(Lines(Opening, "core/x.h", "// Whatever.\n"), IsEmpty());
  EXPECT_THAT(Lines(Opening, "core/x.h", "// The limit.\n// What\n"), IsEmpty());
  EXPECT_THAT(Lines(Opening, "core/x.cc", "// How it is.\n"), ElementsAre(1));
  EXPECT_THAT(Lines(Opening, "core/x.cc", "int of;  // Of it.\n"), IsEmpty());
  EXPECT_THAT(Lines(Opening, "tests/core/x.cc", "// Of it.\n"), ElementsAre(1));
  EXPECT_THAT(Lines(Opening, "tests/clients/x.php", "<?php\n// Who asks.\n"), ElementsAre(2));
  EXPECT_THAT(Lines(Opening, "bench/x.lua", "-- Whoever.\n"), IsEmpty());
  EXPECT_THAT(Lines(Opening, "bench/x.lua", "-- Of it.\n"), ElementsAre(1));
  EXPECT_THAT(Lines(Opening, "tests/e2e/x.py", "\"\"\"What it is.\"\"\"\n"), ElementsAre(1));
}

TEST(TidyRulesTest, AsioRocksDbAndTheTableHaveOneHome) {
  EXPECT_THAT(Lines(IncludeArrows, "server/x.cc", "#include <asio.hpp>\n"), IsEmpty());
  EXPECT_THAT(Lines(IncludeArrows, "tests/server/x.cc", "#include <asio.hpp>\n"), IsEmpty());
  EXPECT_THAT(Lines(IncludeArrows, "core/x.cc", "#include <asio/ip/tcp.hpp>\n"), ElementsAre(1));
  EXPECT_THAT(Lines(IncludeArrows, "server/x.cc", "#include <rocksdb/db.h>\n"), ElementsAre(1));
  EXPECT_THAT(Lines(IncludeArrows, "core/x.cc", "#include \"redismodule.h\"\n"), ElementsAre(1));
  constexpr std::string_view kTable = "#include \"core/limiter/limiter_table.h\"\n";
  EXPECT_THAT(Lines(IncludeArrows, "core/limiter/x.h", kTable), IsEmpty());
  EXPECT_THAT(Lines(IncludeArrows, "core/commands/x.h", kTable), ElementsAre(1));
}

TEST(TidyRulesTest, BoostIsForOneFileAndForTests) {
  constexpr std::string_view kParser = "#include <boost/beast/http/basic_parser.hpp>\n";
  constexpr std::string_view kBuffer = "#include <boost/asio/buffer.hpp>\n";
  constexpr std::string_view kNumbers = "#include <boost/multiprecision/cpp_int.hpp>\n";
  EXPECT_THAT(Lines(IncludeArrows, "protocol/http_request.cc", kParser), IsEmpty());
  EXPECT_THAT(Lines(IncludeArrows, "protocol/http_request.cc", kBuffer), ElementsAre(1));
  EXPECT_THAT(Lines(IncludeArrows, "protocol/http_request.h", kParser), ElementsAre(1));
  EXPECT_THAT(Lines(IncludeArrows, "server/net/x.cc", kBuffer), ElementsAre(1));
  EXPECT_THAT(Lines(IncludeArrows, "core/x.cc", kNumbers), ElementsAre(1));
  EXPECT_THAT(Lines(IncludeArrows, "tests/core/x.cc", kNumbers), IsEmpty());
  EXPECT_THAT(Lines(IncludeArrows, "tests/protocol/x.cc", kParser), ElementsAre(1));
}

TEST(TidyRulesTest, OnlyTheSystemClockReadsTheTime) {
  constexpr std::string_view kRead = "auto t = std::chrono::steady_clock::now();\n";
  EXPECT_THAT(Lines(BannedWords, "server/session/session.cc", kRead), ElementsAre(1));
  EXPECT_THAT(Lines(BannedWords, "tests/core/x_test.cc", kRead), ElementsAre(1));
  EXPECT_THAT(Lines(BannedWords, "server/os/system_clock.cc", kRead), IsEmpty());
  EXPECT_THAT(Lines(BannedWords, "bench/x_bench.cc", kRead), IsEmpty());
  EXPECT_THAT(Lines(BannedWords, "core/x.cc", "clock_gettime(CLOCK_BOOTTIME, &t);\n"),
              ElementsAre(1));
  EXPECT_THAT(Lines(BannedWords, "core/x.cc", "// steady_clock::now is banned\n"), IsEmpty());
}

TEST(TidyRulesTest, NothingSleeps) {
  EXPECT_THAT(Lines(BannedWords, "tests/x.cc", "std::this_thread::sleep_for(1s);\nusleep(1);\n"),
              ElementsAre(1, 2));
  EXPECT_THAT(Lines(BannedWords, "tests/e2e/x_test.py", "time.sleep(1)\n"), ElementsAre(1));
}

TEST(TidyRulesTest, BannedCallsAreFound) {
  EXPECT_THAT(Lines(BannedWords, "core/x.cc", "throw 1;\nassert(x);\nx = rand();\natoi(x);\n"),
              ElementsAre(3, 1, 2, 4));
  EXPECT_THAT(Lines(BannedWords, "clients/x.h", "throw 1;\n"), IsEmpty());
  EXPECT_THAT(Lines(BannedWords, "core/x.cc", "static_assert(x);\nf(\"throw\");\n"), IsEmpty());
  EXPECT_THAT(Lines(BannedWords, "core/x.cc", "absl::Mutex mutex;\n"), ElementsAre(1));
  EXPECT_THAT(Lines(BannedWords, "server/x.cc", "std::cout << x;\nprintf(x);\n"),
              ElementsAre(1, 2));
  EXPECT_THAT(Lines(BannedWords, "bench/x.cc", "std::cout << x;\n"), IsEmpty());
}

TEST(TidyRulesTest, CoreHasNoFloatingPoint) {
  EXPECT_THAT(Lines(BannedWords, "core/x.h", "double x;\nfloat y;\n"), ElementsAre(1, 2));
  EXPECT_THAT(Lines(BannedWords, "server/x.h", "double x;\n"), IsEmpty());
}

TEST(TidyRulesTest, ABanSaysWhatToUseInstead) {
  const Findings findings = BannedWords(MakeSourceFile("core/x.cc", "assert(x);\n"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings.front().text, HasSubstr("WEIR_CHECK"));
}

TEST(TidyRulesTest, LeftoversAreFoundInCommentsToo) {
  EXPECT_THAT(Lines(Leftovers, "core/x.h",
                    "int x;  // TO"
                    "DO: more\n"),
              ElementsAre(1));
  EXPECT_THAT(Lines(Leftovers, "README.md",
                    "FIX"
                    "ME\n"),
              ElementsAre(1));
  EXPECT_THAT(Lines(Leftovers, "tests/x.sh", "mktemp -d weir.XXXXXX\n"), IsEmpty());
}

TEST(TidyRulesTest, HeadersStartWithPragmaOnce) {
  EXPECT_THAT(Lines(PragmaOnce, "core/x.h", "// What it is.\n#pragma once\n"), IsEmpty());
  EXPECT_THAT(Lines(PragmaOnce, "core/x.h", "#include <x>\n#pragma once\n"), ElementsAre(1));
  EXPECT_THAT(Lines(PragmaOnce, "core/x.h", "// Nothing else.\n"), ElementsAre(0));
  EXPECT_THAT(Lines(PragmaOnce, "core/x.cc", "int x;\n"), IsEmpty());
}

TEST(TidyRulesTest, LinesHaveAtMostAHundredColumns) {
  const std::string full(kColumnsMax, 'x');
  EXPECT_THAT(Lines(Layout, "core/x.h", full + "\n"), IsEmpty());
  EXPECT_THAT(Lines(Layout, "core/x.h", full + "x\n"), ElementsAre(1));
  EXPECT_THAT(Lines(Layout, "core/x.h", full.substr(1) + "\u2264\n"), IsEmpty());
}

TEST(TidyRulesTest, ProseOfMarkdownHasAtMostAHundredColumns) {
  const std::string words = std::string(kColumnsMax - 2, 'x') + " xx";
  for (const char* mark : {"", "  ", "- ", "  1. ", "[link](x) "}) {
    EXPECT_THAT(Lines(Layout, "README.md", mark + words + "\n"), ElementsAre(1)) << mark;
  }
  for (const char* mark : {"| ", "## ", "<!-- ", "[link]: ", "```\n", "  ```console\n"}) {
    EXPECT_THAT(Lines(Layout, "README.md", mark + words + "\n"), IsEmpty()) << mark;
  }
  EXPECT_THAT(Lines(Layout, "README.md", "```\n" + words + "\n```\n" + words), ElementsAre(4));
  const std::string link(kColumnsMax + 1, 'x');
  EXPECT_THAT(Lines(Layout, "README.md", link + "\n- " + link + "\n"), IsEmpty());
}

TEST(TidyRulesTest, BlanksAreBlanksAndNotAtTheEnd) {
  EXPECT_THAT(Lines(Layout, "dev", "a\tb\nc \nd\r\n"), ElementsAre(1, 2, 3));
}

TEST(TidyRulesTest, FilesHaveAtMostFiveHundredLines) {
  std::string text;
  for (std::size_t i = 0; i < kFileLinesMax; ++i) text += "x\n";
  EXPECT_THAT(Lines(Layout, "core/x.cc", text), IsEmpty());
  EXPECT_THAT(Lines(Layout, "core/x.cc", text + "x\n"), ElementsAre(0));
}

// A block of `lines` lines, the first of them `head` and a brace.
std::string Block(const std::string& head, std::size_t lines) {
  std::string text = head + " {\n";
  for (std::size_t i = 2; i < lines; ++i) text += "  if (x) { y(); }\n";
  return text + "}\n";
}

TEST(TidyRulesTest, FunctionsHaveAtMostSeventyLines) {
  for (const char* head :
       {"int F()", "void X::F(std::vector<int> v = {}) const", "TEST(A, B)",
        "X::X() : a_(1), b_{2}", "template <class T> T F()", "extern \"C\" int F()"}) {
    EXPECT_THAT(Lines(LongFunctions, "core/x.cc", "int y;\n" + Block(head, 70)), IsEmpty()) << head;
    EXPECT_THAT(Lines(LongFunctions, "core/x.cc", "int y;\n" + Block(head, 71)), ElementsAre(2))
        << head;
  }
}

TEST(TidyRulesTest, TypesAndNamespacesMayBeLong) {
  for (const char* head :
       {"namespace a::b", "class A : public B<int>", "struct alignas(64) A",
        "template <class T> struct A", "enum class A : char", "constexpr Row kRows[] ="}) {
    EXPECT_THAT(Lines(LongFunctions, "core/x.cc", Block(head, 200)), IsEmpty()) << head;
  }
}

TEST(TidyRulesTest, FunctionsInsideTypesCount) {
  EXPECT_THAT(
      Lines(LongFunctions, "core/x.h", "class A {\n public:\n" + Block("int F()", 71) + "};"),
      ElementsAre(3));
}

// A class with as many functions as `declarations` has lines, and some that do not count.
std::string ClassOf(const std::string& before, std::size_t functions) {
  std::string text = before + "class A final : public B<int()> {\n public:\n  explicit A(C c);\n";
  for (std::size_t i = 1; i < functions; ++i) text += "  void F(int x = G()) const;\n";
  return text +
         "  A(const A&) = delete;\n  ~A() override = default;\n  void G() override;\n"
         "  friend bool operator==(A, A);\n  std::function<void()> f = nullptr;\n"
         "  int x ABSL_GUARDED_BY(m) = 0;\n  enum E { kA, kB };\n  using G = F<void()>;\n"
         " private:\n  void H();\n};\n";
}

TEST(TidyRulesTest, ClassesHaveAtMostTwentyFivePublicFunctions) {
  const auto lines = [](const std::string& text) {
    return Lines(ManyPublicFunctions, "core/x.h", text);
  };
  EXPECT_THAT(lines(ClassOf("", 25)), IsEmpty());
  EXPECT_THAT(lines(ClassOf("\n", 26)), ElementsAre(2));
  EXPECT_THAT(lines(ClassOf("namespace n {\nstruct S {\n  S() : x{1} { f(); }\n", 26)),
              ElementsAre(4));
  EXPECT_THAT(lines(ClassOf("template <typename T = F<int>>\n", 26)), ElementsAre(1));
  EXPECT_THAT(Lines(ManyPublicFunctions, "tests/core/x.h", ClassOf("", 26)), IsEmpty());
}

TEST(TidyRulesTest, EveryKindOfPublicFunctionCounts) {
  for (const std::string function :
       {"A(int);", "A() : x{1}, y(2) {}", "static int F() { return G({}); }",
        "bool operator()(int);", "[[nodiscard]] std::vector<F<int()>> F() const noexcept;",
        "virtual void F() = 0;", "template <typename T>\nvoid F(T t) { if (t) { t(); } }",
        "void F() ABSL_LOCKS(m);"}) {
    const std::string text = "struct A {\n" + function + "\n";
    std::string functions;
    for (int i = 0; i < 25; ++i) functions += "void G();\n";
    EXPECT_THAT(Lines(ManyPublicFunctions, "core/x.h", text + functions + "};\n"), ElementsAre(1))
        << function;
  }
}

TEST(TidyRulesTest, ALargerClassHasAWaiverWithItsNumberAndAReason) {
  const auto lines = [](const std::string& text) {
    return Lines(ManyPublicFunctions, "core/x.h", text);
  };
  EXPECT_THAT(lines(ClassOf("// public-functions: 26, a map.\n", 26)), IsEmpty());
  EXPECT_THAT(lines(ClassOf("// public-functions: 26, a map.\n", 27)), ElementsAre(2));
  EXPECT_THAT(lines(ClassOf("// public-functions: 26, a map.\n", 25)), ElementsAre(1));
  EXPECT_THAT(lines(ClassOf("// public-functions: 26\n", 26)), ElementsAre(2)) << "no reason";
}

TEST(TidyRulesTest, PagesHaveOneTitle) {
  EXPECT_THAT(Lines(OneTitle, "README.md", "# A\n## B\n```\n# comment\n```\n"), IsEmpty());
  EXPECT_THAT(Lines(OneTitle, "README.md", "# A\n# B\n"), ElementsAre(0));
  EXPECT_THAT(Lines(OneTitle, "README.md", "text\n"), ElementsAre(0));
}

TEST(TidyRulesTest, SourcesIncludeTheirOwnHeaderFirst) {
  const SourceFile header = MakeSourceFile("core/x.h", "#pragma once\n");
  const auto lines = [&header](std::string path, std::string_view text) {
    std::vector<std::size_t> all;
    for (const Finding& finding : OwnHeaderFirst({header, MakeSourceFile(std::move(path), text)})) {
      all.push_back(finding.line);
    }
    return all;
  };
  EXPECT_THAT(lines("core/x.cc", "// What it does.\n#include \"core/x.h\"\n"), IsEmpty());
  EXPECT_THAT(lines("core/x.cc", "\n#include <x>\n#include \"core/x.h\"\n"), ElementsAre(2));
  EXPECT_THAT(lines("core/x.cc", "int x;\n"), ElementsAre(0));
  EXPECT_THAT(lines("core/y.cc", "#include <x>\n"), IsEmpty());

  const SourceFile client = MakeSourceFile("clients/cpp/weir/x.h", "#pragma once\n");
  const auto findings = [&client](std::string_view text) {
    return OwnHeaderFirst({client, MakeSourceFile("clients/cpp/weir/x.cc", text)});
  };
  EXPECT_THAT(findings("#include \"weir/x.h\"\n"), IsEmpty());
  EXPECT_THAT(findings("#include \"clients/cpp/weir/x.h\"\n"), SizeIs(1));
}

// The paths that DeadFiles() reports for a tree of one list and one file.
std::vector<std::string> Dead(std::string list_path, std::string_view list, std::string path) {
  std::vector<std::string> dead;
  for (const Finding& finding : DeadFiles(
           {MakeSourceFile(std::move(list_path), list), MakeSourceFile(std::move(path), "")})) {
    dead.push_back(finding.path);
  }
  return dead;
}

TEST(TidyRulesTest, FilesAreListedByNameOrAsATest) {
  constexpr std::string_view kList = "weir_library(core SOURCES x.cc # y.cc\n HEADERS z.h)\n";
  EXPECT_THAT(Dead("core/CMakeLists.txt", kList, "core/x.cc"), IsEmpty());
  EXPECT_THAT(Dead("core/CMakeLists.txt", kList, "core/x.h"), IsEmpty());
  EXPECT_THAT(Dead("core/CMakeLists.txt", kList, "core/z.h"), IsEmpty());
  EXPECT_THAT(Dead("core/CMakeLists.txt", kList, "core/y.h"), SizeIs(1));
  EXPECT_THAT(Dead("core/CMakeLists.txt", kList, "core/y.cc"), ElementsAre("core/y.cc"));
  EXPECT_THAT(Dead("CMakeLists.txt", kList, "core/ax.cc"), ElementsAre("core/ax.cc"));
  constexpr std::string_view kTests = "weir_tests(core/a SOURCES x_test.cc)\n";
  EXPECT_THAT(Dead("tests/core/CMakeLists.txt", kTests, "tests/core/a/x_test.cc"), IsEmpty());
  EXPECT_THAT(Dead("tests/core/CMakeLists.txt", kTests, "tests/core/b/x_test.cc"), SizeIs(1));
  EXPECT_THAT(Dead("bench/CMakeLists.txt", "weir_bench(x_bench)\n", "bench/x_bench.cc"), IsEmpty());
  EXPECT_THAT(
      Dead("tests/fuzz/CMakeLists.txt", "weir_fuzz(fuzz/a/x_fuzz)\n", "tests/fuzz/a/x_fuzz.cc"),
      IsEmpty());
}

TEST(TidyRulesTest, AHeaderOfTheTestsMayBeIncludedInstead) {
  const SourceFile list = MakeSourceFile("CMakeLists.txt", "weir_tests(a SOURCES a_test.cc)\n");
  const SourceFile test = MakeSourceFile("tests/a/a_test.cc", "#include \"tests/a/a.h\"\n");
  const SourceFile header = MakeSourceFile("tests/a/a.h", "#pragma once\n");
  EXPECT_THAT(DeadFiles({list, test, header}), IsEmpty());
  EXPECT_THAT(DeadFiles({list, header}), SizeIs(1));
}

}  // namespace
}  // namespace weir::tidy
