// Drives the server with hiredis, the client for C and C++. matrix.py describes the environment and
// the output of these programs.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

// [docs]
#include <hiredis/hiredis.h>

// [/docs]

namespace {

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct FreeReply {
  void operator()(void* reply) const { freeReplyObject(reply); }
};
using Context = std::unique_ptr<redisContext, FreeContext>;
using Reply = std::unique_ptr<redisReply, FreeReply>;

// Logs in as who `role` names, WEIR or WEIR_ADMIN, where there are users.
Context Connect(const char* port_variable, const std::string& role = "WEIR") {
  const int port = std::atoi(std::getenv(port_variable));
  const timeval deadline{.tv_sec = std::atol(std::getenv("WEIR_DEADLINE")), .tv_usec = 0};
  const char* const user = std::getenv((role + "_USER").c_str());
  const char* const password = std::getenv((role + "_PASSWORD").c_str());
  // [docs]
  redisContext* weir = redisConnectWithTimeout("127.0.0.1", port, deadline);
  redisSetTimeout(weir, deadline);
  if (password != nullptr) freeReplyObject(redisCommand(weir, "AUTH %s %s", user, password));
  // [/docs]
  return Context(weir);
}

template <typename... Arguments>
Reply Command(const Context& weir, const char* format, Arguments... arguments) {
  return Reply(static_cast<redisReply*>(redisCommand(weir.get(), format, arguments...)));
}

std::string Text(const Reply& reply) {
  if (!reply) return "no reply";
  if (reply->type == REDIS_REPLY_INTEGER) return std::to_string(reply->integer);
  if (reply->str == nullptr) return "a reply of type " + std::to_string(reply->type);
  return {reply->str, reply->len};
}

// What remains, of an answer that allows; -1 of anything else.
long long RemainingOf(const redisReply* reply) {
  const bool allows = reply != nullptr && reply->type == REDIS_REPLY_ARRAY &&
                      reply->elements == 5 && reply->element[0]->integer == 1;
  return allows ? reply->element[1]->integer : -1;
}

long long Id(const Context& weir) {
  const Reply reply = Command(weir, "CLIENT ID");
  return reply && reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
}

// --- The steps: each returns what is wrong, if anything is ---------------------------------------

std::string TakeConnect(Context& weir) {
  const std::string answer = Text(Command(weir, "PING"));
  return answer == "PONG" ? "" : answer;
}

std::string TakeAllow(Context& context) {
  redisContext* const weir = context.get();
  // [docs]
  // No reply: weir->errstr says why. REDIS_REPLY_ERROR: reply->str does, as of a bad limit.
  auto* reply = static_cast<redisReply*>(redisCommand(weir, "RL.ALLOW %s 10/s 1000/h", "user:42"));
  const bool answered = reply != nullptr && reply->type == REDIS_REPLY_ARRAY;
  const bool allowed = answered && reply->element[0]->integer == 1;
  const long long retry_after_ms = answered ? reply->element[2]->integer : -1;
  freeReplyObject(reply);
  // [/docs]
  return allowed && retry_after_ms == 0 ? "" : "not allowed";
}

std::string TakePipeline(Context& weir) {
  constexpr long long kCount = 5000;
  for (int i = 0; i < kCount; ++i) {
    redisAppendCommand(weir.get(), "RL.ALLOW pipeline %lld/w", kCount);
  }
  for (long long wanted = kCount - 1; wanted >= 0; --wanted) {
    void* reply = nullptr;
    redisGetReply(weir.get(), &reply);
    const Reply owned(static_cast<redisReply*>(reply));
    if (RemainingOf(owned.get()) != wanted) return "not " + std::to_string(wanted) + " remain";
  }
  return {};
}

std::string TakeTransaction(Context& weir) {
  if (const std::string answer = Text(Command(weir, "MULTI")); answer != "OK") return answer;
  for (int i = 0; i < 2; ++i) {
    const std::string answer = Text(Command(weir, "RL.ALLOW transaction 10/h"));
    if (answer != "QUEUED") return answer;
  }
  const Reply replies = Command(weir, "EXEC");
  if (!replies || replies->type != REDIS_REPLY_ARRAY || replies->elements != 2) {
    return "not two replies but " + Text(replies);
  }
  const bool right = RemainingOf(replies->element[0]) == 9 && RemainingOf(replies->element[1]) == 8;
  return right ? "" : "not 9 and 8 remain";
}

std::string TakeError(Context& weir) {
  const long long before = Id(weir);
  const Reply reply = Command(weir, "RL.ALLOW error %s", "10/x");
  const std::string answer = Text(reply);
  if (!reply || reply->type != REDIS_REPLY_ERROR) return "no error but " + answer;
  if (!std::string_view(answer).starts_with("ERR invalid limit '10/x'")) return answer;
  if (before <= 0 || Id(weir) != before) return "not the same connection";

  const Context broken = Connect("WEIR_PORT");
  constexpr std::string_view kBroken = "*1\r\n$blabla\r\n";
  redisAppendFormattedCommand(broken.get(), kBroken.data(), kBroken.size());
  void* told = nullptr;
  redisGetReply(broken.get(), &told);
  const std::string error = Text(Reply(static_cast<redisReply*>(told)));
  if (error != "ERR Protocol error: invalid bulk length") return error;
  return redisGetReply(broken.get(), &told) == REDIS_ERR ? "" : "more after a protocol error";
}

// A context whose connection has ended is of no use any more.
std::string TakeReconnect(Context& weir) {
  const long long before = Id(weir);
  Command(Connect("WEIR_PORT", "WEIR_ADMIN"), "CLIENT KILL TYPE normal");
  if (Command(weir, "PING")) return "a reply of a killed connection";
  weir = Connect("WEIR_PORT");
  if (Id(weir) <= before) return "the same connection";
  const Reply reply = Command(weir, "RL.ALLOW reconnect 10/h");
  return RemainingOf(reply.get()) == 9 ? "" : "not 9 remain";
}

std::string TakeOnce(Context& weir) {
  const Context lossy = Connect("WEIR_LOSSY_PORT");
  if (Command(lossy, "RL.ALLOW lost 10/h")) return "a reply that was lost";
  const Reply reply = Command(weir, "RL.ALLOW lost 10/h");
  return RemainingOf(reply.get()) == 8 ? "" : "not 8 remain";
}

std::string TakeLimits(Context& weir) {
  const Reply reply = Command(weir, "RL.PEEK limits 10/s 100/m,name=mine COST 11 WITHLIMITS");
  if (!reply || reply->elements != 6 || reply->element[0]->integer != 0) return "no denial";
  const redisReply* limits = reply->element[5];
  if (limits->elements != 2) return "not two limits";
  const std::string_view name = limits->element[1]->element[0]->str;
  const bool right = name == "mine" && limits->element[0]->element[4]->integer == -1;
  return right ? "" : "not what the limits say";
}

// Keys of which each is a beginning of the next, with the bytes that text protocols and C strings
// end at.
std::string TakeBytes(Context& weir) {
  constexpr std::string_view kBytes("a\0\r\n$1\r\n\xff\0", 10);
  for (const long long wanted : {1, 0}) {
    for (std::size_t size = 0; size <= kBytes.size(); ++size) {
      const Reply reply = Command(weir, "RL.ALLOW %b 2/w", kBytes.data(), size);
      if (RemainingOf(reply.get()) != wanted) return "not " + std::to_string(wanted) + " remain";
    }
  }
  return {};
}

struct Step {
  const char* name;
  std::string (*take)(Context& weir);
};

constexpr Step kSteps[] = {
    {"connect", TakeConnect},   {"allow", TakeAllow},
    {"pipeline", TakePipeline}, {"transaction", TakeTransaction},
    {"error", TakeError},       {"reconnect", TakeReconnect},
    {"once", TakeOnce},         {"limits", TakeLimits},
    {"bytes", TakeBytes},
};

}  // namespace

int main() {
  std::printf("version %d.%d.%d\n", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
  Context weir = Connect("WEIR_PORT");
  bool failed = false;
  for (const Step& step : kSteps) {
    const std::string problem = step.take(weir);
    if (problem.empty()) {
      std::printf("ok %s\n", step.name);
    } else {
      std::printf("FAIL %s %s\n", step.name, problem.c_str());
      failed = true;
    }
    std::fflush(stdout);  // so that a crash hides no step
  }
  return failed ? 1 : 0;
}
