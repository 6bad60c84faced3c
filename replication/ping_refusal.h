// The reasons for which PING is answered with an error, so that Sentinel takes the server for dead
// and looks for another primary.
#pragma once

#include <cstdint>

namespace weir {

enum class PingRefusal : std::uint8_t {
  kNone,
  kHandedOver,  // this server has yielded to another one, and Sentinel does not know it yet
  kRestarted,   // it was the primary and has crashed, or has no state: a replica may have more
};

}  // namespace weir
