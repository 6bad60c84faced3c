#include "server/observe/client_registry.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/commands/command_spec.h"

namespace weir {
namespace {

// A killed client stays in the registry until its connection ends on its own thread.
bool IsKilled(const ClientRecord& record) { return record.killed.load(std::memory_order_relaxed); }

}  // namespace

std::string_view HostOf(std::string_view address) noexcept {
  std::string_view host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

ClientRecord::ClientRecord(ClientArrival arrival)
    : id(arrival.id),
      address(std::move(arrival.address)),
      local_address(std::move(arrival.local_address)),
      descriptor(arrival.descriptor),
      connected(arrival.connected),
      face(arrival.face),
      last_active_ns(arrival.connected.time_since_epoch().count()) {}

void ClientRecord::set_name(std::string name) {
  MutexLock lock(mutex_);
  name_ = std::move(name);
}

std::string ClientRecord::name() const {
  MutexLock lock(mutex_);
  return name_;
}

void ClientRecord::Wake() const {
  MutexLock lock(mutex_);
  if (on_wake_) on_wake_();
}

void ClientRecord::set_on_wake(std::function<void()> on_wake) {
  MutexLock lock(mutex_);
  on_wake_ = std::move(on_wake);
}

void ClientRecord::set_user(std::string name) {
  MutexLock lock(mutex_);
  user_ = std::move(name);
}

std::string ClientRecord::user() const {
  MutexLock lock(mutex_);
  return user_;
}

void ClientRecord::set_library(std::string name) {
  MutexLock lock(mutex_);
  library_ = std::move(name);
}

void ClientRecord::set_library_version(std::string version) {
  MutexLock lock(mutex_);
  library_version_ = std::move(version);
}

std::string ClientRecord::Line(HostInstant now) const {
  const auto seconds_since = [now](HostInstant then) {
    return std::chrono::duration_cast<std::chrono::seconds>(now - then).count();
  };
  const HostInstant active{Nanos{last_active_ns.load(std::memory_order_relaxed)}};
  const CommandSpec* command = last_command.load(std::memory_order_relaxed);
  const std::string command_name = command ? LowerName(*command) : "NULL";
  const int in_queue = queued.load(std::memory_order_relaxed);
  const bool is_blocked = blocked.load(std::memory_order_relaxed) != Blocked::kNo;
  std::string flags = is_blocked ? "b" : in_queue >= 0 ? "x" : "";  // never both
  if (monitors.load(std::memory_order_relaxed)) flags.insert(0, "O");
  if (is_subscribed()) flags.insert(0, "P");
  if (is_local()) flags += 'U';
  if (stays.load(std::memory_order_relaxed)) flags += 'e';
  if (flags.empty()) flags = "N";
  MutexLock lock(mutex_);
  return absl::StrCat(
      "id=", id, " addr=", address, " laddr=", local_address, " fd=", descriptor, " name=", name_,
      " age=", seconds_since(connected), " idle=", seconds_since(active), " flags=", flags,
      " db=0 sub=", channels.load(std::memory_order_relaxed),
      " psub=", patterns.load(std::memory_order_relaxed), " ssub=0 multi=", in_queue,
      " qbuf=", input_bytes.load(std::memory_order_relaxed),
      " qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=",
      output_bytes.load(std::memory_order_relaxed),
      " tot-mem=", held_bytes.load(std::memory_order_relaxed), " events=r cmd=", command_name,
      " user=", user_, " redir=-1 resp=", protocol.load(std::memory_order_relaxed),
      " lib-name=", library_, " lib-ver=", library_version_);
}

ClientArrival ClientRegistry::Announce(std::string address, std::string local_address,
                                       int descriptor, HostInstant connected, Face face) {
  MutexLock lock(mutex_);
  ++sizes_[static_cast<std::size_t>(face)];
  return {next_id_++, std::move(address), std::move(local_address), descriptor, connected, face};
}

std::shared_ptr<ClientRecord> ClientRegistry::Add(ClientArrival arrival) {
  auto record = std::make_shared<ClientRecord>(std::move(arrival));
  MutexLock lock(mutex_);
  records_.emplace(record->id, record);
  return record;
}

void ClientRegistry::Remove(const ClientRecord& record) {
  MutexLock lock(mutex_);
  if (records_.erase(record.id) > 0) --sizes_[static_cast<std::size_t>(record.face)];
}

std::size_t ClientRegistry::size() const {
  MutexLock lock(mutex_);
  return std::accumulate(sizes_.begin(), sizes_.end(), std::size_t{0});
}

std::size_t ClientRegistry::size(Face face) const {
  MutexLock lock(mutex_);
  return sizes_[static_cast<std::size_t>(face)];
}

std::shared_ptr<ClientRecord> ClientRegistry::Find(std::uint64_t id) const {
  MutexLock lock(mutex_);
  const auto record = records_.find(id);
  return record == records_.end() || IsKilled(*record->second) ? nullptr : record->second;
}

std::vector<std::shared_ptr<ClientRecord>> ClientRegistry::All() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<ClientRecord>> all;
  all.reserve(records_.size());
  for (const auto& [id, record] : records_) {
    if (!IsKilled(*record)) all.push_back(record);
  }
  return all;
}

}  // namespace weir
