// A connection to the redis-server of a test, through its Unix socket.
#pragma once

#include <string>
#include <string_view>

namespace weir {

class RedisConnection {
 public:
  explicit RedisConnection(const std::string& path);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // All of it, at once.
  void Write(std::string_view bytes);
  // Whether the server has yet to read some of what was written.
  [[nodiscard]] bool HasUnread() const;
  // What has come, if anything; or waits until something comes. Both fail the test at an end of the
  // connection.
  [[nodiscard]] std::string ReadWhatCame();
  [[nodiscard]] std::string AwaitSome();

 private:
  [[nodiscard]] std::string Read(int flags);

  int socket_;
};

}  // namespace weir
