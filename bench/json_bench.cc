// The cost of a batch of 100 requests over HTTP: parse the head and the JSON, decide, write the
// results. Items are decisions. There is no socket; the clock is stopped, but each command reads
// the real stopwatch once.
#include <cstddef>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/iterations.h"
#include "bench/stopped_clock.h"
#include "core/base/check.h"
#include "core/limiter/limiter.h"
#include "server/config/options.h"
#include "server/http/http_services.h"
#include "server/http/http_session.h"
#include "server/session/worker.h"

namespace weir {
namespace {

constexpr std::size_t kRequests = 100;
constexpr std::size_t kBatches = 1 << 13;

// A batch whose keys no other batch has.
std::string Batch(std::size_t batch) {
  std::string body = R"({"requests":[)";
  for (std::size_t i = 0; i < kRequests; ++i) {
    body += std::string(i == 0 ? "" : ",") + R"({"key":"user:)" +
            std::to_string(batch * kRequests + i) + R"(","limits":["1M/s"]})";
  }
  body += "]}";
  return "POST /v1/batch HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

void BM_JsonBatch(benchmark::State& state) {
  const StoppedClock clock;
  Limiter limiter({.secret = RandomHashSecret()});
  Services services(DefaultOptions(), clock, limiter);
  Worker worker(services);
  HttpServices http;
  HttpSession session(
      worker, services.clients.Add("bench", "bench", 0, clock.HostNow(), Face::kHttp), http);
  std::vector<std::string> batches;
  for (std::size_t i = 0; i < kBatches; ++i) batches.push_back(Batch(i));
  std::string response;
  std::size_t next = 0;
  for (auto _ : state) {
    response.clear();
    benchmark::DoNotOptimize(session.Execute(batches[next], response));
    next = (next * 5 + 1) & (kBatches - 1);
  }
  WEIR_CHECK(response.starts_with("HTTP/1.1 200 "));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRequests));
}

BENCHMARK(BM_JsonBatch)->Apply(Iterations);

}  // namespace
}  // namespace weir
