// Goal: a look-up that takes long keeps no one waiting, and one that cannot begin is an error.
// Method: a getaddrinfo that waits (waiting_names.h), and a process without threads.
#include "server/net/host_look_up.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/server/scarcity.h"
#include "tests/server/waiting_names.h"

namespace weir {
namespace {

struct Answer {
  std::error_code error;
  std::vector<std::string> addresses;
};

class HostLookUpTest : public testing::Test {
 protected:
  std::unique_ptr<HostLookUp> Begin(const std::string& host, std::optional<Answer>& answer) {
    return std::make_unique<HostLookUp>(
        host, context_,
        [&answer](std::error_code error, const std::vector<asio::ip::address>& found) {
          ASSERT_FALSE(answer) << "a second answer";
          answer = {error, {}};
          for (const asio::ip::address& address : found) {
            answer->addresses.push_back(address.to_string());
          }
        });
  }
  Answer Await(const std::string& host) {
    std::optional<Answer> answer;
    const auto look_up = Begin(host, answer);
    EXPECT_FALSE(answer) << "an answer within the call";
    RunUntil(answer);
    return *answer;
  }
  // Whether the look-up could not begin. A thread of an earlier test may not have ended yet.
  bool HasFailed(std::optional<Answer>& answer) {
    context_.restart();
    context_.poll();
    return std::exchange(answer, std::nullopt).has_value();
  }
  void RunUntil(const std::optional<Answer>& answer) {
    const auto work = asio::make_work_guard(context_);
    context_.restart();
    while (!answer) context_.run_one();
  }

  asio::io_context context_;
};

TEST_F(HostLookUpTest, ANameHasItsAddresses) {
  const Answer answer = Await("localhost");
  EXPECT_FALSE(answer.error) << answer.error.message();
  EXPECT_FALSE(answer.addresses.empty());
}

TEST_F(HostLookUpTest, AnAddressNeedsNothing) {
  const NoThreads none;
  EXPECT_EQ(Await("127.0.0.1").addresses, std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(Await("::1").addresses, std::vector<std::string>{"::1"});
}

TEST_F(HostLookUpTest, WithoutAThreadItFails) {
  const NoThreads none;
  EXPECT_EQ(Await("localhost").error, std::errc::resource_unavailable_try_again);
}

TEST_F(HostLookUpTest, WithoutADescriptorItFailsOrSucceeds) {
  const NoDescriptors none;
  const Answer answer = Await("name.invalid");
  EXPECT_TRUE(answer.error);
}

TEST_F(HostLookUpTest, ALateAnswerIsDropped) {
  std::optional<Answer> answer;
  {
    WaitingNames names;
    Begin(names.name(), answer).reset();
    names.AwaitLookUps(1);
  }
  EXPECT_EQ(Await("127.0.0.1").addresses.size(), 1U);
  EXPECT_FALSE(answer);
}

TEST_F(HostLookUpTest, SoManyAtATimeAndOneMoreFails) {
  WaitingNames names;
  std::vector<std::optional<Answer>> answers(kHostLookUpsMax);
  std::vector<std::unique_ptr<HostLookUp>> look_ups;
  for (std::optional<Answer>& answer : answers) {
    look_ups.push_back(Begin(names.name(), answer));
    while (HasFailed(answer)) look_ups.back() = Begin(names.name(), answer);
  }
  names.AwaitLookUps(kHostLookUpsMax);
  EXPECT_EQ(Await("localhost").error, std::errc::resource_unavailable_try_again);
  EXPECT_FALSE(Await("127.0.0.1").error);
  names.Release();
  for (std::optional<Answer>& answer : answers) {
    RunUntil(answer);
    EXPECT_TRUE(answer->error);
  }
}

}  // namespace
}  // namespace weir
