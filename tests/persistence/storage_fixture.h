// A fixture for tests of a data directory: servers start, save and end on it, and between them the
// test writes records there through the database alone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

#include "persistence/database.h"
#include "persistence/format.h"
#include "tests/persistence/kept_server.h"
#include "tests/support/temporary_directory.h"

namespace weir {

class StorageTest : public testing::Test {
 protected:
  void Start() {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  void Save() { EXPECT_TRUE(server_.Save().ok()); }

  // Writes one record while no server uses the directory.
  void Write(const std::string& key, const std::string& value) {
    const auto database = Database::Open({.directory = directory_.path()});
    ASSERT_TRUE(database.ok()) << database.status();
    EXPECT_TRUE((*database)->Write(1, [&](Database::Writer& to) { to.Put(key, value); }).ok());
  }
  std::size_t CountRecords(char prefix) {
    const auto database = Database::Open({.directory = directory_.path()});
    std::size_t count = 0;
    EXPECT_TRUE((*database)
                    ->Scan(std::string(1, prefix),
                           [&](std::string_view key, std::string_view) {
                             if (key[0] != prefix) return false;
                             ++count;
                             return true;
                           })
                    .ok());
    return count;
  }
  static std::string KeyOf(const BucketKey& key) {
    std::string bytes;
    AppendBucketKey(key, bytes);
    return bytes;
  }
  static std::string ValueOf(const Bucket& bucket) {
    std::string bytes;
    AppendBucketValue(bucket, bytes);
    return bytes;
  }

  TemporaryDirectory directory_;
  FakeClock clock_;
  KeptServer server_{clock_, {.directory = directory_.path()}};
};

}  // namespace weir
