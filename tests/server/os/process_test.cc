// Goal: the numbers of the process are the kernel's. Method: this process uses what is counted.
#include "server/os/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ProcessTest, CountsOpenDescriptors) {
  const auto before = OpenDescriptors();
  ASSERT_TRUE(before.has_value());
  std::array<int, 50> opened;
  for (int& descriptor : opened) descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(OpenDescriptors(), *before + opened.size());
  for (const int descriptor : opened) close(descriptor);
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_LE(*before, DescriptorsMax());
}

TEST(ProcessTest, TimeOnProcessorsGoesOnWhileOneIsUsed) {
  const Nanos before = ProcessorTime();
  Nanos after = before;
  for (int i = 0; i < 10'000'000 && after < before + std::chrono::milliseconds{5}; ++i) {
    after = ProcessorTime();
  }
  EXPECT_GE(after, before + std::chrono::milliseconds{5});
}

TEST(ProcessTest, TheHostHasItsName) {
  std::array<char, 256> name{};
  ASSERT_EQ(gethostname(name.data(), name.size() - 1), 0);
  EXPECT_EQ(NameOfHost(), name.data());
}

}  // namespace
}  // namespace weir
