// The checks that were admitted lately, by a value that the proxy gives all checks of one request.
// So a request that its proxy asks about several times is charged once.
//
//     AdmittedChecks::Claim claim(admitted, AdmittedChecks::IdOf("site", value, hasher), now);
//     if (claim.is_admitted()) ... answer yes
//     if (... the limiter admits) claim.Admit();
//
// While a claim lives, another one with the same value waits, so the second of two simultaneous
// checks sees the result of the first. A denial is not kept. Nothing is kept over a restart or sent
// to replicas; the worst effect is a second charge.
//
// At least the last kAdmittedChecks of them are known, each for kAdmittedTime. Thread-safe: 64
// parts with a lock each, and the hash of the value says which. Memory: 40 to 60 bytes a check, 8
// MB at most. Cost: a lock and a look-up, about 100 ns.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "core/table/key_hash.h"

namespace weir {

inline constexpr std::size_t kAdmittedChecks = 100'000;
inline constexpr Nanos kAdmittedTime = std::chrono::seconds{60};

class AdmittedChecks {
  struct Part;

 public:
  // A hash of the route and of the value.
  struct Id {
    std::size_t part;
    std::uint64_t hash;
  };
  [[nodiscard]] static Id IdOf(std::string_view route, std::string_view value,
                               const KeyHasher& hasher);

  AdmittedChecks();
  ~AdmittedChecks();

  // The right of a check to be the first of its value.
  class Claim {
   public:
    // `checks` must outlive the claim.
    Claim(AdmittedChecks& checks, const Id& id, HostInstant now);
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    // True if a check with this value was admitted in the last kAdmittedTime.
    [[nodiscard]] bool is_admitted() const;
    void Admit();

   private:
    Part& part_;
    const std::uint64_t hash_;
    const HostInstant now_;
    const MutexLock<Mutex> lock_;
  };

 private:
  static constexpr std::size_t kParts = 64;
  // The values fall into the parts by chance: a third more than the mean is 13 of its standard
  // deviations.
  static constexpr std::size_t kChecksOfPart = kAdmittedChecks / kParts * 4 / 3;

  std::unique_ptr<std::array<Part, kParts>> parts_;
};

}  // namespace weir
