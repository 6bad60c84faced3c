// The process as the kernel sees it: its time on processors, its open files and its host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/instant.h"

namespace weir {

// The time that all threads of the process have run, in user mode and in the kernel.
[[nodiscard]] Nanos ProcessorTime();

// The number of open file descriptors; nothing if the kernel does not tell it. Cost: 0.2 us, or
// with kernels before 6.2 as much for each descriptor.
[[nodiscard]] std::optional<std::uint64_t> OpenDescriptors();

// The limit on them (ulimit -n).
[[nodiscard]] std::uint64_t DescriptorsMax();

// The name of the host; "localhost" if it has none.
[[nodiscard]] std::string NameOfHost();

}  // namespace weir
