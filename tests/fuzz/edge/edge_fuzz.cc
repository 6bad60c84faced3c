// Property: whatever bytes a primary replies, and whatever clients ask, an edge answers each
// request once, and its counts hold together.
//
// The input is lines, each an event: `?` and the words of a request, `=` and the reply to the next
// command of the edge, `!` and a reply to the last request that was passed on (in both \ is CRLF),
// `+` link up, `-` link lost, `~` a change at the primary, `.` 10 ms pass.
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "edge/edge.h"

namespace weir {
namespace {

class FuzzedEdge final : public Edge::Host {
 public:
  void Send(std::span<const std::string_view> words) override {
    WEIR_CHECK(is_up_);
    WEIR_CHECK(words.front() == "RL.SLICE" || words.front() == "RL.COMMIT");
    ++in_flight_;
  }
  void Answer(std::uint64_t ticket, const EdgeAnswer& answer) override {
    WEIR_CHECK(answer.kind != EdgeAnswer::Kind::kWaits);
    WEIR_CHECK(waiting_.erase(ticket) == 1);
  }

  void Take(std::string_view line) {
    if (line.empty()) return;
    const std::string_view rest = line.substr(1);
    switch (line.front()) {
      case '?':
        Ask(rest);
        break;
      case '=':
        if (in_flight_ == 0) break;
        --in_flight_;
        edge_.OnReply(WithLines(rest), now_);
        break;
      case '!':
        if (is_up_) edge_.OnPassedReply(passed_on_, WithLines(rest), now_);
        break;
      case '+':
      case '-':
        Link(line.front() == '+');
        break;
      case '~':
        edge_.OnChange({OperatorChange::Kind::kKey, rest, ++changes_}, now_);
        break;
      default:
        now_ += std::chrono::milliseconds{10};
        edge_.Tick(now_);
    }
    WEIR_CHECK(edge_.in_hand() >= 0);
  }
  void End() {
    Link(false);
    WEIR_CHECK(waiting_.empty());
    now_ += std::chrono::hours{24 * 366 * 50};
    for (int i = 0; i < 8; ++i) edge_.Tick(now_);
  }

 private:
  static std::string WithLines(std::string_view text) {
    return absl::StrReplaceAll(AbslView(text), {{"\\", "\r\n"}});
  }
  void Ask(std::string_view text) {
    const std::vector<std::string> words = absl::StrSplit(AbslView(text), ' ');
    waiting_.insert(++ticket_);
    const EdgeAnswer answer =
        edge_.Decide(std::vector<std::string_view>(words.begin(), words.end()), ticket_, now_);
    if (answer.kind == EdgeAnswer::Kind::kPassOn) passed_on_ = answer.passed_on;
    if (answer.kind != EdgeAnswer::Kind::kWaits) waiting_.erase(ticket_);
    WEIR_CHECK(answer.kind != EdgeAnswer::Kind::kAway || !is_up_);
  }
  void Link(bool is_up) {
    if (is_up == is_up_) return;
    is_up_ = is_up;
    in_flight_ = 0;
    is_up ? edge_.OnLinkUp(now_) : edge_.OnLinkLost(now_);
  }

  HostInstant now_{std::chrono::hours{24 * 365 * 56}};
  Edge edge_{*this, "run", HashSecret{}};
  bool is_up_ = false;
  std::size_t in_flight_ = 0;
  std::uint64_t ticket_ = 0;
  std::uint64_t changes_ = 1;
  PassedOn passed_on_;
  std::set<std::uint64_t> waiting_;
};

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  weir::FuzzedEdge edge;
  for (const absl::string_view line : absl::StrSplit(weir::AbslView(input), '\n')) {
    edge.Take(weir::StdView(line));
  }
  edge.End();
  return 0;
}
