// A connection to a test's redis-server, through its Unix socket.
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

  // Writes all of the bytes at once.
  void Write(std::string_view bytes);
  // Whether the server has not yet read all of the written bytes.
  [[nodiscard]] bool HasUnread() const;
  // Returns the bytes that have arrived, if any; or waits for some. Both fail the test if the
  // connection ends.
  [[nodiscard]] std::string ReadWhatCame();
  [[nodiscard]] std::string AwaitSome();

 private:
  [[nodiscard]] std::string Read(int flags);

  int socket_;
};

}  // namespace weir
