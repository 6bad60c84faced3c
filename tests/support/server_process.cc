#include "tests/support/server_process.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "gtest/gtest.h"

namespace weir {
namespace {

constexpr std::string_view kListening = "listening on 127.0.0.1:";

std::vector<std::string> Words(const std::vector<std::string>& options) {
  const char* const binary = std::getenv("WEIR_SERVER");
  EXPECT_NE(binary, nullptr) << "WEIR_SERVER must name the server's binary";
  std::vector<std::string> words = {binary == nullptr ? "" : binary, "--port", "0"};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

}  // namespace

ServerProcess::ServerProcess(const std::vector<std::string>& options)
    : child_(Words(options), {}, std::string(kListening)) {
  if (!child_.started()) return;
  const std::string& line = child_.sign_line();
  const char* const digits = line.data() + line.find(kListening) + kListening.size();
  std::from_chars(digits, line.data() + line.size(), port_);
}

ServerProcess::~ServerProcess() {
  if (child_.started()) {
    EXPECT_EQ(Stop(), 0);
  }
}

}  // namespace weir
