#include "server/page/list_answer.h"

#include <utility>

#include "server/http/http_exchange.h"
#include "server/json/json_body.h"

namespace weir {

void WriteList(std::unique_ptr<ListAnswer> list, HttpExchange& exchange) {
  std::string& json = list->json;
  bool is_at_end = false;
  while (!is_at_end && list->shown < list->most && json.size() < kJsonResultsBytesMax) {
    if (exchange.IsTurnOver()) {
      const std::size_t bytes = json.capacity();
      return exchange.GoOnLater(
          [list = std::move(list)](HttpExchange& later) mutable {
            WriteList(std::move(list), later);
          },
          bytes);
    }
    const std::size_t begin = json.size();
    is_at_end = !list->append_next(JsonWriter(json));
    if (!is_at_end) ++list->shown;
    exchange.session().work().Charge(1 + (json.size() - begin) / kJsonBytesPerUnit);
  }
  const std::size_t more = is_at_end || list->all < list->shown ? 0 : list->all - list->shown;
  JsonWriter(json).EndArray().Field("more", more).EndObject();
  exchange.Answer(200, kJson, json);
}

}  // namespace weir
