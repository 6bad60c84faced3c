#include "server/session/worker.h"

namespace weir {

void Worker::Fail(RespWriter& reply, std::string_view error) {
  counters["total_error_replies"].Add();
  error_counters.Count(error);
  reply.Error(error);
}

}  // namespace weir
