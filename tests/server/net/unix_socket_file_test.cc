// Goal: the file of a Unix socket has its mode, belongs to one server, and is removed only by that
// server. Method: sockets of this process, some of which "died" without removing their files.
#include "server/net/unix_socket_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/base/check.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

class Socket {
 public:
  Socket() : descriptor_(socket(AF_UNIX, SOCK_STREAM, 0)) { WEIR_CHECK(descriptor_ >= 0); }
  ~Socket() { close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void Listen(int queue = 8) const { WEIR_CHECK(listen(descriptor_, queue) == 0); }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

class UnixSocketFileTest : public testing::Test {
 protected:
  // A server that ended without removing its file.
  void Die() {
    const Socket dead;
    UnixSocketFile file;
    ASSERT_TRUE(file.Bind(dead.descriptor(), path_, 0700).ok());
    dead.Listen();
    ASSERT_EQ(rename(path_.c_str(), (path_ + "x").c_str()), 0);
    file.Remove();
    ASSERT_EQ(rename((path_ + "x").c_str(), path_.c_str()), 0);
  }

  [[nodiscard]] mode_t Mode() const {
    struct stat file {};
    return lstat(path_.c_str(), &file) == 0 ? file.st_mode & 0777U : 0;
  }
  [[nodiscard]] bool IsThere() const { return access(path_.c_str(), F_OK) == 0; }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/s";
};

TEST_F(UnixSocketFileTest, TheModeIsThatAskedForWhateverTheUmask) {
  for (const mode_t umask_now : {0000U, 0022U, 0077U}) {
    const mode_t before = umask(umask_now);
    for (const mode_t mode : {0700U, 0770U, 0777U}) {
      const Socket socket;
      UnixSocketFile file;
      EXPECT_TRUE(file.Bind(socket.descriptor(), path_, mode).ok());
      EXPECT_EQ(Mode(), mode);
    }
    umask(before);
  }
}

// The file has its mode as soon as it is bound; otherwise any user could connect for a moment.
TEST_F(UnixSocketFileTest, TheFileIsNeverOpenToMore) {
  const mode_t before = umask(0);
  const Socket socket;
  UnixSocketFile file;
  EXPECT_TRUE(file.Bind(socket.descriptor(), path_, 0700).ok());
  umask(before);
  struct stat made {};
  ASSERT_EQ(fstat(socket.descriptor(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777U, 0700U);
}

TEST_F(UnixSocketFileTest, ItIsRemovedWithItsServer) {
  {
    const Socket socket;
    UnixSocketFile file;
    ASSERT_TRUE(file.Bind(socket.descriptor(), path_, 0700).ok());
    EXPECT_TRUE(IsThere());
  }
  EXPECT_FALSE(IsThere());
}

TEST_F(UnixSocketFileTest, AFileOfADeadServerIsTakenOver) {
  Die();
  ASSERT_TRUE(IsThere());
  const Socket socket;
  UnixSocketFile file;
  EXPECT_TRUE(file.Bind(socket.descriptor(), path_, 0770).ok());
  EXPECT_EQ(Mode(), 0770U);
}

TEST_F(UnixSocketFileTest, AFileOfALivingServerIsNot) {
  const Socket first;
  UnixSocketFile file;
  ASSERT_TRUE(file.Bind(first.descriptor(), path_, 0700).ok());
  first.Listen(0);
  for (int i = 0; i < 3; ++i) {  // The probes fill its queue.
    const Socket second;
    UnixSocketFile other;
    EXPECT_EQ(other.Bind(second.descriptor(), path_, 0700).message(), "Address already in use");
    EXPECT_TRUE(IsThere());
  }
}

TEST_F(UnixSocketFileTest, ASuccessorsFileStays) {
  const Socket first;
  UnixSocketFile file;
  ASSERT_TRUE(file.Bind(first.descriptor(), path_, 0700).ok());
  ASSERT_EQ(unlink(path_.c_str()), 0);
  const Socket second;
  UnixSocketFile successor;
  ASSERT_TRUE(successor.Bind(second.descriptor(), path_, 0700).ok());
  file.Remove();
  EXPECT_TRUE(IsThere());
}

TEST_F(UnixSocketFileTest, AFileThatIsNoSocketStays) {
  std::ofstream(path_) << "letters";
  const Socket socket;
  UnixSocketFile file;
  EXPECT_EQ(file.Bind(socket.descriptor(), path_, 0700).message(),
            "the file exists and is not a socket");
  EXPECT_TRUE(IsThere());
}

TEST_F(UnixSocketFileTest, ReasonsAreSaid) {
  const Socket socket;
  UnixSocketFile file;
  EXPECT_EQ(file.Bind(socket.descriptor(), std::string(108, 'x'), 0700).message(),
            "the path has 108 bytes; that of a Unix socket has at most 107");
  EXPECT_EQ(file.Bind(socket.descriptor(), directory_.path() + "/none/s", 0700).message(),
            "No such file or directory");
}

}  // namespace
}  // namespace weir
