// A look-up of a host's addresses by its name, which no thread of the server waits for.
//
//     HostLookUp look_up("primary.example.net", context, [&](std::error_code error, auto& found) {
//       ...                    // on the thread of the context
//     });
//
// getaddrinfo takes half a minute where name servers are silent, and nothing can end it. So each
// look-up has a thread of its own, which the process does not wait for; an answer that comes after
// the end of the object is dropped. At most kHostLookUpsMax are under way in the process: one more
// fails, as does one for which the system has no thread. An address, unlike a name, needs neither a
// place nor a thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>

namespace weir {

inline constexpr std::size_t kHostLookUpsMax = 16;

class HostLookUp {
 public:
  // Called once: with an error, or with one address at least.
  using Take =
      std::function<void(std::error_code error, const std::vector<asio::ip::address>& found)>;

  // Begins. `take` is called by `context`, which must outlive the object, and later than in this
  // call.
  HostLookUp(const std::string& host, asio::io_context& context, Take take);
  // Drops the answer. To be called on the thread of the context.
  ~HostLookUp();
  HostLookUp(const HostLookUp&) = delete;
  HostLookUp& operator=(const HostLookUp&) = delete;

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
};

}  // namespace weir
