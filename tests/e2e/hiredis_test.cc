// The C client library, as Debian has it: what any client in C or above hiredis does.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <hiredis/hiredis.h>

#include "tests/support/server_process.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using testing::ElementsAre;

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct FreeReply {
  void operator()(void* reply) const { freeReplyObject(reply); }
};
using Context = std::unique_ptr<redisContext, FreeContext>;
using Reply = std::unique_ptr<redisReply, FreeReply>;

Context Connect(const ServerProcess& server) {
  const timeval deadline{.tv_sec = kChildDeadline.count() / 1000, .tv_usec = 0};
  Context context(redisConnectWithTimeout("127.0.0.1", server.port(), deadline));
  EXPECT_EQ(context->err, 0) << context->errstr;
  redisSetTimeout(context.get(), deadline);
  return context;
}

template <typename... Arguments>
Reply Command(const Context& context, const char* format, Arguments... arguments) {
  Reply reply(static_cast<redisReply*>(redisCommand(context.get(), format, arguments...)));
  EXPECT_NE(reply, nullptr) << context->errstr;
  return reply;
}

Reply NextReply(const Context& context) {
  void* reply = nullptr;
  EXPECT_EQ(redisGetReply(context.get(), &reply), REDIS_OK) << context->errstr;
  return Reply(static_cast<redisReply*>(reply));
}

std::string_view Text(const Reply& reply) { return {reply->str, reply->len}; }

// The integers of an array.
std::vector<std::int64_t> Numbers(const Reply& reply) {
  if (!reply) return {};
  EXPECT_EQ(reply->type, REDIS_REPLY_ARRAY);
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < reply->elements; ++i) {
    EXPECT_EQ(reply->element[i]->type, REDIS_REPLY_INTEGER);
    numbers.push_back(reply->element[i]->integer);
  }
  return numbers;
}

TEST(HiredisTest, ADecisionIsAnArrayOfIntegers) {
  ServerProcess server;
  const Context context = Connect(server);
  EXPECT_THAT(Numbers(Command(context, "RL.ALLOW user:%d 10/s 1000/h", 42)),
              ElementsAre(1, 9, 0, 3600, 0));
  EXPECT_THAT(Numbers(Command(context, "RL.PEEK user:7 10/s COST 11")),
              ElementsAre(0, 10, -1, 0, 0));
  const Reply pong = Command(context, "PING");
  EXPECT_EQ(pong->type, REDIS_REPLY_STATUS);
  EXPECT_EQ(Text(pong), "PONG");
  EXPECT_EQ(Command(context, "CLIENT GETNAME")->type, REDIS_REPLY_NIL);
  EXPECT_EQ(Command(context, "EXISTS user:42")->integer, 1);
}

// Goal: a key is any bytes, and all of them. Method: keys of which each is a beginning of the next,
// with the bytes that text protocols and C strings end at.
TEST(HiredisTest, KeysAreBinary) {
  ServerProcess server;
  const Context context = Connect(server);
  const std::string bytes("a\0\r\n$1\r\n\xff\0", 10);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const Reply first = Command(context, "RL.ALLOW %b 2/3285d", bytes.data(), size);
    EXPECT_EQ(first->element[1]->integer, 1) << size;
  }
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const Reply second = Command(context, "RL.ALLOW %b 2/3285d", bytes.data(), size);
    EXPECT_EQ(second->element[1]->integer, 0) << size;
  }
  const Reply echo = Command(context, "ECHO %b", bytes.data(), bytes.size());
  EXPECT_EQ(Text(echo), bytes);
}

TEST(HiredisTest, ErrorsAreRepliesAndTheConnectionStays) {
  ServerProcess server;
  const Context context = Connect(server);
  const Reply limit = Command(context, "RL.ALLOW k 10/x");
  EXPECT_EQ(limit->type, REDIS_REPLY_ERROR);
  EXPECT_EQ(Text(limit), "ERR invalid limit '10/x': unknown unit 'x' (us, ms, s, m, h, d, w)");
  const Reply unknown = Command(context, "FOO %s", "bar baz");
  EXPECT_EQ(unknown->type, REDIS_REPLY_ERROR);
  EXPECT_EQ(Text(unknown), "ERR unknown command 'FOO', with args beginning with: 'bar baz' ");
  EXPECT_THAT(Numbers(Command(context, "RL.PEEK k 10/s")), ElementsAre(1, 9, 0, 100, 0));
}

TEST(HiredisTest, APipelineIsAnsweredInOrder) {
  ServerProcess server;
  const Context context = Connect(server);
  const std::int64_t count = Scaled(20'000);
  const std::string limit = std::to_string(count) + "/3285d";
  for (std::int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(redisAppendCommand(context.get(), "RL.ALLOW k %s", limit.c_str()), REDIS_OK);
    if (i % 10 == 0) redisAppendCommand(context.get(), "ECHO %lld", static_cast<long long>(i));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const Reply decision = NextReply(context);
    ASSERT_NE(decision, nullptr);
    ASSERT_EQ(decision->element[1]->integer, count - 1 - i);
    if (i % 10 != 0) continue;
    ASSERT_EQ(Text(NextReply(context)), std::to_string(i));
  }
  EXPECT_THAT(Numbers(Command(context, "RL.PEEK k %s", limit.c_str())),
              ElementsAre(0, 0, testing::Gt(0), testing::Gt(0), 0));
}

TEST(HiredisTest, LimitsAreNestedArrays) {
  ServerProcess server;
  const Context context = Connect(server);
  const Reply reply = Command(context, "RL.ALLOW a 10/s AND b 100/m,name=mine COST 7 WITHLIMITS");
  ASSERT_EQ(reply->elements, 6U);
  const redisReply* limits = reply->element[5];
  ASSERT_EQ(limits->elements, 2U);
  EXPECT_STREQ(limits->element[0]->element[0]->str, "10/s");
  EXPECT_STREQ(limits->element[1]->element[0]->str, "mine");
  EXPECT_EQ(limits->element[1]->element[3]->integer, 93);
}

// Goal: a connection that the server has ended is had again by redisReconnect, and nothing of the
// old one is left.
TEST(HiredisTest, AConnectionIsHadAgain) {
  ServerProcess server;
  const Context context = Connect(server);
  const std::int64_t first = Command(context, "CLIENT ID")->integer;
  EXPECT_EQ(Text(Command(context, "CLIENT SETNAME mine")), "OK");
  EXPECT_EQ(Text(Command(context, "QUIT")), "OK");
  EXPECT_EQ(redisCommand(context.get(), "PING"), nullptr);
  EXPECT_EQ(context->err, REDIS_ERR_EOF) << context->errstr;
  ASSERT_EQ(redisReconnect(context.get()), REDIS_OK) << context->errstr;
  EXPECT_EQ(Command(context, "CLIENT GETNAME")->type, REDIS_REPLY_NIL);
  EXPECT_GT(Command(context, "CLIENT ID")->integer, first);
}

TEST(HiredisTest, AProtocolErrorIsTold) {
  ServerProcess server;
  const Context context = Connect(server);
  constexpr std::string_view kBroken = "*1\r\n$blabla\r\n";
  redisAppendFormattedCommand(context.get(), kBroken.data(), kBroken.size());
  const Reply error = NextReply(context);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(Text(error), "ERR Protocol error: invalid bulk length");
  void* after = nullptr;
  EXPECT_EQ(redisGetReply(context.get(), &after), REDIS_ERR);
}

TEST(HiredisTest, TheServerEndsWhileClientsAreConnected) {
  ServerProcess server;
  const Context context = Connect(server);
  EXPECT_EQ(Text(Command(context, "PING")), "PONG");
  EXPECT_EQ(server.Stop(), 0);
  EXPECT_EQ(redisCommand(context.get(), "PING"), nullptr);
}

}  // namespace
}  // namespace weir
