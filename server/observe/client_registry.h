// The connected clients, with what CLIENT LIST and INFO show of each, readable by every thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"

#include "core/base/instant.h"
#include "core/base/mutex.h"

namespace weir {

struct CommandSpec;

// A connection that was accepted and has no record yet.
struct ClientArrival {
  std::uint64_t id;
  std::string address;        // as ClientRecord's
  std::string local_address;  // the same
  int descriptor;
  Instant connected;
};

// One connection. Written by its session's thread, read by any.
class ClientRecord {
 public:
  explicit ClientRecord(ClientArrival arrival);

  const std::uint64_t id;
  const std::string address;        // of the client, "127.0.0.1:50000"
  const std::string local_address;  // of ours
  const int descriptor;
  const Instant connected;

  std::atomic<Instant::rep> last_active_ns;
  std::atomic<const CommandSpec*> last_command{nullptr};
  std::atomic<int> protocol{2};
  std::atomic<int> queued{-1};  // commands since MULTI; -1: there was none

  // A session that waits is blocked until it is served or another session ends its wait.
  enum class Blocked : std::uint8_t { kNo, kYes, kEndedAsTimeout, kEndedAsError };
  std::atomic<Blocked> blocked{Blocked::kNo};
  std::atomic<bool> monitors{false};  // it sees all commands (MONITOR)
  std::atomic<bool> stays{false};     // it is not closed to save memory (CLIENT NO-EVICT)
  // Memory that its connection holds for it (client_memory.h), and parts of it.
  std::atomic<std::size_t> held_bytes{0};
  std::atomic<std::size_t> input_bytes{0};   // of requests that are not complete
  std::atomic<std::size_t> output_bytes{0};  // of replies that wait
  // Its session executes nothing more, and the registry no longer finds it.
  std::atomic<bool> killed{false};

  // What another thread does that has changed `blocked` or `killed`, ended what holds the session
  // up, or has news for it: lets its own thread look.
  void Wake() const;
  // Called by Wake, on any thread, with a lock held: it may only post. Empty: the connection is
  // gone.
  void set_on_wake(std::function<void()> on_wake);

  void set_name(std::string name);
  [[nodiscard]] std::string name() const;
  void set_user(std::string name);  // of a new connection: that of a client that need not log in
  [[nodiscard]] std::string user() const;
  void set_library(std::string name);
  void set_library_version(std::string version);

  [[nodiscard]] bool is_local() const noexcept { return address.starts_with('/'); }  // Unix socket
  // The line of CLIENT LIST, in the form of Redis 7.2, without its end.
  [[nodiscard]] std::string Line(Instant now) const;

 private:
  mutable Mutex mutex_;
  std::function<void()> on_wake_ ABSL_GUARDED_BY(mutex_);
  std::string name_ ABSL_GUARDED_BY(mutex_);
  std::string user_ ABSL_GUARDED_BY(mutex_);
  std::string library_ ABSL_GUARDED_BY(mutex_);
  std::string library_version_ ABSL_GUARDED_BY(mutex_);
};

// All connections. Thread-safe.
class ClientRegistry {
 public:
  // Gives the next id to a connection, which is counted from now on and listed once it is added.
  // The thread that serves it adds it, so that its memory lies with the rest of that connection:
  // with Asio's memory of sockets in between, which is kept, none of it would go back to the
  // system.
  [[nodiscard]] ClientArrival Announce(std::string address, std::string local_address,
                                       int descriptor, Instant connected);
  // Makes the record, listed until it is removed.
  [[nodiscard]] std::shared_ptr<ClientRecord> Add(ClientArrival arrival);
  // Both, for a caller that has a connection of its own.
  [[nodiscard]] std::shared_ptr<ClientRecord> Add(std::string address, std::string local_address,
                                                  int descriptor, Instant connected) {
    return Add(Announce(std::move(address), std::move(local_address), descriptor, connected));
  }
  void Remove(const ClientRecord& record);

  // Connections that were announced and not removed.
  [[nodiscard]] std::size_t size() const;
  // Null if there is none, or it was killed.
  [[nodiscard]] std::shared_ptr<ClientRecord> Find(std::uint64_t id) const;
  // Oldest first, without who was killed.
  [[nodiscard]] std::vector<std::shared_ptr<ClientRecord>> All() const;

 private:
  mutable Mutex mutex_;
  absl::btree_map<std::uint64_t, std::shared_ptr<ClientRecord>> records_ ABSL_GUARDED_BY(mutex_);
  std::size_t announced_ ABSL_GUARDED_BY(mutex_) = 0;  // and not added
  std::uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace weir
