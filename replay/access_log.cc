// The reader of access logs (log_reader.h).
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "protocol/client_address.h"
#include "replay/civil_time.h"
#include "replay/log_reader.h"

namespace weir {
namespace {

// True if a quote in `text` closes the request that `text` begins with. A backslash takes the next
// byte's meaning away, as in Apache's logs; nginx writes \x22 for a quote.
bool IsClosed(std::string_view text) {
  for (std::size_t at = text.find_first_of("\"\\"); at < text.size();
       at = text.find_first_of("\"\\", at + 2)) {
    if (text[at] == '"') return true;
  }
  return false;
}

// True for the virtual host and the port that Apache's vhost_combined begins with: "www:80". An
// address of IPv6 would be in brackets there.
bool IsVirtualHost(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = word.substr(0, colon);
  const std::string_view port = word.substr(colon + 1);
  const bool is_host = host.find(':') == std::string_view::npos || host.front() == '[';
  return is_host && !port.empty() && port.find_first_not_of("0123456789") == std::string_view::npos;
}

// True if `text` begins as the time and the request of a line do, which no name can: the servers
// escape a quote in a name.
bool BeginsAtTime(std::string_view text) {
  constexpr std::string_view kBehind = "] \"";
  return text.starts_with('[') && text.size() > kAccessTimeBytes &&
         text.substr(1 + kAccessTimeBytes).starts_with(kBehind);
}

class AccessLogReader final : public LogReader {
 public:
  explicit AccessLogReader(int ipv6_bits) : ipv6_bits_(ipv6_bits) {}

  absl::StatusOr<bool> Read(std::string_view line, LoggedRequest& request) override {
    std::string_view rest = line;
    std::string_view address = TakeWord(rest);
    std::string_view behind_host = rest;
    bool has_names = !address.empty() && TakeNames(rest);
    if (!has_names && IsVirtualHost(address)) {
      address = TakeWord(behind_host);
      rest = behind_host;
      has_names = !address.empty() && TakeNames(rest);
    }
    if (!has_names) {
      return absl::InvalidArgumentError(
          "expected an address, two names and [, as in 192.0.2.7 - - "
          "[10/Oct/2026:13:55:36 +0200]");
    }
    const std::string_view time = rest.substr(1, rest.find(']', 1) - 1);
    if (time.size() + 2 > rest.size()) {
      return BadWord("time", time, "expected a ] after it");
    }
    rest.remove_prefix(time.size() + 2);
    if (!rest.starts_with(" \"")) {
      return absl::InvalidArgumentError("expected the request in quotes after the time");
    }
    if (!IsClosed(rest.substr(2))) {
      return absl::InvalidArgumentError("the quote of the request is not closed");
    }
    if (time_.empty() || time != time_) {  // Lines of one second come together.
      const std::optional<Instant> at = ReadAccessTime(time);
      if (!at) return BadWord("time", time, "expected one as in 10/Oct/2026:13:55:36 +0200");
      time_ = time;
      at_ = *at;
    }
    network_.clear();
    key_.key = AppendClientNetwork(address, ipv6_bits_, network_) ? network_ : address;
    request = {.at = at_, .keys = {&key_, 1}};
    return true;
  }

 private:
  // Takes the word at the front of `rest` and the blank after it; empty if there is none.
  static std::string_view TakeWord(std::string_view& rest) {
    const std::size_t blank = rest.find(' ');
    if (blank == std::string_view::npos) return "";
    const std::string_view word = rest.substr(0, blank);
    rest.remove_prefix(blank + 1);
    return word;
  }

  // Takes the two names before the time, and the blank after them. The second, the user that the
  // client has sent, may have blanks if the first is "-", as it is without an ident daemon: else
  // the line may have one word more in front, such as a virtual host. Returns false if these are
  // not the names of a line.
  static bool TakeNames(std::string_view& rest) {
    const std::string_view ident = TakeWord(rest);
    if (ident.empty()) return false;
    std::string_view plain = rest;
    const bool is_plain = !TakeWord(plain).empty() && plain.starts_with('[');
    if (ident == "-" && !(is_plain && BeginsAtTime(plain))) {
      for (std::size_t blank = rest.find(" ["); blank < rest.size();
           blank = rest.find(" [", blank + 1)) {
        if (!BeginsAtTime(rest.substr(blank + 1))) continue;
        rest.remove_prefix(blank + 1);
        return true;
      }
    }
    rest = plain;
    return is_plain;
  }

  const int ipv6_bits_;
  std::string network_;  // of the last line
  std::string time_;     // the last one that was read, and what it means
  Instant at_;
  LoggedKey key_;
};

}  // namespace

std::unique_ptr<LogReader> MakeAccessLogReader(int ipv6_bits) {
  return std::make_unique<AccessLogReader>(ipv6_bits);
}

}  // namespace weir
