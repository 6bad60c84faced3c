#include "tests/tidy/source_file.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::tidy {
namespace {

using ::testing::ElementsAre;

std::string Code(std::string_view text) {
  std::string code;
  for (const std::string& line : MakeSourceFile("core/x.cc", text).code) code += line + "\n";
  return code;
}

TEST(SourceFileTest, SplitsLinesWithOrWithoutALastLineEnd) {
  EXPECT_THAT(MakeSourceFile("x.md", "a\n\nb").lines, ElementsAre("a", "", "b"));
  EXPECT_THAT(MakeSourceFile("x.md", "a\n\nb\n").lines, ElementsAre("a", "", "b"));
  EXPECT_THAT(MakeSourceFile("x.md", "").lines, ElementsAre());
}

TEST(SourceFileTest, CommentsAreNoCode) {
  EXPECT_EQ(Code("f(); // throw\n"), "f();         \n");
  EXPECT_EQ(Code("f(/* a */);\n"), "f(       );\n");
  EXPECT_EQ(Code("/* a\n b */ g();\n"), "    \n      g();\n");
}

TEST(SourceFileTest, WhatLiteralsHoldIsNoCode) {
  EXPECT_EQ(Code(R"(f("a // b", 'c');)"), "f(\"      \", ' ');\n");
  EXPECT_EQ(Code(R"(f("\"", '\'', "");)"), "f(\"  \", '  ', \"\");\n");
  EXPECT_EQ(Code("f(R\"x(a)\"\nb)x\");\n"), "f(R\"x(   \n )x\");\n");
}

TEST(SourceFileTest, DigitSeparatorsOpenNoLiteral) {
  EXPECT_EQ(Code("f(10'000, x);  // y\n"), "f(10'000, x);      \n");
  EXPECT_EQ(Code("f(0x1'FF, 'x');\n"), "f(0x1'FF, ' ');\n");
}

TEST(SourceFileTest, OnlyCppHasCode) {
  EXPECT_THAT(MakeSourceFile("x.py", "a\n").code, ElementsAre());
}

TEST(SourceFileTest, AWordIsNoPartOfAnIdentifier) {
  EXPECT_TRUE(ContainsWord("x = rand();", "rand("));
  EXPECT_TRUE(ContainsWord("x = std::rand();", "rand("));
  EXPECT_FALSE(ContainsWord("srand(1);", "rand("));
  EXPECT_FALSE(ContainsWord("rethrow", "throw"));
  EXPECT_FALSE(ContainsWord("throws", "throw"));
  EXPECT_TRUE(ContainsWord("throws; throw", "throw"));
  EXPECT_FALSE(ContainsWord("static_assert(x)", "assert("));
}

TEST(SourceFileTest, ReportsAsCompilersDo) {
  EXPECT_EQ(Report({{"core/x.h", 3, "wrong"}, {"a.md", 0, "odd"}}),
            "core/x.h:3: wrong\na.md:0: odd\n");
}

}  // namespace
}  // namespace weir::tidy
