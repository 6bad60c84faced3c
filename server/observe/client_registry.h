// The connected clients, with the fields that CLIENT LIST and INFO show. Every thread may read
// them.
#pragma once

#include <array>
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

// A way to reach the server.
enum class Face : std::uint8_t { kResp, kHttp, kAdmin };
inline constexpr auto kFaceNames = std::to_array<std::string_view>({"resp", "http", "admin"});

// The host of "127.0.0.1:50000" or "[::1]:50000", without brackets; of a Unix socket, its path.
[[nodiscard]] std::string_view HostOf(std::string_view address) noexcept;

// A connection that was accepted and has no record yet.
struct ClientArrival {
  std::uint64_t id;
  std::string address;        // like ClientRecord::address
  std::string local_address;  // like ClientRecord::local_address
  int descriptor;
  HostInstant connected;
  Face face;
};

// One connection. Its session's thread writes it; any thread may read it.
class ClientRecord {
 public:
  explicit ClientRecord(ClientArrival arrival);

  const std::uint64_t id;
  const std::string address;        // of the client, "127.0.0.1:50000"
  const std::string local_address;  // of the server
  const int descriptor;
  const HostInstant connected;
  const Face face;

  std::atomic<HostInstant::rep> last_active_ns;
  std::atomic<const CommandSpec*> last_command{nullptr};
  std::atomic<int> protocol{2};
  std::atomic<int> queued{-1};  // commands since MULTI; -1: outside a transaction

  // A session that waits is blocked until it is answered or another session ends its wait.
  enum class Blocked : std::uint8_t { kNo, kYes, kEndedAsTimeout, kEndedAsError };
  std::atomic<Blocked> blocked{Blocked::kNo};
  std::atomic<bool> monitors{false};   // it sees all commands (MONITOR)
  std::atomic<bool> is_silent{false};  // it wants no replies (CLIENT REPLY OFF)
  // Those that it is subscribed to.
  std::atomic<std::size_t> channels{0};
  std::atomic<std::size_t> patterns{0};
  [[nodiscard]] bool is_subscribed() const noexcept {
    return channels.load(std::memory_order_relaxed) + patterns.load(std::memory_order_relaxed) > 0;
  }
  std::atomic<bool> has_certificate{false};  // it has shown one that tls-ca vouches for
  std::atomic<bool> stays{false};            // it is not closed to save memory (CLIENT NO-EVICT)
  // The memory that its connection uses for it (client_memory.h), and parts of that memory.
  std::atomic<std::size_t> held_bytes{0};
  std::atomic<std::size_t> input_bytes{0};   // incomplete requests
  std::atomic<std::size_t> output_bytes{0};  // replies that wait
  // True once its session executes nothing more and the registry no longer finds it.
  std::atomic<bool> killed{false};

  // Makes the session's thread look at its state. Another thread calls it after it has changed
  // `blocked` or `killed`, ended a pause, or added lines for the session to send.
  void Wake() const;
  // Sets the function that Wake calls, on any thread and under a lock, so it may only post. Empty:
  // the connection is gone.
  void set_on_wake(std::function<void()> on_wake);

  void set_name(std::string name);
  [[nodiscard]] std::string name() const;
  void set_user(std::string name);
  [[nodiscard]] std::string user() const;
  void set_library(std::string name);
  void set_library_version(std::string version);

  [[nodiscard]] bool is_local() const noexcept { return address.starts_with('/'); }  // Unix socket
  // The line of CLIENT LIST, in the form of Redis 7.2, without a line break.
  [[nodiscard]] std::string Line(HostInstant now) const;

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
  // Gives the next id to a connection. The connection counts from now on, and is listed once it is
  // added. The thread that serves it adds it, so that its record lies beside the other memory of
  // the connection. Asio never frees its memory for sockets; a record among that memory could not
  // be returned to the system.
  [[nodiscard]] ClientArrival Announce(std::string address, std::string local_address,
                                       int descriptor, HostInstant connected,
                                       Face face = Face::kResp);
  // Makes the record and lists it until Remove().
  [[nodiscard]] std::shared_ptr<ClientRecord> Add(ClientArrival arrival);
  // Announces and adds a connection, on the thread that serves it.
  [[nodiscard]] std::shared_ptr<ClientRecord> Add(std::string address, std::string local_address,
                                                  int descriptor, HostInstant connected,
                                                  Face face = Face::kResp) {
    return Add(Announce(std::move(address), std::move(local_address), descriptor, connected, face));
  }
  void Remove(const ClientRecord& record);

  // The number of connections that were announced and not removed: all, or those of one face.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t size(Face face) const;
  // Null if there is no such client, or it was killed.
  [[nodiscard]] std::shared_ptr<ClientRecord> Find(std::uint64_t id) const;
  // Oldest first, without killed clients.
  [[nodiscard]] std::vector<std::shared_ptr<ClientRecord>> All() const;

 private:
  mutable Mutex mutex_;
  absl::btree_map<std::uint64_t, std::shared_ptr<ClientRecord>> records_ ABSL_GUARDED_BY(mutex_);
  std::array<std::size_t, kFaceNames.size()> sizes_ ABSL_GUARDED_BY(mutex_) = {};
  std::uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace weir
