// Goal: systemd knows at any time what the server does, and learns of threads that hang. Method: a
// socket of the test's own in the place of systemd's, a clock that the test moves, and a report for
// each move; then a whole server.
#include "server/service_reporter.h"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limiter/limiter.h"
#include "tests/random/generators.h"
#include "tests/server/loopback.h"
#include "tests/server/net/io_thread_steps.h"
#include "tests/server/notify_socket.h"
#include "tests/support/fake_clock.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kIdle = "STATUS=0 decisions a second, 0 clients, 0 buckets";

class ServiceReporterTest : public testing::Test {
 protected:
  explicit ServiceReporterTest(const std::string& watchdog_usec = "") : socket_(watchdog_usec) {
    for (int i = 0; i < 2; ++i) threads_.push_back(std::make_unique<IoThread>(services_));
  }
  ~ServiceReporterTest() override {
    for (const std::unique_ptr<IoThread>& thread : threads_) thread->Stop();
    threads_.clear();
  }

  void StartThread(std::size_t index) {
    threads_[index]->Start("io", [] {});
  }

  // Returns the message of a report after this time.
  std::string ReportAfter(Nanos span) {
    clock_.Advance(span);
    reporter_.Report(clock_.HostNow());
    return socket_.Next();
  }

  NotifySocket socket_;
  FakeClock clock_;
  Limiter limiter_{{.secret = RandomHashSecret()}};
  Services services_{LoopbackOptions(), clock_, limiter_};
  asio::io_context context_;
  std::vector<std::unique_ptr<IoThread>> threads_;
  ServiceReporter reporter_{context_, ServiceManager::FromEnvironment(), services_, threads_};
};

TEST_F(ServiceReporterTest, SaysEachPhaseOnce) {
  reporter_.Start();
  EXPECT_EQ(socket_.Next(), "STATUS=Loading the state: 0 buckets\nEXTEND_TIMEOUT_USEC=60000000");
  reporter_.Ready();
  EXPECT_EQ(socket_.Next(), "READY=1");
  EXPECT_EQ(ReportAfter(seconds{1}), kIdle);
  reporter_.Reloading();
  EXPECT_EQ(socket_.Next(), "RELOADING=1");
  reporter_.Reloaded();
  EXPECT_EQ(socket_.Next(), "READY=1");
  reporter_.Stopping();
  EXPECT_EQ(socket_.Next(), "STOPPING=1\nSTATUS=Answering the last requests and saving");
  EXPECT_EQ(socket_.Next(), "");
}

// systemd would take the READY=1 at the end of such a reload for that of the start.
TEST_F(ServiceReporterTest, AReloadWhileLoadingOrStoppingIsNotReported) {
  reporter_.Start();
  EXPECT_THAT(socket_.Next(), HasSubstr("Loading"));
  reporter_.Reloading();
  reporter_.Reloaded();
  reporter_.Stopping();
  EXPECT_THAT(socket_.Next(), HasSubstr("STOPPING=1"));
  reporter_.Reloading();
  reporter_.Reloaded();
  EXPECT_EQ(socket_.Next(), "");
}

TEST_F(ServiceReporterTest, LoadingShowsTheBucketsSoFar) {
  reporter_.Start();
  EXPECT_THAT(socket_.Next(), HasSubstr("Loading the state: 0 buckets\n"));
  const Limit limit = LimitOf("1/h");
  ASSERT_TRUE(
      limiter_.Decide({{.key = "k", .limit = &limit, .hash = limiter_.Hash("k")}}, clock_.Now())
          .ok());
  EXPECT_THAT(ReportAfter(seconds{1}), HasSubstr("Loading the state: 1 buckets\n"));
}

TEST_F(ServiceReporterTest, TheRateIsThatSinceTheLastReport) {
  reporter_.Start();
  reporter_.Ready();
  while (!socket_.Next().empty()) {
  }
  RequestCounters& first = services_.workers[0]->request_counters;
  RequestCounters& second = services_.workers[1]->request_counters;
  first.allowed.Add(700);
  second.denied.Add(300);
  EXPECT_THAT(ReportAfter(seconds{1}), HasSubstr("STATUS=1000 decisions a second,"));
  EXPECT_THAT(ReportAfter(seconds{1}), HasSubstr("STATUS=0 decisions a second,"));
  second.allowed.Add(1'000);
  EXPECT_THAT(ReportAfter(seconds{10}), HasSubstr("STATUS=100 decisions a second,"));
  first.denied.Add(5);
  EXPECT_THAT(ReportAfter(milliseconds{500}), HasSubstr("STATUS=10 decisions a second,"));
  first.denied.Add(7);
  EXPECT_THAT(ReportAfter(Nanos{0}), HasSubstr("STATUS=0 decisions a second,"));
  EXPECT_THAT(ReportAfter(seconds{1}), HasSubstr("STATUS=7 decisions a second,"));
}

TEST_F(ServiceReporterTest, WithoutAWatchdogNoneIsFed) {
  for (std::size_t i = 0; i < threads_.size(); ++i) StartThread(i);
  reporter_.Start();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(ReportAfter(seconds{1}), Not(HasSubstr("WATCHDOG")));
    for (const std::unique_ptr<IoThread>& thread : threads_) Settle(*thread);
  }
}

class WatchdogTest : public ServiceReporterTest {
 protected:
  WatchdogTest() : ServiceReporterTest("30000000") { reporter_.Ready(); }

  void SetUp() override { EXPECT_EQ(socket_.Next(), "READY=1"); }
};

TEST_F(WatchdogTest, IsFedWhileAllThreadsRun) {
  for (std::size_t i = 0; i < threads_.size(); ++i) StartThread(i);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ReportAfter(seconds{1}), std::string(kIdle) + "\nWATCHDOG=1");
    for (const std::unique_ptr<IoThread>& thread : threads_) Settle(*thread);
  }
}

TEST_F(WatchdogTest, IsNotFedWhileOneThreadHangs) {
  for (std::size_t i = 0; i < threads_.size(); ++i) StartThread(i);
  std::promise<void> resume;
  std::promise<void> hangs;
  asio::post(threads_[1]->context(), [&] {
    hangs.set_value();
    resume.get_future().wait();
  });
  hangs.get_future().wait();
  EXPECT_THAT(ReportAfter(seconds{1}), HasSubstr("WATCHDOG=1"));  // nothing was asked of it before
  for (int i = 0; i < 3; ++i) {
    Settle(*threads_[0]);
    EXPECT_EQ(ReportAfter(seconds{1}), kIdle);
  }
  resume.set_value();
  Settle(*threads_[1]);
  EXPECT_THAT(ReportAfter(seconds{1}), HasSubstr("WATCHDOG=1"));
}

// The timer is that of a real server here. Its watchdog is so short that the test need not wait.
TEST(ServiceTest, AServerReportsFromStartToStop) {
  const NotifySocket socket("20000");
  {
    LoopbackServer server;
    EXPECT_THAT(socket.Await(), HasSubstr("Loading the state"));
    EXPECT_EQ(socket.Await(), "READY=1");
    for (int i = 0; i < 3; ++i) socket.AwaitAssignment("WATCHDOG=1");
    server->RequestShutdown();
    socket.AwaitAssignment("STOPPING=1");
    server.AwaitEnd();
  }
  EXPECT_EQ(socket.Next(), "");
}

}  // namespace
}  // namespace weir
