#include "server/os/process.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <chrono>
#include <filesystem>
#include <system_error>

namespace weir {
namespace {

constexpr const char* kDescriptorsFolder = "/proc/self/fd";

Nanos NanosOf(const timeval& time) {
  return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
}

}  // namespace

Nanos ProcessorTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return NanosOf(usage.ru_utime) + NanosOf(usage.ru_stime);
}

// Since Linux 6.2 the size of the folder is the number of descriptors. Before that it is 0, and
// they are counted; one of them is that of the folder.
std::optional<std::uint64_t> OpenDescriptors() {
  struct stat folder {};
  if (stat(kDescriptorsFolder, &folder) != 0) return std::nullopt;
  if (folder.st_size > 0) return static_cast<std::uint64_t>(folder.st_size);
  std::error_code error;
  std::uint64_t count = 0;
  using Files = std::filesystem::directory_iterator;
  for (Files file(kDescriptorsFolder, error); !error && file != Files(); file.increment(error)) {
    ++count;
  }
  if (error) return std::nullopt;
  return count - 1;
}

std::uint64_t DescriptorsMax() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

std::string NameOfHost() {
  utsname system{};
  uname(&system);
  const std::string name = system.nodename;
  return name.empty() || name == "(none)" ? "localhost" : name;
}

}  // namespace weir
