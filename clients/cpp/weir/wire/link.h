// Link: a connection to a server, with TLS or without. It sends a request and reads its reply.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "weir/core/address.h"
#include "weir/core/answer.h"
#include "weir/wire/socket.h"
#include "weir/wire/tls.h"
#include "weir/wire/until.h"
#include "weir/words.h"

struct redisReader;

namespace weir::client {

// Not thread-safe.
class Link {
 public:
  Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  // Connects; `tls` may be null. Call it once.
  [[nodiscard]] std::optional<Failure> Dial(const Place& place, const TlsContext* tls,
                                            const Until& until);

  // After an answer that is lost the Link is of no use.
  [[nodiscard]] Answer Ask(const Words& words, const Until& until);

  // Whether it can be asked: the server has not closed it, nor sent what no request asked for.
  [[nodiscard]] bool is_quiet();

  std::uint64_t generation = 0;  // of the Wire

 private:
  // Repeats a step until it is done.
  template <class Step>
  [[nodiscard]] std::optional<Failure> Drive(const Until& until, Step step);

  [[nodiscard]] std::optional<Failure> Send(std::string_view bytes, const Until& until);
  [[nodiscard]] Answer Receive(const Until& until);

  // In this order, as the session speaks over the socket until its end.
  Socket socket_;
  std::optional<TlsSession> tls_;
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
};

}  // namespace weir::client
