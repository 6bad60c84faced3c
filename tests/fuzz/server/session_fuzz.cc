// Property: for any bytes, in any pieces, at any times, the session answers each request with
// exactly one well-formed reply, does nothing after its end, and stays within its caps.
//
// The input is the client's bytes, followed by a script for their arrival:
//
//     bytes  script*  last
//
//     last     the low 4 bits are the number of script bytes; 0x10 allows AT
//     script   below 0x80: that many bytes arrive (0: one); else all that are left. Then the clock
//              moves by a power of two of nanoseconds
//
// The script is repeated until all bytes have arrived; with an empty script they arrive at once.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "protocol/resp_parser.h"
#include "server/session/session.h"
#include "tests/support/fake_clock.h"
#include "tests/support/resp_value.h"
#include "tests/support/unread_bytes.h"

namespace weir {
namespace {

// The longest reply: a transaction that asks COMMAND INFO for as many names as it may.
constexpr std::size_t kOneReplyBytesMax = 40 * 1024 * 1024;

// The number of idle limits that may remain, since reclaiming their ids takes long.
constexpr std::size_t kLimitsKept = 1000;

// How the client's bytes arrive.
struct Arrival {
  std::string_view bytes;
  std::string_view script;
  bool explicit_time = false;
};

Arrival ReadInput(std::string_view input) {
  if (input.empty()) return {};
  const auto last = static_cast<unsigned char>(input.back());
  input.remove_suffix(1);
  const std::size_t script_bytes = std::min<std::size_t>(last & 15, input.size());
  const std::size_t bytes = input.size() - script_bytes;
  return {input.substr(0, bytes), input.substr(bytes), (last & 0x10) != 0};
}

// All inputs share one table, because making a table takes long; it is emptied after each input.
// The clock of the next input starts again.
Limiter& EmptyLimiter() {
  static Limiter* const kLimiter = new Limiter({.secret = {1, 2, 3}, .time_is_ordered = false});
  return *kLimiter;
}

// A server and its one client.
class Client {
 public:
  explicit Client(bool explicit_time)
      : services_(OptionsWith(explicit_time), clock_, EmptyLimiter()),
        worker_(services_),
        session_(worker_,
                 services_.clients.Add("127.0.0.1:1", "127.0.0.1:2", 3, clock_.HostNow())) {
    services_.request_shutdown = [this](bool) { ++shutdowns_; };
  }

  ~Client() {
    if (worker_.request_counters.allowed.value() == 0) return;
    LimiterUpkeep(EmptyLimiter().table()).Clear();
    while (LimiterUpkeep(EmptyLimiter().table()).FreeDiscarded()) {
    }
    LimiterUpkeep(EmptyLimiter().table()).ReclaimLimits(kLimitsKept, kLimitsMax);
  }

  // Delivers bytes as a connection does.
  void Deliver(std::string_view bytes) {
    if (closed_) return;
    unread_.Add(bytes);
    for (auto next = Session::Next::kContinue; next == Session::Next::kContinue;) {
      const std::size_t before = replies_.size();
      const std::uint64_t commands = worker_.counters["total_commands_processed"].value();
      const Session::Turn turn = session_.Execute(unread_.bytes(), replies_);
      WEIR_CHECK(replies_.size() - before < kReplyBytesPerTurn + kOneReplyBytesMax);
      WEIR_CHECK(worker_.counters["total_commands_processed"].value() - commands <= kWorkPerTurn);
      unread_.Consume(turn.consumed);
      next = turn.next;
    }
    const Session::Turn peeked = Peeked();
    closed_ = peeked.next == Session::Next::kClose;
    waiting_ = peeked.next == Session::Next::kWait || peeked.next == Session::Next::kPause;
    wake_ = peeked.wake;
    WEIR_CHECK(closed_ || waiting_ || unread_.size() < kRespCaps.request_bytes_max);
    WEIR_CHECK(worker_.memo.size() <= kMemoLimitsMax + kChecksMax);
  }

  void Wait(Nanos span) {
    if (clock_.Now() + span <= kInstantMax) clock_.Advance(span);
  }

  // Lets every wait end: the present RL.WAIT, and those that are still to be read.
  void FinishWaits() {
    while (waiting_) {
      if (wake_ <= kHostInstantMax) {
        clock_.Advance(std::max(wake_ - clock_.HostNow(), Nanos{0}));
      } else {
        session_.EndWait(ClientSession::WaitEnd::kClosing);
      }
      Deliver("");
    }
  }

  // Checks the received bytes against the sent ones.
  void CheckReplies(std::string_view sent) const {
    // CLIENT REPLY leaves out replies, MONITOR adds lines.
    const std::string asked = absl::AsciiStrToLower(AbslView(sent));
    const bool asks_for_silence = absl::StrContains(asked, "reply");
    const bool asks_for_more = absl::StrContains(asked, "monitor");
    const ThreadCounters& counters = worker_.counters;
    const std::uint64_t executed = counters["total_commands_processed"].value();
    const bool broken = counters["protocol_errors"].value() > 0;
    // The requests that another parser finds in all of the input, up to the first that was not
    // executed.
    RespParser parser;
    ParseResult result = ParseResult::kCommand;
    std::uint64_t requests = 0;
    while (result == ParseResult::kCommand && requests <= executed) {
      result = parser.Parse(sent);
      sent.remove_prefix(parser.consumed());
      if (result == ParseResult::kCommand) ++requests;
    }
    const bool silent = result == ParseResult::kForeignProtocol;
    WEIR_CHECK(requests >= executed);
    WEIR_CHECK(!broken || closed_);
    WEIR_CHECK(!broken || requests == executed);
    WEIR_CHECK(!broken || silent || result == ParseResult::kProtocolError);
    WEIR_CHECK(closed_ || requests == executed);
    WEIR_CHECK(closed_ || result == ParseResult::kNeedMore);
    WEIR_CHECK(shutdowns_ <= 1);
    const auto replies = ReadRespValues(replies_);
    WEIR_CHECK(replies.has_value());
    const std::uint64_t expected = executed - shutdowns_ + (broken && !silent ? 1 : 0);
    WEIR_CHECK(replies->size() <= expected || asks_for_more);
    WEIR_CHECK(replies->size() >= expected || asks_for_silence);
    WEIR_CHECK(counters["total_net_output_bytes"].value() == replies_.size());
  }

 private:
  static Options OptionsWith(bool explicit_time) {
    static const Options kDefaults = DefaultOptions();
    Options options = kDefaults;
    options.allow_explicit_time = explicit_time;
    return options;
  }

  // Once the client has its news, a turn without new bytes does nothing, whatever happened before.
  Session::Turn Peeked() {
    if (session_.has_news()) std::ignore = session_.Execute(unread_.bytes(), replies_);
    const std::size_t before = replies_.size();
    const Session::Turn turn = session_.Execute(unread_.bytes(), replies_);
    WEIR_CHECK(turn.consumed == 0);
    WEIR_CHECK(turn.next != Session::Next::kContinue);
    WEIR_CHECK(replies_.size() == before);
    return turn;
  }

  FakeClock clock_;
  Services services_;
  Worker worker_;
  Session session_;
  UnreadBytes unread_;
  std::string replies_;
  std::uint64_t shutdowns_ = 0;
  bool closed_ = false;
  bool waiting_ = false;
  HostInstant wake_{};
};

void Play(const Arrival& arrival) {
  Client client(arrival.explicit_time);
  std::string_view left = arrival.bytes;
  for (std::size_t i = 0; !left.empty(); ++i) {
    const std::size_t step =
        arrival.script.empty()
            ? 0xFF
            : static_cast<unsigned char>(arrival.script[i % arrival.script.size()]);
    const std::size_t bytes =
        step >= 0x80 ? left.size() : std::clamp<std::size_t>(step, 1, left.size());
    client.Deliver(left.substr(0, bytes));
    left.remove_prefix(bytes);
    client.Wait(Nanos{std::int64_t{1} << (step % 61)});
  }
  client.FinishWaits();
  client.CheckReplies(arrival.bytes);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::Play(weir::ReadInput({reinterpret_cast<const char*>(data), size}));
  return 0;
}
