// Goal: a death leaves its signal, thread and calls on standard error, and its status is the
// signal. Method: a child for each way to die, and for each signal that can be caught. Under a
// sanitizer, which has reports of its own, only exceptions.
#include "server/os/crash_report.h"

#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/check.h"
#include "tests/server/os/sanitizers.h"

namespace weir {
namespace {

using testing::KilledBySignal;

// Dies on a thread of the server.
[[noreturn]] void DieInThread(void (*how)()) {
  ReportCrashes("1.2.3");
  std::thread([how] {
    BeginThread("weir-test");
    how();
  }).join();
  std::_Exit(0);
}

void WriteToNothing() { *reinterpret_cast<volatile int*>(0x10) = 1; }

// A page that is beyond the end of its file.
void ReadBeyondAFile() {
  const int file = memfd_create("empty", 0);
  const auto* page =
      static_cast<volatile const char*>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0));
  static_cast<void>(*page);
}

void DivideByZero() {
  volatile int dividend = 7;
  volatile int divisor = 0;
  dividend = dividend / divisor;
}

void RunNoInstruction() { __builtin_trap(); }

// NOLINTNEXTLINE(misc-no-recursion)
int Overflow(volatile char* above) {
  volatile char bytes[4096];
  bytes[0] = *above;
  return bytes[0] == 1 ? 0 : Overflow(bytes) + bytes[0];
}

struct Death {
  const char* name;
  void (*how)();
  int signal;
  const char* report;
};

class CrashReportTest : public testing::TestWithParam<Death> {};

TEST_P(CrashReportTest, IsWrittenAndTheSignalEndsTheProcess) {
  if (kHasSanitizer) GTEST_SKIP() << "the sanitizer reports";
  const Death& death = GetParam();
  // The line is followed by the calls: files with addresses.
  EXPECT_EXIT(
      DieInThread(death.how), KilledBySignal(death.signal),
      std::string(death.report) + " thread weir-test \\([0-9]+\\), weir 1\\.2\\.3\n.*\\[0x");
}

INSTANTIATE_TEST_SUITE_P(
    Each, CrashReportTest,
    testing::Values(Death{"Segv", WriteToNothing, SIGSEGV, "SIGSEGV at address 0x10 in"},
                    Death{"Bus", ReadBeyondAFile, SIGBUS, "SIGBUS at address 0x[0-9a-f]+ in"},
                    Death{"Fpe", DivideByZero, SIGFPE, "SIGFPE at address 0x[0-9a-f]+ in"},
                    Death{"Ill", RunNoInstruction, SIGILL, "SIGILL at address 0x[0-9a-f]+ in"},
                    Death{"Abort", std::abort, SIGABRT, "SIGABRT in"},
                    Death{"Check", [] { WEIR_CHECK(1 > 2); }, SIGABRT,
                          "check failed: 1 > 2\nSIGABRT in"},
                    Death{"Sent", [] { raise(SIGSEGV); }, SIGSEGV, "SIGSEGV in"},
                    Death{"Overflow",
                          [] {
                            char byte = 0;
                            std::exit(Overflow(&byte));
                          },
                          SIGSEGV, "SIGSEGV at address 0x[0-9a-f]+ in"}),
    [](const auto& death) { return std::string(death.param.name); });

bool EndsAProcess(int signal) {
  for (const int other : {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD, SIGCONT, SIGURG,
                          SIGWINCH, SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) {
    if (signal == other) return false;
  }
  return signal < 32 || signal >= SIGRTMIN;  // the C library has those between
}

TEST(CrashReportOfSignalsTest, EachSignalThatEndsAProcessIsReported) {
  if (kHasSanitizer) GTEST_SKIP() << "the sanitizer reports";
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (!EndsAProcess(signal)) continue;
    const char* const name = sigabbrev_np(signal);
    const std::string word = signal == SIGIO ? "SIGIO"
                             : name          ? std::string("SIG") + name
                                             : "signal " + std::to_string(signal);
    const auto die = [signal] {
      ReportCrashes("1.2.3");
      raise(signal);
    };
    EXPECT_EXIT(die(), KilledBySignal(signal), "^" + word + " in thread .*\n.*\\[0x") << signal;
  }
}

TEST(CrashReportOfSignalsTest, TheSenderIsNamed) {
  if (kHasSanitizer) GTEST_SKIP() << "the sanitizer reports";
  const auto quit_by_a_child = [] {
    ReportCrashes("1.2.3");
    if (fork() == 0) {
      kill(getppid(), SIGQUIT);
      _exit(0);
    }
    for (;;) pause();
  };
  EXPECT_EXIT(quit_by_a_child(), KilledBySignal(SIGQUIT),
              "^SIGQUIT from process [0-9]+, user [0-9]+, in thread ");
  const auto run_for_too_long = [] {
    ReportCrashes("1.2.3");
    const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 1000}};
    setitimer(ITIMER_VIRTUAL, &soon, nullptr);
    volatile int turns = 0;
    for (;;) turns = turns + 1;
  };
  EXPECT_EXIT(run_for_too_long(), KilledBySignal(SIGVTALRM),
              "^SIGVTALRM from the kernel, in thread ");
}

TEST(CrashReportOfSignalsTest, AnIgnoredSignalStaysIgnored) {
  const auto ignore = [] {
    std::signal(SIGQUIT, SIG_IGN);  // as a shell's background jobs have it
    ReportCrashes("1.2.3");
    raise(SIGQUIT);
    std::_Exit(7);
  };
  EXPECT_EXIT(ignore(), testing::ExitedWithCode(7), "^$");
}

// A report into a full pipe.
TEST(CrashReportOfSignalsTest, AReportThatHangsIsEnded) {
  if (kHasSanitizer) GTEST_SKIP() << "the sanitizer reports";
  for (const int signal : {SIGSEGV, SIGALRM}) {
    const auto hang = [signal] {
      ReportCrashes("1.2.3");
      std::array<int, 2> ends{};
      if (pipe(ends.data()) != 0 || dup2(ends[1], STDERR_FILENO) < 0) std::_Exit(1);
      const std::string full(std::size_t{1} << 16, 'x');
      if (write(STDERR_FILENO, full.data(), full.size()) < 0) std::_Exit(1);
      // The alarm of the report comes after ten seconds; this one is sooner.
      sigevent event{};
      event.sigev_notify = SIGEV_SIGNAL;
      event.sigev_signo = SIGALRM;
      timer_t timer{};
      timer_create(CLOCK_MONOTONIC, &event, &timer);
      const itimerspec soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 200'000'000}};
      timer_settime(timer, 0, &soon, nullptr);
      raise(signal);
    };
    EXPECT_EXIT(hang(), KilledBySignal(SIGALRM), "");
  }
}

TEST(CrashReportOfExceptionsTest, TheThreadAndTheExceptionAreNamed) {
  EXPECT_EXIT(DieInThread([] { static_cast<void>(std::string().at(5)); }), KilledBySignal(SIGABRT),
              "thread weir-test \\([0-9]+\\) has thrown std::out_of_range: basic_string::at: ");
  EXPECT_EXIT(DieInThread([] { std::terminate(); }), KilledBySignal(SIGABRT),
              "has called std::terminate\n");
  if (kHasSanitizer) return;  // it refuses the allocation without an exception
  EXPECT_EXIT(DieInThread([] { std::string().reserve(std::size_t{1} << 62); }),
              KilledBySignal(SIGABRT), "has thrown std::bad_alloc: std::bad_alloc\n");
}

}  // namespace
}  // namespace weir
