// The ids of histories (replication/history.h).
#pragma once

#include <string>

#include "absl/strings/escaping.h"

#include "core/base/status.h"
#include "core/table/key_hash.h"
#include "replication/history.h"

namespace weir {

// A new history's id: 40 random hexadecimal digits.
[[nodiscard]] inline std::string RandomHistoryId() {
  std::string bytes;
  while (bytes.size() < kHistoryIdBytes / 2) {
    const HashSecret random = RandomHashSecret();
    bytes.append(random.begin(), random.end());
  }
  return absl::BytesToHexString(AbslView(bytes.substr(0, kHistoryIdBytes / 2)));
}

}  // namespace weir
