// Property: for any body, each path under /v1 gives one response with JSON in it, and keeps the
// connection; a batch and a pipeline have a result for each of their elements.
//
// The input is the body, followed by a byte that chooses the path.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "server/http/http_services.h"
#include "server/http/http_session.h"
#include "tests/support/fake_clock.h"

namespace weir {
namespace {

constexpr auto kPaths = std::to_array<std::string_view>(
    {"allow", "take?denied=429", "peek", "charge", "refund", "batch", "command", "pipeline",
     "reserve", "commit", "cancel"});

// The number of idle limits that may remain, since reclaiming their ids takes long.
constexpr std::size_t kLimitsKept = 1000;

// All inputs share one table, because making a table takes long; it is emptied after each input.
Limiter& EmptyLimiter() {
  static Limiter* const kLimiter = new Limiter({.secret = {1, 2, 3}});
  return *kLimiter;
}

// The body of the one response in `responses`.
std::string_view OneBody(std::string_view responses, std::string_view& status) {
  WEIR_CHECK(responses.starts_with("HTTP/1.1 "));
  status = responses.substr(9, 3);
  const std::size_t head = responses.find("\r\n\r\n");
  WEIR_CHECK(head != std::string_view::npos);
  return responses.substr(head + 4);
}

void CheckResponse(std::string_view path, std::string_view body, std::string_view responses) {
  std::string_view status;
  const nlohmann::json answer =
      nlohmann::json::parse(OneBody(responses, status), nullptr, /*allow_exceptions=*/false);
  WEIR_CHECK(!answer.is_discarded());  // so it is one response, too
  const bool is_list = path == "batch" || path == "pipeline";
  if (status != "200" || !is_list) {
    WEIR_CHECK(answer.contains("error") == (status == "400"));
    WEIR_CHECK(status == "200" || status == "400" || path == "take?denied=429" ||
               path == "command");
    return;
  }
  const nlohmann::json asked = nlohmann::json::parse(body);
  const nlohmann::json& requests = path == "batch" ? asked["requests"] : asked;
  const nlohmann::json& results = path == "batch" ? answer["results"] : answer;
  WEIR_CHECK(results.size() == requests.size());
}

void Ask(std::string_view input) {
  if (input.empty()) return;
  const std::string_view path = kPaths[static_cast<unsigned char>(input.back()) % kPaths.size()];
  const std::string_view body = input.substr(0, input.size() - 1);
  const FakeClock clock;
  Services services(DefaultOptions(), clock, EmptyLimiter());
  Worker worker(services);
  HttpServices http;
  HttpSession session(
      worker, services.clients.Add("127.0.0.1:1", "127.0.0.1:2", 3, clock.HostNow(), Face::kHttp),
      http);
  const std::string request =
      absl::StrCat("POST /v1/", AbslView(path), " HTTP/1.1\r\nHost: weir\r\n",
                   "Content-Type: application/json\r\nContent-Length: ", body.size(), "\r\n\r\n",
                   AbslView(body));
  std::string responses;
  const ClientSession::Turn turn = session.Execute(request, responses);
  WEIR_CHECK(turn.consumed == request.size());
  WEIR_CHECK(turn.next != ClientSession::Next::kClose);
  CheckResponse(path, body, responses);
  if (worker.counters["total_commands_processed"].value() == 0) return;
  LimiterUpkeep(EmptyLimiter().table()).Clear();
  LimiterUpkeep(EmptyLimiter().table()).ReclaimLimits(kLimitsKept, kLimitsMax);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::Ask({reinterpret_cast<const char*>(data), size});
  return 0;
}
