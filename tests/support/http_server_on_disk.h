// An HTTP server of conversations that keeps its state in a directory of the test.
//
//     HttpServerOnDisk on_disk;
//     on_disk.Load();                                  // before, it answers LOADING
//     HttpConversation client(on_disk.server());
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include <gtest/gtest.h>

#include "server/state/state_on_disk.h"
#include "tests/support/http_conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {

class HttpServerOnDisk {
 public:
  explicit HttpServerOnDisk(Durability durability = Durability::kSnapshot,
                            Options options = DefaultOptions()) {
    options.data_dir = directory_.path() + "/data";
    options.durability = durability;
    options.snapshot_interval = std::chrono::hours{1};
    state_ = *StateOnDisk::Open(options);
    server_ = std::make_unique<HttpTestServer>(
        options, LimiterOptions{.secret = state_->secret(), .logs_changes = true});
    server_->services.state = state_.get();
    server_->services.policies.StartLogging();
  }
  // The state is attached to the server's hub.
  ~HttpServerOnDisk() { state_.reset(); }
  HttpServerOnDisk(const HttpServerOnDisk&) = delete;
  HttpServerOnDisk& operator=(const HttpServerOnDisk&) = delete;

  // Returns after the state, which is empty, is loaded.
  void Load() {
    state_->StartLoading(server_->hub,
                         [](const absl::Status& loaded) { EXPECT_TRUE(loaded.ok()) << loaded; });
    state_->StartSaving(server_->services.settings, [](std::uint64_t, const absl::Status&) {});
  }

  [[nodiscard]] HttpTestServer& server() { return *server_; }

 private:
  const TemporaryDirectory directory_;
  std::unique_ptr<StateOnDisk> state_;
  std::unique_ptr<HttpTestServer> server_;
};

}  // namespace weir
