// Goal: YAML is read as its rules say, and hostile YAML ends in an error of bounded cost. Method:
// texts.
#include "rls/yaml_document.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/check.h"
#include "core/base/status.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::string_literals;

std::string Repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

// A node as a text: {a=1 b=["x" null]}, with the line before each text that begins a line.
std::string TextOf(YamlDocument& document, const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "null";
    case YamlNode::Kind::kText:
      return node.is_plain ? node.text : "\"" + node.text + "\"";
    case YamlNode::Kind::kList: {
      std::string text;
      const auto elements = document.Elements(node);
      if (!elements.ok()) return std::string(StdView(elements.status().message()));
      for (const YamlNode* element : *elements) {
        absl::StrAppend(&text, text.empty() ? "" : " ", TextOf(document, *element));
      }
      return "[" + text + "]";
    }
    case YamlNode::Kind::kMap:
      break;
  }
  const absl::StatusOr<std::vector<YamlField>> fields = document.Fields(node);
  if (!fields.ok()) return std::string(StdView(fields.status().message()));
  std::string text;
  for (const YamlField& field : *fields) {
    absl::StrAppend(&text, text.empty() ? "" : " ", AbslView(field.name()), "=",
                    TextOf(document, *field.value));
  }
  return "{" + text + "}";
}

// The root as a text, or the error.
std::string RootOf(std::string_view text) {
  absl::StatusOr<YamlDocument> document = YamlDocument::Parse(text, "a.yaml");
  if (!document.ok()) return std::string(StdView(document.status().message()));
  return TextOf(*document, document->root());
}

TEST(YamlDocumentTest, NodesAreRead) {
  EXPECT_EQ(RootOf(""), "null");
  EXPECT_EQ(RootOf("# nothing\n"), "null");
  EXPECT_EQ(RootOf("\xEF\xBB\xBF"
                   "a: 1\r\nb: '2'\r\n"),
            "{a=1 b=\"2\"}");
  EXPECT_EQ(RootOf("a:\nb: ~\nc: null\nd: 'null'\ne: !!str 5\n"),
            "{a=null b=null c=null d=\"null\" e=\"5\"}");
  EXPECT_EQ(RootOf("- [1, {a: b}]\n-\n- |\n  x\n"), "[[1 {a=b}] null \"x\n\"]");
  EXPECT_EQ(RootOf("--- \na: 1\n...\n"), "{a=1}");
}

TEST(YamlDocumentTest, AliasesAndMergesAreFollowed) {
  EXPECT_EQ(RootOf("a: &x [1]\nb: *x\n"), "{a=[1] b=[1]}");
  EXPECT_EQ(RootOf("- &x {a: 1, b: 2}\n- {b: 3, <<: *x}\n"), "[{a=1 b=2} {b=3 a=1}]");
  EXPECT_EQ(RootOf("- &x {a: 1}\n- &y {a: 2, b: 2, <<: *x}\n- {<<: [*x, *y]}\n"),
            "[{a=1} {a=2 b=2} {a=1 b=2}]");
  EXPECT_EQ(RootOf("{'<<': 1}"), "{<<=1}");  // quoted, it is a key
  EXPECT_EQ(RootOf("<<: 1"), "a.yaml:1: expected a map, got '1'");
}

TEST(YamlDocumentTest, WhatIsNoYamlHasItsLine) {
  EXPECT_EQ(RootOf("a: 1\n b: 2\n"), "a.yaml:2: not YAML: illegal map value");
  EXPECT_THAT(RootOf("a: *b\n"),
              StartsWith("a.yaml:1: not YAML: the referenced anchor is not defined"));
  EXPECT_EQ(RootOf("a: 1\n\n---\nb: 2\n"), "a.yaml:3: a second document");
  EXPECT_EQ(RootOf("a: 1\nb: 2\na: 3\n"), "a.yaml:3: key 'a' stands twice");
  EXPECT_EQ(RootOf("a: 1\n[b]: 2\n"), "a.yaml:2: expected a text as a key, got a list");
}

// yaml-cpp takes 0x04 for the end: the rules behind it would be gone.
TEST(YamlDocumentTest, ControlBytesAreRefused) {
  EXPECT_EQ(RootOf("a: 1\nb: \x04\nc: 2\n"),
            "a.yaml:2: not YAML: control byte 0x04 (the text is UTF-8)");
  EXPECT_THAT(RootOf("\xff\xfe\0\0"s.substr(0, 3)),
              HasSubstr("a.yaml:1: not YAML: control byte 0x00"));
}

TEST(YamlDocumentTest, AnErrorIsOneLine) {
  absl::StatusOr<YamlDocument> document = YamlDocument::Parse("a\n", "a.yaml");
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->Wrong(document->root(), "x\ny").message(), "a.yaml:1: x?y");
}

TEST(YamlDocumentTest, TextsAndListsAreWhatIsAskedFor) {
  absl::StatusOr<YamlDocument> document = YamlDocument::Parse("[ab, [], {}, ~]", "a.yaml");
  ASSERT_TRUE(document.ok());
  const auto elements = *document->Elements(document->root());
  EXPECT_EQ(*document->Text(*elements[0], 2), "ab");
  EXPECT_EQ(document->Text(*elements[0], 1).status().message(),
            "a.yaml:1: 'ab' has more than 1 bytes");
  EXPECT_EQ(document->Text(*elements[1], 2).status().message(),
            "a.yaml:1: expected a text, got a list");
  EXPECT_EQ(*document->Text(*elements[3], 2), "");
  EXPECT_EQ(document->Elements(*elements[0]).status().message(),
            "a.yaml:1: expected a list, got 'ab'");
  EXPECT_EQ(document->Elements(*elements[2]).status().message(),
            "a.yaml:1: expected a list, got a map");
  EXPECT_TRUE(document->Elements(*elements[3])->empty());
  EXPECT_EQ(document->Fields(*elements[3]).status().message(),
            "a.yaml:1: expected a map, got null");
}

TEST(YamlDocumentTest, TruthsHaveThreeWordsEach) {
  for (const std::string_view word : {"true", "True", "TRUE", "yes", "On"}) {
    bool truth = false;
    EXPECT_TRUE(ReadYamlTruth(word, truth) && truth) << word;
  }
  for (const std::string_view word : {"false", "No", "OFF"}) {
    bool truth = true;
    EXPECT_TRUE(ReadYamlTruth(word, truth) && !truth) << word;
  }
  for (const std::string_view word : {"", "tRUE", "1", "y", "truetruetrue"}) {
    bool truth = false;
    EXPECT_FALSE(ReadYamlTruth(word, truth)) << word;
  }
}

// --- Hostile texts ---

TEST(YamlDocumentTest, ATextIsBounded) {
  EXPECT_EQ(RootOf(std::string(kYamlBytesMax + 1, '#')), "a.yaml:1: more than 4194304 bytes");
  EXPECT_EQ(RootOf(std::string(1000, ' ')), "null");
}

TEST(YamlDocumentTest, NestingIsBounded) {
  EXPECT_EQ(RootOf(Repeated("[", 100'000)), "a.yaml:1: not YAML: nested too deeply");
  EXPECT_THAT(RootOf(Repeated("- ", 100'000)), HasSubstr("not YAML: nested too deeply"));
  EXPECT_THAT(RootOf(Repeated("{a: ", 100'000)), HasSubstr("not YAML: nested too deeply"));
  EXPECT_EQ(RootOf(Repeated("[", 100) + Repeated("]", 100)),
            Repeated("[", 100) + Repeated("]", 100));
}

TEST(YamlDocumentTest, NodesAreCounted) {
  EXPECT_EQ(RootOf("\n" + Repeated("[", kYamlNodesMax + 1)), "a.yaml:2: more than 200000 nodes");
  EXPECT_EQ(RootOf(Repeated("- a\n", 2 * kYamlNodesMax + 1)),
            "a.yaml:400001: more than 200000 nodes");
  absl::StatusOr<YamlDocument> many =
      YamlDocument::Parse(Repeated("- a\n", kYamlNodesMax + 1), "a.yaml");
  ASSERT_TRUE(many.ok());
  EXPECT_EQ(many->Elements(many->root()).status().message(), "a.yaml:1: more than 200000 nodes");
  absl::StatusOr<YamlDocument> most =
      YamlDocument::Parse(Repeated("- a\n", kYamlNodesMax), "a.yaml");
  ASSERT_TRUE(most.ok());
  EXPECT_TRUE(most->Elements(most->root()).ok());
  EXPECT_FALSE(most->Elements(most->root()).ok());  // the same looks again
}

// Each line has the one before ten times.
std::string Billion(std::string_view begin, std::string_view end) {
  std::string text = "a0: &a0 {x: 1}\n";
  for (int i = 1; i <= 9; ++i) {
    const std::string alias = absl::StrCat("*a", i - 1, ", ");
    absl::StrAppend(&text, "a", i, ": &a", i, " ", AbslView(begin), Repeated(alias, 9), "*a", i - 1,
                    AbslView(end), "\n");
  }
  return text;
}

// Looks at every node below one; returns the first error.
absl::Status LookAtAll(YamlDocument& document, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kMap) {
    const absl::StatusOr<std::vector<YamlField>> fields = document.Fields(node);
    if (!fields.ok()) return fields.status();
    for (const YamlField& field : *fields) {
      WEIR_RETURN_IF_ERROR(LookAtAll(document, *field.value));
    }
  } else if (node.kind == YamlNode::Kind::kList) {
    const auto elements = document.Elements(node);
    if (!elements.ok()) return elements.status();
    for (const YamlNode* element : *elements) {
      WEIR_RETURN_IF_ERROR(LookAtAll(document, *element));
    }
  }
  return absl::OkStatus();
}

std::string ErrorOfLooking(std::string_view text) {
  absl::StatusOr<YamlDocument> document = YamlDocument::Parse(text, "a.yaml");
  WEIR_CHECK(document.ok());
  return std::string(StdView(LookAtAll(*document, document->root()).message()));
}

TEST(YamlDocumentTest, AliasesThatMultiplyEnd) {
  EXPECT_THAT(ErrorOfLooking(Billion("[", "]")), HasSubstr(": more than 200000 nodes"));
  EXPECT_THAT(ErrorOfLooking(Billion("{<<: [", "]}")), HasSubstr(": more than 200000 nodes"));
}

TEST(YamlDocumentTest, AnAliasOfItselfEnds) {
  EXPECT_THAT(ErrorOfLooking("&a {x: 1, <<: *a}"), "a.yaml:1: more than 16 merges (<<) of merges");
  std::string chain = "- &a0 {x: 1}\n";
  for (int i = 1; i < 1000; ++i) absl::StrAppend(&chain, "- &a", i, " {<<: *a", i - 1, "}\n");
  EXPECT_THAT(ErrorOfLooking(chain), "a.yaml:1: more than 16 merges (<<) of merges");
  absl::StatusOr<YamlDocument> document = YamlDocument::Parse("&a [*a]", "a.yaml");
  ASSERT_TRUE(document.ok());
  EXPECT_EQ((*document->Elements(document->root()))[0], &document->root());
}

}  // namespace
}  // namespace weir
