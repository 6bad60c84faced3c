#include "tests/commands/redis_connection.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "gtest/gtest.h"

#include "core/base/check.h"
#include "tests/support/child_process.h"

namespace weir {

RedisConnection::RedisConnection(const std::string& path)
    : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  WEIR_CHECK(path.size() < sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  const timeval deadline{.tv_sec = kChildDeadline.count() / 1000, .tv_usec = 0};
  EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline)), 0);
  EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0)
      << path;
}

RedisConnection::~RedisConnection() { close(socket_); }

void RedisConnection::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ASSERT_GT(count, 0) << "the server has closed the connection";
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

bool RedisConnection::HasUnread() const {
  int bytes = 0;
  EXPECT_EQ(ioctl(socket_, SIOCOUTQ, &bytes), 0);
  return bytes > 0;
}

std::string RedisConnection::ReadWhatCame() {
  std::string all;
  for (std::string some = Read(MSG_DONTWAIT); !some.empty(); some = Read(MSG_DONTWAIT)) all += some;
  return all;
}

std::string RedisConnection::AwaitSome() { return Read(0); }

std::string RedisConnection::Read(int flags) {
  std::array<char, 65536> bytes;
  const ssize_t count = recv(socket_, bytes.data(), bytes.size(), flags);
  if (count > 0) return {bytes.data(), static_cast<std::size_t>(count)};
  const bool nothing_came = count < 0 && errno == EAGAIN && flags == MSG_DONTWAIT;
  EXPECT_TRUE(nothing_came) << "the server does not answer";
  return "";
}

}  // namespace weir
