// An edge of a simulation, with its host, its clock and its link.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/rules/decision.h"
#include "edge/edge.h"
#include "tests/edge/edge_simulation.h"

namespace weir {

class EdgeSimulation::SimEdge final : public Edge::Host {
 public:
  SimEdge(EdgeSimulation& sim, std::size_t index);

  void Start();  // again, as after a crash
  void Ask(std::size_t form, std::int64_t units, bool with_limits);
  void AskBoth(std::size_t first, std::size_t second);
  void Cut();
  void Mend();
  // Hears of a change that concerns these forms.
  void Hear(const OperatorChange& change, const std::string& name, std::size_t first,
            std::size_t forms);

  [[nodiscard]] bool is_up() const { return is_up_; }
  [[nodiscard]] const Edge& edge() const { return *edge_; }

 private:
  struct Waiting {
    std::size_t form;
    std::int64_t units;
  };
  // An ask, and what the primary did.
  struct Asked {
    std::size_t form;
    std::string id;
    std::set<std::uint64_t> needed{};  // tickets
    std::int64_t unit = 1;
    std::int64_t upto = 1;
    Nanos charged{};
    std::uint64_t changes = 0;
    SimReply reply{};
    std::int64_t left = 0;               // units of the grant
    std::optional<std::size_t> slice{};  // its place in slices_
  };
  // The primary's last word about a form: a denial.
  struct Denied {
    std::int64_t units;
    Nanos until;
    bool may_be_paced;
    Nanos decided;
  };

  void Send(std::span<const std::string_view> words) override;
  void Answer(std::uint64_t ticket, const EdgeAnswer& answer) override;
  void SendAsk(std::vector<std::string> words);
  void SendCommit(const std::vector<std::string>& words);
  void PassOn(std::vector<std::string> words, std::optional<Waiting> one, PassedOn passed_on);
  void TakeSlice(Asked asked);
  void TakeVerdict(const Waiting& request, const EdgeAnswer& answer, Asked* asked);
  void CheckDenial(const Waiting& request);
  void CheckAhead(std::size_t form, std::int64_t ahead);
  void Deliver(Nanos at, std::function<void()> happens);
  void ArmTick();
  [[nodiscard]] Nanos Arrival(bool is_back);
  [[nodiscard]] std::size_t FormOf(std::span<const std::string> words) const;
  [[nodiscard]] HostInstant LocalTime() const;
  [[nodiscard]] std::vector<std::string> WordsOf(std::size_t form, std::int64_t units) const;
  [[nodiscard]] static Nanos SumOf(Nanos at, Nanos wait) {
    return wait == kNever ? Nanos::max() : at + wait;
  }

  EdgeSimulation& sim_;
  const std::size_t index_;
  const Nanos offset_;
  const std::int64_t drift_;  // parts in a million
  std::unique_ptr<Edge> edge_;
  std::size_t life_ = 0;  // a number for each run of each edge
  int run_ = 0;
  bool is_up_ = false;
  bool tick_is_armed_ = false;
  std::uint64_t link_ = 0;               // what is sent before another number is lost
  std::array<Nanos, 2> last_arrival_{};  // at the primary, and here
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, Waiting> waiting_;
  std::deque<Asked> asks_;                      // in flight
  std::deque<bool> expected_;                   // the replies to come: whether each is to an ask
  Asked* answered_ = nullptr;                   // during OnReply
  std::map<std::size_t, Denied> denied_;        // by form
  std::map<std::size_t, std::uint64_t> heard_;  // changes, by form
  std::map<std::string, std::size_t> slice_of_;
  std::map<std::string, std::int64_t> committed_;
  std::map<std::size_t, std::deque<std::pair<Nanos, std::int64_t>>> asked_units_;
  Nanos longest_rtt_ = kRttAtFirst;
};

}  // namespace weir
