#include "server/os/crash_report.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>

#include <cxxabi.h>
#include <execinfo.h>
#include <pthread.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEIR_HAS_SANITIZER 1
#endif
#endif

namespace weir {
namespace {

#ifdef WEIR_HAS_SANITIZER
constexpr bool kHasSanitizer = true;  // It has handlers and stacks of its own.
#else
constexpr bool kHasSanitizer = false;
#endif

// The signals that end a process which does not handle them. SIGHUP, SIGINT and SIGTERM are read
// (signals.h), and SIGPIPE and SIGXFSZ are ignored.
struct FatalSignal {
  int number;
  std::string_view name;
  enum class Cause : std::uint8_t {
    kFault,    // of an instruction, which faults again if the process continues
    kProgram,  // an instruction or a call, which is over
    kSender,   // another process, or the kernel
  } cause;
};
using Cause = FatalSignal::Cause;
constexpr auto kFatal = std::to_array<FatalSignal>({
    {SIGSEGV, "SIGSEGV", Cause::kFault},
    {SIGBUS, "SIGBUS", Cause::kFault},
    {SIGFPE, "SIGFPE", Cause::kFault},
    {SIGILL, "SIGILL", Cause::kFault},
    {SIGABRT, "SIGABRT", Cause::kProgram},
    {SIGTRAP, "SIGTRAP", Cause::kProgram},
    {SIGSYS, "SIGSYS", Cause::kProgram},
    {SIGALRM, "SIGALRM", Cause::kSender},
    {SIGINT, "SIGINT", Cause::kSender},  // once it is no longer read: ReportDeathBy
    {SIGIO, "SIGIO", Cause::kSender},
    {SIGPROF, "SIGPROF", Cause::kSender},
    {SIGPWR, "SIGPWR", Cause::kSender},
    {SIGQUIT, "SIGQUIT", Cause::kSender},
    {SIGSTKFLT, "SIGSTKFLT", Cause::kSender},
    {SIGUSR1, "SIGUSR1", Cause::kSender},
    {SIGUSR2, "SIGUSR2", Cause::kSender},
    {SIGVTALRM, "SIGVTALRM", Cause::kSender},
    {SIGXCPU, "SIGXCPU", Cause::kSender},
});

// The signal's row; one of real time, which has none, has a row without a name.
FatalSignal RowOf(int signal) {
  for (const FatalSignal& row : kFatal) {
    if (row.number == signal) return row;
  }
  return {signal, {}, Cause::kSender};
}

// SIGALRM ends a report that hangs, as when the fault was in the loader, or when standard error is
// a full pipe.
constexpr unsigned kReportSecondsMax = 10;
constexpr std::size_t kStackBytes = std::size_t{64} << 10;
constexpr int kCallsMax = 64;

std::string_view reported_version;
std::atomic<pid_t> reporting_thread{0};  // the thread that reports; 0: none

// A line that is made and written without the heap. What does not fit is left out.
class ReportLine {
 public:
  ReportLine& operator<<(std::string_view text) {
    for (const char c : text) Put(c >= ' ' && c <= '~' ? c : '?');
    return *this;
  }
  ReportLine& operator<<(std::uint64_t number) { return Number(number, 10); }
  ReportLine& Hex(std::uint64_t number) {
    *this << "0x";
    return Number(number, 16);
  }
  void Write() {
    bytes_[size_++] = '\n';
    for (std::size_t begin = 0; begin < size_;) {
      const ssize_t count = write(STDERR_FILENO, bytes_.data() + begin, size_ - begin);
      if (count <= 0) return;
      begin += static_cast<std::size_t>(count);
    }
  }

 private:
  void Put(char c) {
    if (size_ + 1 < bytes_.size()) bytes_[size_++] = c;
  }
  ReportLine& Number(std::uint64_t number, std::uint64_t base) {
    std::array<char, 20> digits;
    std::size_t begin = digits.size();
    do {
      digits[--begin] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    return *this << std::string_view(digits.data() + begin, digits.size() - begin);
  }

  std::array<char, 1024> bytes_;
  std::size_t size_ = 0;
};

void AddThread(ReportLine& line) {
  std::array<char, 16> name{};
  prctl(PR_GET_NAME, name.data());
  line << "thread " << name.data() << " (" << static_cast<std::uint64_t>(gettid()) << ")";
}

// A process outside of the container has the number 0 here.
void AddSender(ReportLine& line, const siginfo_t& info) {
  if (info.si_code > 0) {
    line << " from the kernel,";
  } else if (info.si_code != SI_USER && info.si_code != SI_QUEUE && info.si_code != SI_TKILL) {
    line << " from a timer or an event,";
  } else if (info.si_pid == 0) {
    line << " from a process outside of this container,";
  } else if (info.si_pid != getpid()) {
    line << " from process " << static_cast<std::uint64_t>(info.si_pid) << ", user "
         << static_cast<std::uint64_t>(info.si_uid) << ",";
  }
}

void WriteReport(const FatalSignal& signal, const siginfo_t& info) {
  ReportLine line;
  if (signal.name.empty()) {
    line << "signal " << static_cast<std::uint64_t>(signal.number);
  } else {
    line << signal.name;
  }
  if (info.si_code > 0 && signal.cause != Cause::kSender) {
    line << " at address ";
    line.Hex(reinterpret_cast<std::uintptr_t>(info.si_addr));
  } else {
    AddSender(line, info);
  }
  line << " in ";
  AddThread(line);
  line << ", weir " << reported_version;
  line.Write();
  std::array<void*, kCallsMax> calls;
  backtrace_symbols_fd(calls.data(), backtrace(calls.data(), kCallsMax), STDERR_FILENO);
}

// Lets SIGALRM end the process, whichever thread gets it.
void LetTheAlarmEndIt() {
  std::signal(SIGALRM, SIG_DFL);
  sigset_t alarm_alone;
  sigemptyset(&alarm_alone);
  sigaddset(&alarm_alone, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarm_alone, nullptr);
}

// After it returns, a fault happens again, now with the default action: the core has the registers
// of the fault. Any other signal is sent again; it is blocked until the return.
void OnFatalSignal(int signal, siginfo_t* info, void* /*context*/) {
  pid_t reporting = 0;
  const pid_t self = gettid();
  if (reporting_thread.compare_exchange_strong(reporting, self)) {
    LetTheAlarmEndIt();
    alarm(kReportSecondsMax);
    WriteReport(RowOf(signal), *info);
  } else if (reporting != self) {
    for (;;) pause();  // The first thread ends the process when it has reported.
  }
  std::signal(signal, SIG_DFL);
  const bool recurs = info->si_code > 0 && RowOf(signal).cause == Cause::kFault;
  if (!recurs) raise(signal);
}

struct sigaction Reporting() {
  struct sigaction action {};
  action.sa_sigaction = OnFatalSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const FatalSignal& fatal : kFatal) sigaddset(&action.sa_mask, fatal.number);
  return action;
}

// A signal that the process was started to ignore, as SIGQUIT of a background job of a shell, stays
// ignored.
void ReportUnlessIgnored(int signal) {
  struct sigaction before {};
  if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  ReportDeathBy(signal);
}

// Adds the name of `type`, or its mangled name if there is no memory.
void AddType(ReportLine& line, const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  line << (name ? name.get() : type.name());
}

[[noreturn]] void OnTerminate() {
  ReportLine line;
  AddThread(line);
  if (const std::exception_ptr thrown = std::current_exception()) {
    line << " has thrown ";
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      AddType(line, typeid(error));
      line << ": " << error.what();
    } catch (...) {
      line << "what is no std::exception";
    }
  } else {
    line << " has called std::terminate";
  }
  line.Write();
  std::abort();
}

// The alternate stack of a thread, above a page that stops every write.
class ReportStack {
 public:
  ReportStack() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = kStackBytes + page;
    base_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base_ == MAP_FAILED) return;  // The report is made on the thread's own stack.
    void* const stack = static_cast<char*>(base_) + page;
    if (mprotect(stack, kStackBytes, PROT_READ | PROT_WRITE) != 0) return;
    stack_t alternate{};
    alternate.ss_sp = stack;
    alternate.ss_size = kStackBytes;
    sigaltstack(&alternate, nullptr);
  }
  ~ReportStack() {
    if (base_ == MAP_FAILED) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    munmap(base_, bytes_);
  }
  ReportStack(const ReportStack&) = delete;
  ReportStack& operator=(const ReportStack&) = delete;

 private:
  void* base_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

void UseReportStack() {
  if constexpr (!kHasSanitizer) {
    thread_local const ReportStack kStack;
  }
}

}  // namespace

void ReportCrashes(std::string_view version) {
  reported_version = version;
  std::set_terminate(OnTerminate);
  if (kHasSanitizer) return;
  // The first call loads the unwinder, which uses the heap.
  std::array<void*, 1> call;
  backtrace(call.data(), 1);
  UseReportStack();
  for (const FatalSignal& fatal : kFatal) {
    if (fatal.cause == Cause::kSender) {
      ReportUnlessIgnored(fatal.number);
    } else {
      ReportDeathBy(fatal.number);
    }
  }
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) ReportUnlessIgnored(signal);
}

void ReportDeathBy(int signal) {
  if (kHasSanitizer) {
    std::signal(signal, SIG_DFL);
  } else {
    const struct sigaction action = Reporting();
    sigaction(signal, &action, nullptr);
  }
}

void BeginThread(const char* name) {
  pthread_setname_np(pthread_self(), name);
  UseReportStack();
}

}  // namespace weir
