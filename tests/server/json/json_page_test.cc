// Goal: docs/http.md shows what happens. Method: each block of curl commands is replayed on a new
// server with a stopped clock, and must come out unchanged.
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/http_conversation.h"

namespace weir {
namespace {

constexpr std::string_view kBlock = "```\n$ curl --json ";
constexpr std::string_view kCommand = "$ curl --json '";
constexpr std::string_view kServer = "' http://127.0.0.1:7381";

std::string HttpPage() {
  std::ifstream file(WEIR_SOURCE_DIR "/docs/http.md", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The commands of a block, each with the response that they have.
std::string Replayed(const std::string& block) {
  HttpConversation client;
  std::string seen;
  std::istringstream lines(block);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kCommand)) continue;
    const std::size_t end = line.find(kServer);
    EXPECT_NE(end, std::string::npos) << line;
    const std::string body = line.substr(kCommand.size(), end - kCommand.size());
    const std::string response = client.Post(line.substr(end + kServer.size()), body);
    seen.append(line).append("\n").append(BodyOf(response)).append("\n");
  }
  return seen;
}

TEST(JsonPageTest, ThePageShowsWhatHappens) {
  const std::string page = HttpPage();
  int blocks = 0;
  for (std::size_t at = page.find(kBlock); at != std::string::npos; at = page.find(kBlock, at)) {
    at += std::string_view("```\n").size();
    const std::string block = page.substr(at, page.find("```\n", at) - at);
    EXPECT_EQ(Replayed(block), block);
    ++blocks;
  }
  EXPECT_EQ(blocks, 5);
}

}  // namespace
}  // namespace weir
