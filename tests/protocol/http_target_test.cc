// Goal: a target is split as RFC 9112 has it, and its escapes are decoded, or refused. Method:
// tables of targets, queries and escapes.
#include "protocol/http_target.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

// "host|path|query" of a target, or "none".
std::string Parts(std::string_view target) {
  const std::optional<HttpTarget> parts = SplitTarget(target);
  if (!parts) return "none";
  return std::string(parts->host).append("|").append(parts->path).append("|").append(parts->query);
}

TEST(HttpTargetTest, SplitsEachForm) {
  EXPECT_EQ(Parts("/"), "|/|");
  EXPECT_EQ(Parts("/a/b?c?d=/&e"), "|/a/b|c?d=/&e");
  EXPECT_EQ(Parts("/a?"), "|/a|");
  EXPECT_EQ(Parts("//a/../%2F"), "|//a/../%2F|");
  EXPECT_EQ(Parts("*"), "|*|");
  EXPECT_EQ(Parts("http://a"), "a|/|");
  EXPECT_EQ(Parts("HTTPS://a.b:80?c"), "a.b:80|/|c");
  EXPECT_EQ(Parts("http://[::1]:80/a?b"), "[::1]:80|/a|b");
}

TEST(HttpTargetTest, RefusesTheRest) {
  for (const std::string_view target :
       {"", "a", "?a", "*a", "a:443", "http:/a", "http://", "http:///a", "http://?a", "ftp://a/",
        "http://u@a/", "http://a b/", "http://a\\b/", "/a#b", "http://a/#", "http://\xc3\xa9/"}) {
    EXPECT_EQ(Parts(target), "none") << target;
  }
}

TEST(HttpTargetTest, KnowsHosts) {
  for (const std::string_view host : {"a", "a.b-c_d:7381", "[2001:db8::1]", "10.0.0.1", "%41"}) {
    EXPECT_TRUE(IsHost(host)) << host;
  }
  for (const std::string_view host :
       {"", " ", "a b", "a/b", "u@a", "a?", "a#", "a\\b", "a\"", "<a>", "\xc3\xa9", "a\t"}) {
    EXPECT_FALSE(IsHost(host)) << host;
  }
}

using Parameters = std::vector<std::pair<std::string, std::string>>;

Parameters ParametersOf(std::string_view query) {
  Parameters parameters;
  for (QueryReader reader(query); reader.Next();) {
    parameters.emplace_back(reader.name(), reader.value());
  }
  return parameters;
}

TEST(QueryReaderTest, ReadsParametersInOrder) {
  EXPECT_EQ(ParametersOf("key=user:42&limit=10/s&limit=100/m"),
            (Parameters{{"key", "user:42"}, {"limit", "10/s"}, {"limit", "100/m"}}));
  EXPECT_EQ(ParametersOf("a=b=c&d&=e&f="),
            (Parameters{{"a", "b=c"}, {"d", ""}, {"", "e"}, {"f", ""}}));
  EXPECT_EQ(ParametersOf("&&a=1&&b=2&"), (Parameters{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(ParametersOf(""), Parameters{});
  EXPECT_EQ(ParametersOf("&"), Parameters{});
  EXPECT_EQ(ParametersOf("a%3D1=%26"), (Parameters{{"a%3D1", "%26"}}));
}

// What a text decodes to, behind "ok " or "bad ".
std::string Decoded(std::string_view text, PlusMeans plus = PlusMeans::kBlank) {
  std::string out;
  const bool ok = AppendDecoded(text, plus, out);
  return (ok ? "ok " : "bad ") + out;
}

// The paths of RFC 3986, 5.2.4 and 6.2.2, and others.
TEST(AppendNormalPathTest, EachSpellingHasOneForm) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"/", "/"},
      {"*", "*"},
      {"/a/b", "/a/b"},
      {"/a/b/", "/a/b/"},
      {"//", "/"},
      {"//a///b//", "/a/b/"},
      {"/a/./b", "/a/b"},
      {"/a/b/.", "/a/b/"},
      {"/a/b/c/./../../g", "/a/g"},
      {"/a/..", "/"},
      {"/a/../", "/"},
      {"/..", "/"},
      {"/../../a", "/a"},
      {"/a//../b", "/b"},
      {"/...", "/..."},
      {"/.a/..b", "/.a/..b"},
      {"/%61%7e%2D%5f%2e%30", "/a~-_.0"},
      {"/%7Euser/%7euser", "/~user/~user"},
      {"/a/%2e%2E/b", "/b"},
      {"/a/%2e", "/a/"},
      {"/a%2fb%2F", "/a%2Fb%2F"},
      {"/%e9%C3%A9", "/%E9%C3%A9"},
      {"/%", "/%"},
      {"/%4", "/%4"},
      {"/%zz%4g", "/%zz%4g"},
      {"/%2561", "/%2561"},
      {"/a;x=1", "/a;x=1"},
      {"/A", "/A"},
  };
  for (const auto& [path, normal] : cases) {
    std::string out = "k/";
    AppendNormalPath(path, out);
    EXPECT_EQ(out, "k/" + std::string(normal)) << path;
    // The normal form of a normal form is the same.
    std::string again;
    AppendNormalPath(normal, again);
    EXPECT_EQ(again, normal);
  }
}

TEST(AppendDecodedTest, DecodesEscapes) {
  EXPECT_EQ(Decoded("user%3A42%2f%2F"), "ok user:42//");
  EXPECT_EQ(Decoded("%25%32%35"), "ok %25") << "once";
  EXPECT_EQ(Decoded("a+b%2Bc"), "ok a b+c");
  EXPECT_EQ(Decoded("a+b%2Bc", PlusMeans::kPlus), "ok a+b+c");
  EXPECT_EQ(Decoded("%C3%a9\xc3\xa9"), "ok \xc3\xa9\xc3\xa9");
  EXPECT_EQ(Decoded(""), "ok ");
}

TEST(AppendDecodedTest, DecodesEveryByte) {
  constexpr std::string_view kDigits = "0123456789aBcDeF";
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string text{'%', kDigits[byte / 16], kDigits[byte % 16]};
    EXPECT_EQ(Decoded(text), std::string("ok ") + static_cast<char>(byte)) << text;
  }
}

TEST(AppendDecodedTest, RefusesBadEscapes) {
  for (const std::string_view text : {"a%", "a%4", "a%g0", "a%0g", "a%%41", "a%-1", "a% 1"}) {
    EXPECT_EQ(Decoded(text), "bad a") << text;
  }
}

}  // namespace
}  // namespace weir
