// Goal: every signal is read, in every state of the reader, and only SIGINT gets its default action
// back. Method: signals to this thread, which blocks them as the server's threads do.
#include "server/os/signals.h"

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include <asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "tests/server/os/sanitizers.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class SignalsTest : public testing::Test {
 protected:
  SignalsTest() {
    pthread_sigmask(SIG_SETMASK, nullptr, &before_);
    BlockSignals();
  }
  ~SignalsTest() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  // Reads signals; returns when the reader is closed.
  void ReadUntilClosedAfter(SignalReader& reader, std::size_t count) {
    const absl::Status reading = reader.Read([this, &reader, count](const ReceivedSignal& signal) {
      read_.push_back(signal.number);
      sender_ = signal.sender;
      if (read_.size() == count) reader.Close();
    });
    ASSERT_TRUE(reading.ok()) << reading;
    context_.restart();
    context_.run();
  }

  asio::io_context context_;
  SignalReader reader_{context_};
  std::vector<int> read_;
  std::string sender_;  // of the last one

 private:
  sigset_t before_{};
};

TEST_F(SignalsTest, OneAfterTheOtherIsRead) {
  ASSERT_TRUE(
      reader_.Read([this](const ReceivedSignal& signal) { read_.push_back(signal.number); }).ok());
  for (const int signal : {SIGHUP, SIGHUP, SIGTERM, SIGINT, SIGHUP}) {
    raise(signal);
    context_.run_one();
  }
  EXPECT_THAT(read_, ElementsAre(SIGHUP, SIGHUP, SIGTERM, SIGINT, SIGHUP));
}

TEST_F(SignalsTest, SignalsBeforeTheFirstReadAreRead) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) raise(signal);
  ReadUntilClosedAfter(reader_, 3);
  EXPECT_THAT(read_, UnorderedElementsAre(SIGTERM, SIGHUP, SIGINT));
}

TEST_F(SignalsTest, TheSenderIsNamed) {
  for (const int signal : {SIGHUP, SIGTERM, SIGINT}) {
    SignalReader reader(context_);
    read_.clear();
    kill(getpid(), signal);
    ReadUntilClosedAfter(reader, 1);
    EXPECT_EQ(sender_,
              "process " + std::to_string(getpid()) + ", user " + std::to_string(getuid()));
    BlockSignals();  // SIGINT, too, which Close() has unblocked
  }
}

TEST_F(SignalsTest, NothingIsReadAfterItIsClosed) {
  raise(SIGHUP);
  ReadUntilClosedAfter(reader_, 1);
  raise(SIGTERM);
  context_.restart();
  context_.poll();
  EXPECT_THAT(read_, ElementsAre(SIGHUP));
  // A leftover signal would end this process as soon as it is unblocked.
  SignalReader rest(context_);
  ReadUntilClosedAfter(rest, 2);
  EXPECT_THAT(read_, ElementsAre(SIGHUP, SIGTERM));
}

TEST_F(SignalsTest, SignalsPendingAtTheCloseAreForgotten) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) raise(signal);
  ReadUntilClosedAfter(reader_, 1);  // It would end this process if SIGINT were still there.
  EXPECT_EQ(read_.size(), 1U);
}

TEST_F(SignalsTest, InterruptEndsTheProcessOnceItIsClosed) {
  const auto interrupt = [this] {
    std::signal(SIGINT, SIG_IGN);  // as a shell's background jobs have it
    raise(SIGHUP);
    ReadUntilClosedAfter(reader_, 1);
    for (const int signal : {SIGTERM, SIGHUP, SIGINT}) raise(signal);
  };
  EXPECT_EXIT(interrupt(), testing::KilledBySignal(SIGINT),
              kHasSanitizer ? "" : "^SIGINT in thread ");
}

TEST_F(SignalsTest, AReaderThatHasReadNothingChangesNothing) {
  reader_.Close();
  raise(SIGINT);  // It is blocked as before.
  ReadUntilClosedAfter(reader_, 1);
  EXPECT_THAT(read_, ElementsAre(SIGINT));
}

}  // namespace
}  // namespace weir
