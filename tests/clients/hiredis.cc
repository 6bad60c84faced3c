// hiredis, for programs in C and C++. matrix.py says what these programs are told and print.
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
  for (int i = 0; i < 3; ++i) redisAppendCommand(weir.get(), "RL.ALLOW pipeline 10/h");
  for (const long long wanted : {9, 8, 7}) {
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
  return before > 0 && Id(weir) == before ? "" : "not the same connection";
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

struct Step {
  const char* name;
  std::string (*take)(Context& weir);
};

constexpr Step kSteps[] = {
    {"connect", TakeConnect},   {"allow", TakeAllow},
    {"pipeline", TakePipeline}, {"transaction", TakeTransaction},
    {"error", TakeError},       {"reconnect", TakeReconnect},
    {"once", TakeOnce},
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
