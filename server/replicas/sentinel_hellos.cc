// Hellos of Redis Sentinel (--sentinel), which are events of the role machine.
#include <optional>
#include <string>
#include <utility>

#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "replication/hello.h"
#include "server/os/log.h"
#include "server/replicas/replication_control.h"

namespace weir {

void ReplicationControl::OnHello(std::string message) {
  asio::post(control_, [this, message = std::move(message)] {
    thread_.AssertHeld();
    TakeHello(message);
  });
}

void ReplicationControl::TakeHello(const std::string& message) {
  std::optional<Hello> hello = ReadHello(message);
  const std::optional<std::string> host = hello ? ParseHost(hello->host) : std::nullopt;
  if (!host) {
    if (const auto suppressed = hello_throttle_.Admit()) {
      spdlog::warn(
          "ignored a message on {} that is not a Sentinel hello: '{}' ({} similar lines "
          "suppressed)",
          kHelloChannel, EscapedForLog(message.substr(0, 128)), *suppressed);
    }
    return;
  }
  if (hello->name != services_.options.sentinel) {
    if (const auto suppressed = hello_throttle_.Admit()) {
      spdlog::warn(
          "Sentinel monitors '{}', and this server's option sentinel is '{}' ({} similar "
          "lines suppressed)",
          EscapedForLog(hello->name), EscapedForLog(services_.options.sentinel), *suppressed);
    }
    return;
  }
  addresses_.Find(*host, [this, host = *host, hello = *hello](const asio::ip::address& address) {
    thread_.AssertHeld();
    const bool names_us = IsOwn({host, hello.port}) || IsOwn({address.to_string(), hello.port});
    last_epoch_ = hello.epoch;
    Take(HelloHeard{.epoch = hello.epoch, .names_us = names_us, .primary = {host, hello.port}});
  });
}

}  // namespace weir
