// A simulation of edges: 1 to 8 of them, one primary, links that delay, lose and cut, clocks with
// any offset that drift by up to 500 ppm; resets, policies that change, bans, direct clients. All
// that is drawn comes from the seed. One history is some seconds of simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "edge/edge.h"
#include "tests/edge/edge_bugs.h"
#include "tests/edge/edge_laws.h"
#include "tests/edge/event_queue.h"
#include "tests/edge/sim_primary.h"

namespace weir {

// What histories met.
struct EdgeTally {
  std::int64_t local_admissions = 0;
  std::int64_t local_denials = 0;
  std::int64_t waited = 0;  // requests
  std::int64_t passed_on = 0;
  std::int64_t away = 0;
  std::int64_t slices = 0;
  std::int64_t commits = 0;
  std::int64_t resent = 0;    // COMMITs
  std::int64_t cut_asks = 0;  // asks in flight when a link was cut
  std::int64_t joined = 0;    // requests with AND, decided locally
  std::int64_t not_sliced = 0;
  std::int64_t changes = 0;  // told to an edge that had units in hand
};

class EdgeSimulation {
 public:
  EdgeSimulation(std::uint64_t seed, EdgeBug bug, EdgeTally& tally);
  ~EdgeSimulation();

  // Returns the first law that was broken, or nothing.
  [[nodiscard]] std::string Run();

 private:
  class SimEdge;
  struct SimForm {
    std::vector<std::string> words;
    std::vector<std::size_t> limits;  // of limits_
    std::int64_t unit_tokens = 1;
    bool takes_cost = true;
  };

  std::size_t AddLimit(std::string_view key, SimLimit limit);
  void AddForm(std::vector<std::string> words, std::vector<std::size_t> limits,
               std::int64_t unit_tokens = 1, bool takes_cost = true);
  void MakeForms();
  void Act();
  void AskSome();
  void ActAtPrimary();
  void Change();
  // Cuts the edge off, and asks for all that it has when the life of a slice ends.
  void Attack(SimEdge& edge, Nanos end);
  void SpendBoth(const std::vector<std::string>& words, Nanos charged);
  void CheckGreedy();
  void CheckLaws();
  void Fail(std::string_view what) {
    if (violation_.empty()) violation_ = what;
  }

  std::int64_t Below(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random_);
  }
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }
  Nanos Delay() { return Nanos{Below(slow_.count() + 1)}; }
  // Since the Unix epoch, by the clock of the primary.
  [[nodiscard]] Nanos now() const { return events_.now(); }
  [[nodiscard]] Instant Now() const { return Instant{now()}; }

  std::mt19937_64 random_;
  const EdgeBug bug_;
  EdgeTally& tally_;
  Nanos begin_;
  Nanos end_{};
  Nanos slow_{};
  EventQueue events_;
  SimPrimary primary_;
  struct KeyedLimit {
    std::string key;
    std::vector<SimEpoch> epochs;
  };
  std::vector<KeyedLimit> limits_;
  std::vector<SimForm> forms_;
  std::vector<std::unique_ptr<SimEdge>> edges_;
  std::vector<SimSpend> spends_;
  std::vector<SimSlice> slices_;
  std::set<std::string> granted_ids_;
  std::map<std::string, std::int64_t> granted_units_;  // by id
  std::size_t lives_ = 0;
  std::size_t favourite_ = 0;  // a form
  Nanos longest_life_{0};
  std::string violation_;
};

}  // namespace weir
