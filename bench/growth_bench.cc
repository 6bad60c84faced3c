// The cost of ten million buckets: memory, the longest insert, the time until the memory is given
// back, and the effect of a --max-memory that is too small for them.
//
//     growth_bench [KEYS [PART]]
//
// KEYS is 10,000,000 by default. The server is ../weir-server, seen from this program.
//
// PART is one of three; by default all are run:
//
//     insert   Inserts KEYS new keys into a Limiter, three times, each in its own process, the last
//              time with keys of 200 bytes. Reports the longest single decision, and the most
//              memory per bucket from the first million on. On a busy machine any thread is stopped
//              now and then, so a second thread spins and reports its longest pause in the same
//              run: a decision that took no longer is not the table's fault.
//     sweep    Starts the real server, sends it KEYS pipelined RL.ALLOW, reads its resident memory
//              from /proc, and polls until the buckets, full again after kPeriod, are swept and the
//              memory is given back.
//     flood    Sends KEYS keys to servers with --max-memory, without and with a data directory,
//     that
//              hold a thousand exhausted buckets. Reports the most resident memory, and how many of
//              the thousand are still denied.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/base/check.h"
#include "core/limiter/limiter.h"
#include "core/words/limit_grammar.h"
#include "server/os/memory.h"
#include "tests/support/resp_value.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;
using Millis = duration<double, std::milli>;

constexpr int kRuns = 3;
// Memory is measured at kSampledFrom buckets, then every kSampledEvery buckets, and at the end.
constexpr std::int64_t kSampledFrom = 1'000'000;
constexpr std::int64_t kSampledEvery = 100'000;
constexpr std::size_t kLongKeyBytes = 200;
constexpr std::chrono::seconds kPeriod{60};
constexpr int kExhausted = 1'000;
constexpr std::int64_t kMaxMemoryMegabytes = 256;

std::int64_t ResidentBytes(pid_t process) {
  std::ifstream statm("/proc/" + std::to_string(process) + "/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Reads the clock in a loop while `running`. Returns the longest time between two readings.
Millis LongestPause(const std::atomic<bool>& running) {
  Millis longest{0};
  auto last = steady_clock::now();
  while (running.load(std::memory_order_relaxed)) {
    const auto now = steady_clock::now();
    longest = std::max(longest, Millis(now - last));
    last = now;
  }
  return longest;
}

// The most memory per bucket, and the number of buckets then; it peaks just after the table grows.
struct Largest {
  double bytes = 0;
  std::int64_t buckets = 0;
};

void InsertKeys(std::int64_t keys, std::size_t key_bytes) {
  ConfigureHeap();
  Limiter limiter({.secret = RandomHashSecret()});
  const Limit limit = *ParseLimitWord("10/s")->limit;
  LimitHint hint;
  const Instant now{std::chrono::hours{24 * 365 * 50}};
  const std::int64_t empty = ResidentBytes(getpid());

  std::atomic<bool> running{true};
  Millis idle_pause{0};
  std::thread idle([&] { idle_pause = LongestPause(running); });
  Millis longest{0};
  Largest largest;
  const auto begin = steady_clock::now();
  auto last = begin;
  const auto sample = [&](std::int64_t buckets) {
    const double bytes =
        static_cast<double>(ResidentBytes(getpid()) - empty) / static_cast<double>(buckets);
    if (bytes > largest.bytes) largest = {bytes, buckets};
    return bytes;
  };
  for (std::int64_t i = 0; i < keys; ++i) {
    if (i >= kSampledFrom && i % kSampledEvery == 0) {
      sample(i);
      last = steady_clock::now();
    }
    std::string key = "user:" + std::to_string(i);
    key.resize(std::max(key.size(), key_bytes), '.');
    WEIR_CHECK(
        limiter
            .Decide({{.key = key, .limit = &limit, .hint = &hint, .hash = limiter.Hash(key)}}, now)
            ->allowed);
    const auto after = steady_clock::now();
    longest = std::max(longest, Millis(after - last));
    last = after;
  }
  const double bytes = sample(keys);
  running = false;
  idle.join();
  std::printf(
      "insert   longest %.2f ms   idle thread's longest pause %.2f ms   mean %.0f ns   "
      "resident %.1f bytes a bucket, at most %.1f, at %lld\n",
      longest.count(), idle_pause.count(),
      duration<double, std::nano>(last - begin).count() / static_cast<double>(keys), bytes,
      largest.bytes, static_cast<long long>(largest.buckets));
}

// The real server on a free port; the destructor ends it.
class Server {
 public:
  explicit Server(const std::string& path, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {path, "--port", "0", "--threads", "1"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::array<int, 2> log{};
    WEIR_CHECK(pipe(log.data()) == 0);
    process_ = fork();
    WEIR_CHECK(process_ >= 0);
    if (process_ == 0) {
      dup2(log[1], STDERR_FILENO);
      execv(path.c_str(), arguments.data());
      _exit(127);
    }
    close(log[1]);
    ReadPort(log[0]);
  }
  ~Server() {
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] pid_t process() const { return process_; }
  [[nodiscard]] int Connect() const {
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    WEIR_CHECK(connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return connection;
  }

 private:
  // Leaves the descriptor of the log open, so that the server can continue to write to it.
  void ReadPort(int log) {
    std::string text;
    const std::string mark = "listening on 127.0.0.1:";
    for (char byte = 0; read(log, &byte, 1) == 1;) {
      text += byte;
      if (byte == '\n' && text.find(mark) != std::string::npos) break;
    }
    const std::size_t found = text.find(mark);
    WEIR_CHECK(found != std::string::npos);
    port_ = static_cast<std::uint16_t>(std::stoi(text.substr(found + mark.size())));
  }

  pid_t process_ = 0;
  std::uint16_t port_ = 0;
};

void SendAll(int connection, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    WEIR_CHECK(n > 0);
    sent += static_cast<std::size_t>(n);
  }
}

// Sends one RL.ALLOW for each key; a second thread reads the replies, each of which is "*5" and
// five integers.
void Load(const Server& server, std::int64_t keys, const std::string& limit) {
  const int connection = server.Connect();
  std::thread reader([connection, keys] {
    std::array<char, 65536> buffer;
    std::int64_t replies = 0;
    while (replies < keys) {
      const ssize_t n = recv(connection, buffer.data(), buffer.size(), 0);
      WEIR_CHECK(n > 0);
      WEIR_CHECK(std::find(buffer.data(), buffer.data() + n, '-') ==
                 buffer.data() + n);  // no error
      replies += std::count(buffer.data(), buffer.data() + n, '*');
    }
  });
  std::string chunk;
  for (std::int64_t i = 0; i < keys; ++i) {
    chunk += RespRequest(std::vector<std::string>{"RL.ALLOW", "user:" + std::to_string(i), limit});
    if (i % 1000 == 999 || i + 1 == keys) {
      SendAll(connection, chunk);
      chunk.clear();
    }
  }
  reader.join();
  close(connection);
}

std::string ReadLine(int connection) {
  std::string line;
  for (char byte = 0; line.empty() || line.back() != '\n'; line += byte) {
    WEIR_CHECK(recv(connection, &byte, 1, 0) == 1);
  }
  return line;
}

std::int64_t Dbsize(int connection) {
  SendAll(connection, "DBSIZE\r\n");
  return std::stoll(ReadLine(connection).substr(1));
}

// Asks for `limit_and_cost` on each of the kExhausted keys. Returns how many are allowed.
int CountAllowed(int connection, const std::string& limit_and_cost) {
  int allowed = 0;
  for (int i = 0; i < kExhausted; ++i) {
    SendAll(connection, "RL.ALLOW exhausted:" + std::to_string(i) + " " + limit_and_cost + "\r\n");
    WEIR_CHECK(ReadLine(connection) == "*5\r\n");
    if (ReadLine(connection) == ":1\r\n") ++allowed;
    for (int rest = 0; rest < 4; ++rest) ReadLine(connection);
  }
  return allowed;
}

// The peak of the resident memory of a process, in MB.
double PeakMegabytes(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::string word;
  while (status >> word && word != "VmHWM:") {
  }
  double kibibytes = 0;
  status >> kibibytes;
  return kibibytes / 1024;
}

void FillServer(const std::string& path, std::int64_t keys) {
  const Server server(path);
  const std::int64_t empty = ResidentBytes(server.process());
  const auto begin = steady_clock::now();
  Load(server, keys, "1/1m");
  const auto loaded = steady_clock::now();
  const int connection = server.Connect();
  const std::int64_t filled = ResidentBytes(server.process());
  const std::int64_t buckets = Dbsize(connection);
  std::printf(
      "server   %lld buckets in %.1f s   resident %.1f MB empty, %.1f MB filled: %.1f bytes a "
      "bucket\n",
      static_cast<long long>(buckets), duration<double>(loaded - begin).count(),
      static_cast<double>(empty) / 1e6, static_cast<double>(filled) / 1e6,
      static_cast<double>(filled - empty) / static_cast<double>(buckets));

  const auto full = loaded + kPeriod;  // the time at which the last bucket is full
  std::this_thread::sleep_until(full);
  const auto poll = std::chrono::milliseconds(100);
  while (Dbsize(connection) > 0) std::this_thread::sleep_for(poll);
  const auto swept = steady_clock::now();
  const std::int64_t allowed = empty + (filled - empty) / 20;
  while (ResidentBytes(server.process()) > allowed &&
         steady_clock::now() < full + std::chrono::minutes(1)) {
    std::this_thread::sleep_for(poll);
  }
  std::printf(
      "sweep    empty %.1f s after the last bucket was full   resident %.1f MB %.1f s after it\n",
      duration<double>(swept - full).count(),
      static_cast<double>(ResidentBytes(server.process())) / 1e6,
      duration<double>(steady_clock::now() - full).count());
  close(connection);
}

void FloodServer(const std::string& path, std::int64_t keys, const std::string& durability) {
  const TemporaryDirectory directory;
  const Server server(path, {"--max-memory", std::to_string(kMaxMemoryMegabytes) + "mb",
                             "--data-dir", directory.path(), "--durability", durability});
  const int connection = server.Connect();
  do {
    SendAll(connection, "DBSIZE\r\n");
  } while (ReadLine(connection).front() == '-');  // while the server loads its state
  const int exhausted = CountAllowed(connection, "100/h COST 100");
  const auto begin = steady_clock::now();
  Load(server, keys, "100/h");
  std::printf(
      "flood    %lld keys in %.1f s   durability %s   max-memory %lld MB   resident at most "
      "%.1f MB   %lld buckets left   %d of %d exhausted ones denied\n",
      static_cast<long long>(keys), duration<double>(steady_clock::now() - begin).count(),
      durability.c_str(), static_cast<long long>(kMaxMemoryMegabytes),
      PeakMegabytes(server.process()), static_cast<long long>(Dbsize(connection)),
      kExhausted - CountAllowed(connection, "100/h"), exhausted);
  close(connection);
}

int Main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::int64_t keys = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  const std::string part = argc > 2 ? argv[2] : "";
  const auto is_wanted = [&](const char* name) { return part.empty() || part == name; };
  const std::string server =
      (std::filesystem::path(argv[0]).parent_path() / "../weir-server").string();
  for (int run = 0; is_wanted("insert") && run < kRuns; ++run) {
    const pid_t child = fork();
    if (child == 0) {
      InsertKeys(keys, run + 1 == kRuns ? kLongKeyBytes : 0);
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    WEIR_CHECK(status == 0);
  }
  if (is_wanted("sweep")) FillServer(server, keys);
  for (const char* durability : {"none", "snapshot"}) {
    if (is_wanted("flood")) FloodServer(server, keys, durability);
  }
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
