// GET /api/events: the events of the server.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/words/number_word.h"
#include "protocol/json_writer.h"
#include "server/access/user.h"
#include "server/commands/command_table.h"
#include "server/health/health_watch.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/page/api_parameters.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 1> kRight = {"INFO"};
// Events that name a user have the words of a command, as the slow log has.
constexpr std::array<std::string_view, 2> kCommandsRight = {"SLOWLOG", "GET"};
constexpr std::int64_t kLatestMs = std::int64_t{1} << 53;  // what JSON's readers keep exactly

std::string EventsJson(const std::vector<ServerEvent>& events) {
  std::string text;
  JsonWriter json(text);
  json.Object().Array("events");
  for (const ServerEvent& event : events) {
    json.Object()
        .Field("time_ms", event.time_ms)
        .Field("kind", WordOf(event.kind))
        .Field("who", event.who)
        .Field("text", event.text)
        .EndObject();
  }
  json.EndArray().EndObject();
  return text;
}

}  // namespace

void ApiEvents(HttpExchange& exchange) {
  if (!exchange.MayRun(kRight)) return;
  std::optional<std::string> from;
  if (!ReadApiParameters(exchange, {{"from", from}})) return;
  const absl::StatusOr<std::int64_t> first = ReadNumber("from", from.value_or("0"), 0, kLatestMs);
  if (!first.ok()) return exchange.Fail(400, absl::StrCat("ERR ", first.status().message()));
  exchange.session().work().Charge(kWorkPerTurn);
  const HealthWatch* const watch = exchange.services().health_watch;
  std::vector<ServerEvent> events;
  if (watch) events = watch->events().Since(*first);
  const CommandSpec& slow_log = *FindRequested(kCommandsRight);
  if (!exchange.session().client().user()->MayRun(slow_log)) {
    std::erase_if(events, [](const ServerEvent& event) { return !event.who.empty(); });
  }
  exchange.Answer(200, kJson, EventsJson(events));
}

}  // namespace weir
