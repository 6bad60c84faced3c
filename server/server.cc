#include "server/server.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "core/base/time_zones.h"
#include "core/limiter/change_hub.h"
#include "core/limiter/limiter.h"
#include "core/policies/policy_file.h"
#include "core/table/key_hash.h"
#include "server/edge/edge_desk.h"
#include "server/grpc/http_port.h"
#include "server/health/health_watch.h"
#include "server/http/check_routes.h"
#include "server/http/http_services.h"
#include "server/net/io_thread.h"
#include "server/net/listener.h"
#include "server/net/redis_port.h"
#include "server/net/tls_context.h"
#include "server/net/unix_socket_file.h"
#include "server/os/descriptor_limit.h"
#include "server/os/followed_clock.h"
#include "server/os/log.h"
#include "server/os/service_manager.h"
#include "server/os/side_thread.h"
#include "server/os/signals.h"
#include "server/os/system_clock.h"
#include "server/os/waiting_thread.h"
#include "server/page/api_numbers.h"
#include "server/password_reload.h"
#include "server/policy_reload.h"
#include "server/repeated_call.h"
#include "server/replicas/own_address.h"
#include "server/replicas/replication_control.h"
#include "server/service_reporter.h"
#include "server/state/state_on_disk.h"
#include "server/state/sweeper_thread.h"
#include "server/xds/rls_service.h"

namespace weir {
namespace {

constexpr unsigned kDefaultThreadsMax = 8;
constexpr std::size_t kSideTasksMax = 64;

// The lag of the wall clock from which on it is logged.
constexpr std::chrono::minutes kClockLagLoggedMin{1};

// Returns the options with the real numbers of threads and clients, and without the password.
Options EffectiveOptions(Options options) {
  options.requirepass = {};  // Services wipes the other password if it is not needed.
  if (options.threads == 0 && options.is_edge()) options.threads = 1;
  if (options.threads == 0) {
    options.threads = std::clamp(std::thread::hardware_concurrency(), 1U, kDefaultThreadsMax);
  }
  const DescriptorBudget budget =
      FitClientsToDescriptors(options.max_clients, DescriptorUseOf(options));
  if (budget.clients < options.max_clients && budget.clients > 0) {
    spdlog::warn("max-clients is {} instead of {}: the limit on open files (ulimit -n) is {}",
                 budget.clients, options.max_clients, budget.limit);
  }
  options.max_clients = budget.clients;
  return options;
}

}  // namespace

// The members are declared in an order that is safe for their destruction.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
class Server::Impl {
 public:
  Impl(const Options& options, std::optional<SystemClock::Source> clocks)
      : control_(1),
        work_(control_.get_executor()),
        signals_(control_),
        deadline_(control_),
        state_(StateOnDisk::Open(options)),
        system_clock_(clocks ? SystemClock(*std::move(clocks), previous_run())
                             : SystemClock(previous_run())),
        clock_(system_clock_),
        limiter_({.secret = has_state() ? (*state_)->secret() : RandomHashSecret(),
                  .max_wait = options.max_wait,
                  .holds_max = static_cast<std::size_t>(options.max_holds),
                  .time_is_ordered = !options.allow_explicit_time,
                  .logs_changes = has_state(),
                  .memory_max = static_cast<std::size_t>(options.max_memory.bytes),
                  .present =
                      [this](const Limit& interned) {
                        return services_.policies.PresentLimit(interned);
                      }}),
        services_(EffectiveOptions(options), clock_, limiter_),
        hub_(limiter_.table(), services_.policies, clock_, !options.allow_explicit_time),
        reporter_(control_, ServiceManager::FromEnvironment(), services_, io_threads_) {
    if (has_state()) {
      services_.state = state_->get();
      services_.policies.StartLogging();
    }
    replication_.emplace(
        ReplicationControl::Dependencies{.control = control_,
                                         .services = services_,
                                         .hub = hub_,
                                         .clock = clock_,
                                         .threads = io_threads_,
                                         .link_tls = link_tls(),
                                         .is_backup = has_state() && (*state_)->is_backup(),
                                         .may_lack = has_state() && (*state_)->may_lack(),
                                         .has_losses = has_state() && (*state_)->has_losses()},
        has_state() ? (*state_)->history() : std::string());
    services_.replication = &*replication_;
    if (has_state()) {
      (*state_)->KeepHistory(*replication_);
      // An empty directory has no last time, nor has one whose time is dropped.
      const Instant last = previous_run().last_time;
      if (replication_->is_replica() && last != Instant{}) clock_.RunOn(last);
      if (!replication_->is_replica() && (*state_)->kept_shift() != Nanos{0}) {
        clock_.Continue((*state_)->kept_shift());
      }
    }
    access_ = services_.access.Configure(options.requirepass.text(), options.users_file);
    services_.host_clock_offset = [this] { return system_clock_.OffsetToWallClock(); };
    services_.wall_clock_offset = [this] { return OffsetToWallClock(); };
    services_.request_shutdown = [this](bool saves) { RequestShutdown(saves); };
    services_.run_aside = [this](std::function<void()> task, std::function<void()> done) {
      return side_thread_.Run(std::move(task), std::move(done));
    };
    services_.settings.OnChange(
        [this](const Options&) { asio::post(control_, [this] { OnNewSettings(); }); });
  }

  // Ends the threads before the members that their connections use are destroyed.
  ~Impl() {
    sweeper_thread_.reset();
    replication_->Stop();
    if (has_state()) (*state_)->Halt();
    io_threads_.clear();
    if (has_state()) state_->reset();  // its saver is attached to the hub
  }

  absl::Status Start();
  absl::Status HandleSignals();
  absl::Status Run();
  void RequestShutdown(bool saves) {
    asio::post(control_, [this, saves] {
      saves_at_end_ = saves_at_end_ && saves;
      BeginDrain();
    });
  }
  Services& services() noexcept { return services_; }

 private:
  [[nodiscard]] bool has_state() const noexcept { return state_.ok() && *state_ != nullptr; }
  [[nodiscard]] SystemClock::PreviousRun previous_run() const noexcept {
    return has_state() ? (*state_)->previous_run() : SystemClock::PreviousRun{};
  }
  [[nodiscard]] bool serves_tls() const noexcept {
    return services_.options.tls_port != 0 || services_.options.http_tls_port != 0;
  }
  [[nodiscard]] bool uses_tls() const noexcept {
    return serves_tls() || services_.options.replication_tls;
  }
  [[nodiscard]] const SharedTlsContext* link_tls() const noexcept {
    return services_.options.replication_tls ? &link_tls_ : nullptr;
  }
  // The time by which the wall clock is ahead of clock_.
  [[nodiscard]] Nanos OffsetToWallClock() const {
    return system_clock_.OffsetToWallClock() - clock_.shift();
  }
  absl::Status Listen();
  using ListenFunction = decltype(&Listener::Listen);
  absl::Status ListenIfAsked(ListenFunction listen, const PortProtocol& protocol,
                             const std::vector<std::string>& addresses, std::int64_t port);
  void OnLoaded(const absl::Status& loaded);
  void OnNewSettings();
  absl::Status BeginService();
  void OnSignal(const ReceivedSignal& signal);
  absl::Status LoadTls();
  void ReloadTls();
  absl::Status LoadChecks();
  void ReloadChecks();
  void BeginDrain();
  void OnThreadEnd();

  asio::io_context control_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  SignalReader signals_;
  asio::steady_timer deadline_;
  absl::StatusOr<std::unique_ptr<StateOnDisk>> state_;  // null: nothing is kept on disk
  const SystemClock system_clock_;
  FollowedClock clock_;
  Limiter limiter_;
  Services services_;
  ChangeHub hub_;
  HttpServices http_;
  ServiceReporter reporter_;
  HealthWatch health_{services_};
  RlsService rls_{control_, services_};
  RepeatedCall looks_{control_, kLookInterval, [this] {
                        health_.Look();
                        rls_.Look();
                      }};
  std::vector<std::unique_ptr<IoThread>> io_threads_;
  SharedTlsContext link_tls_;  // loaded if the link to a primary speaks TLS
  std::optional<ReplicationControl> replication_;
  std::optional<Listener> listener_;
  WaitingThread sweeper_waits_{"weir-sweeper"};
  std::optional<SweeperThread> sweeper_thread_;
  SideThread side_thread_{kSideTasksMax};
  std::optional<PolicyFile> policy_file_;  // read at the start, in force once the state is loaded
  absl::Status access_;                    // the result of reading the users
  absl::Status failure_;                   // the reason why the server ends, if it is a failure
  std::size_t threads_running_ = 0;
  bool draining_ = false;
  bool saves_at_end_ = true;
};

absl::Status Server::Impl::Start() {
  if (!state_.ok()) return state_.status();
  if (!access_.ok()) return access_;
  const Options& options = services_.options;
  WEIR_RETURN_IF_ERROR(CheckTogether(services_.settings.All()));
  if (options.max_clients < 1) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the limit on open files (ulimit -n) is too low: it must be at least ",
                     DescriptorsFor(1, DescriptorUseOf(options))));
  }
  if (SystemTimeZones().size() == 1) {  // Loads them, so that no request does.
    spdlog::warn("there is no database of time zones (/usr/share/zoneinfo): limits have only UTC");
  }
  if (!options.policies.empty()) {
    absl::StatusOr<PolicyFile> file = ReadPolicyFile(options.policies);
    if (!file.ok()) return file.status();
    policy_file_ = *std::move(file);
  }
  WEIR_RETURN_IF_ERROR(LoadChecks());
  WEIR_RETURN_IF_ERROR(rls_.Start());
  http_.rls = rls_.rules();
  for (std::int64_t i = 0; i < options.threads; ++i) {
    io_threads_.push_back(std::make_unique<IoThread>(services_));
    if (options.is_edge()) BecomeEdge(*io_threads_.back(), link_tls());
    io_threads_.back()->OnHandOver([this](Transport transport, SyncHandOver sync) {
      replication_->Adopt(std::move(transport), std::move(sync));
    });
  }
  listener_.emplace(control_, services_, io_threads_);
  WEIR_RETURN_IF_ERROR(Listen());
  const absl::Status follows = CheckReplicaOf(options, services_.port);
  if (!follows.ok()) spdlog::warn("{}", StdView(follows.message()));
  for (std::size_t i = 0; i < io_threads_.size(); ++i) {
    ++threads_running_;
    io_threads_[i]->Start(absl::StrCat("weir-io-", i),
                          [this] { asio::post(control_, [this] { OnThreadEnd(); }); });
  }
  if (options.allow_explicit_time) {
    spdlog::warn(
        "clients may set the time of a decision (--allow-explicit-time): full buckets are never "
        "dropped");
  }
  if (const Nanos behind = -OffsetToWallClock(); behind > kClockLagLoggedMin) {
    spdlog::warn(
        "the wall clock is {} s behind the time in the data directory: continuing from that time, "
        "see --reset-clock",
        std::chrono::floor<std::chrono::seconds>(behind).count());
  }
  reporter_.Start();
  looks_.Start();
  if (!has_state()) {
    if (!options.is_edge()) spdlog::info("the state is not saved to disk: see --data-dir");
    WEIR_RETURN_IF_ERROR(BeginService());
  } else {
    if (system_clock_.began_past_wall_clock()) (*state_)->KeepClockPast();
    (*state_)->StartLoading(hub_, [this](const absl::Status& loaded) {
      asio::post(control_, [this, loaded] { OnLoaded(loaded); });
    });
  }
  health_.Look();
  listener_->Start();
  return absl::OkStatus();
}

absl::Status Server::Impl::Listen() {
  const Options& options = services_.options;
  if (uses_tls()) {
    if (!KeepTlsKeysOutOfDumps()) spdlog::warn("cannot keep the TLS key out of core dumps");
    WEIR_RETURN_IF_ERROR(LoadTls());
  }
  if (!options.tls_only) {
    const auto used =
        listener_->Listen(RedisProtocol(), options.bind, static_cast<std::uint16_t>(options.port));
    if (!used.ok()) return used.status();
    services_.port = *used;
  }
  WEIR_RETURN_IF_ERROR(
      ListenIfAsked(&Listener::ListenForTls, RedisProtocol(), options.bind, options.tls_port));
  const PortProtocol http = HttpProtocol(Face::kHttp, http_);
  for (const std::uint16_t port : options.http_port.ports)
    WEIR_RETURN_IF_ERROR(ListenIfAsked(&Listener::Listen, http, options.http_bind, port));
  WEIR_RETURN_IF_ERROR(
      ListenIfAsked(&Listener::ListenForTls, http, options.http_bind, options.http_tls_port));
  WEIR_RETURN_IF_ERROR(ListenIfAsked(&Listener::Listen, HttpProtocol(Face::kAdmin, http_),
                                     options.admin_bind, options.admin_port));
  const mode_t mode = ModeOf(options.unix_socket_perm);
  if (!options.unix_socket.empty()) {
    WEIR_RETURN_IF_ERROR(listener_->ListenOnUnixSocket(RedisProtocol(), options.unix_socket, mode));
  }
  if (options.http_unix_socket.empty()) return absl::OkStatus();
  return listener_->ListenOnUnixSocket(http, options.http_unix_socket, mode);
}

// Listens on a port of an option, unless that is 0.
absl::Status Server::Impl::ListenIfAsked(ListenFunction listen, const PortProtocol& protocol,
                                         const std::vector<std::string>& addresses,
                                         std::int64_t port) {
  if (port == 0) return absl::OkStatus();
  return std::invoke(listen, *listener_, protocol, addresses, static_cast<std::uint16_t>(port))
      .status();
}

// Starts to serve the commands that need the state.
absl::Status Server::Impl::BeginService() {
  // Without a file, this retires the policies of an earlier run's file. A replica has those of its
  // primary.
  if (!replication_->is_replica()) {
    WEIR_RETURN_IF_ERROR(services_.ReplacePolicyFile(policy_file_.value_or(PolicyFile{})));
  }
  WEIR_RETURN_IF_ERROR(rls_.Begin());
  if (!services_.options.is_edge()) replication_->Start();
  SweeperThread::OnTick on_tick;
  if (services_.options.admin_port != 0) {
    on_tick = [this](Instant now) { UpdateHistory(http_.history, services_, now); };
  }
  using Sweeps = SweeperThread::Sweeps;
  sweeper_thread_.emplace(sweeper_waits_, services_.sweeper, services_.policies, clock_,
                          std::move(on_tick),
                          services_.options.allow_explicit_time ? Sweeps::kNo : Sweeps::kYes);
  reporter_.Ready();
  return absl::OkStatus();
}

void Server::Impl::OnLoaded(const absl::Status& loaded) {
  if (draining_) return;
  failure_ = loaded.ok() ? BeginService() : loaded;
  if (!failure_.ok()) return BeginDrain();
  (*state_)->StartSaving(services_.settings,
                         [this](std::uint64_t ticket, const absl::Status& saved) {
                           if (!saved.ok()) replication_->OnSaveFailed(ticket);
                           for (const std::unique_ptr<IoThread>& thread : io_threads_)
                             thread->OnSaved(ticket, saved);
                         });
  replication_->SaveWhatIsAsked();
  health_.Look();  // Nothing is loading any more.
  const LoadReport& report = (*state_)->load_report();
  spdlog::info(
      "loaded {} buckets in {} ms{}; dropped {} that were full or without a policy, and {} "
      "bad records",
      report.loaded.load(), CeilMillis((*state_)->load_time()),
      (*state_)->unclean_restart() ? " after an unclean stop" : "", report.dropped.load(),
      report.bad.load());
}

// Applies the settings that are not read at each use of them.
void Server::Impl::OnNewSettings() {
  for (const std::unique_ptr<IoThread>& thread : io_threads_) thread->WatchIdle();
}

absl::Status Server::Impl::Run() {
  replication_->TakeOverControl();
  listener_->TakeOverControl();
  control_.run();
  sweeper_thread_.reset();
  replication_->Stop();
  if (!has_state() || !saves_at_end_) return failure_;
  const absl::Status saved = (*state_)->Stop();
  return failure_.ok() ? saved : failure_;
}

absl::Status Server::Impl::HandleSignals() {
  return signals_.Read([this](const ReceivedSignal& signal) { OnSignal(signal); });
}

void Server::Impl::OnSignal(const ReceivedSignal& signal) {
  const std::string_view name = signal.number == SIGHUP   ? "SIGHUP"
                                : signal.number == SIGINT ? "SIGINT"
                                                          : "SIGTERM";
  spdlog::info("received {} from {}", name, signal.sender);
  if (signal.number == SIGHUP) {
    reporter_.Reloading();
    ReloadTls();
    ReloadPasswords(services_);
    ReloadChecks();
    ReloadPolicyFile(services_);
    rls_.Reload();
    return reporter_.Reloaded();
  }
  BeginDrain();
}

// Replaces all routes of checks, or none of them.
absl::Status Server::Impl::LoadChecks() {
  const std::string& path = services_.options.checks;
  if (path.empty()) return absl::OkStatus();
  absl::StatusOr<CheckRoutes> routes = ReadCheckRoutes(
      path, [this](std::string_view name) { return services_.access.FindActive(name) != nullptr; });
  if (!routes.ok()) return routes.status();
  http_.checks.Replace(*std::move(routes));
  return absl::OkStatus();
}

void Server::Impl::ReloadChecks() {
  if (services_.options.checks.empty()) return;
  const absl::Status reloaded = LoadChecks();
  if (reloaded.ok()) return spdlog::info("received SIGHUP: read the routes of checks again");
  spdlog::error("received SIGHUP: the routes of checks are unchanged: {}",
                EscapedForLog(StdView(reloaded.message())));
}

// Replaces the certificate, key and authority together, or none of them: for new clients, and for
// the next connection to a primary.
absl::Status Server::Impl::LoadTls() {
  const Options& options = services_.options;
  std::vector<TlsContext> loaded;
  const auto load = [&](auto how) {
    absl::StatusOr<TlsContext> context = how(options);
    if (!context.ok()) return context.status();
    loaded.push_back(*std::move(context));
    return absl::OkStatus();
  };
  if (serves_tls()) WEIR_RETURN_IF_ERROR(load(TlsContext::Load));
  if (options.replication_tls) WEIR_RETURN_IF_ERROR(load(TlsContext::LoadForLink));
  if (loaded.front().is_expired()) {
    spdlog::warn("the TLS certificate {} has expired", EscapedForLog(options.tls_cert));
  }
  if (options.replication_tls) link_tls_.Replace(std::move(loaded.back()));
  if (serves_tls()) listener_->ReplaceTls(std::move(loaded.front()));
  return absl::OkStatus();
}

void Server::Impl::ReloadTls() {
  if (!uses_tls()) return;
  const absl::Status loaded = LoadTls();
  if (loaded.ok()) return spdlog::info("received SIGHUP: read the TLS files again");
  spdlog::error("received SIGHUP: the TLS certificate is unchanged: {}",
                EscapedForLog(StdView(loaded.message())));
}

void Server::Impl::BeginDrain() {
  if (draining_) return;
  draining_ = true;
  replication_->KeepRole();
  reporter_.Stopping();
  looks_.Stop();
  rls_.Stop();
  listener_->Close();
  signals_.Close();
  // A process that waits for this line may send the next signal.
  spdlog::info("shutting down, {} clients are connected", services_.clients.size());
  IoThread::DrainAll(io_threads_);
  deadline_.expires_after(kDrainTime);
  deadline_.async_wait([this](std::error_code error) {
    if (error) return;
    spdlog::warn("closing {} clients that have not read their replies in time",
                 services_.clients.size());
    for (const std::unique_ptr<IoThread>& thread : io_threads_) thread->Stop();
  });
}

void Server::Impl::OnThreadEnd() {
  if (--threads_running_ > 0) return;
  deadline_.cancel();
  work_.reset();  // The context has no more work, so Run() returns.
}

Server::Server(const Options& options) : impl_(std::make_unique<Impl>(options, std::nullopt)) {}
Server::Server(const Options& options, SystemClock::Source clocks)
    : impl_(std::make_unique<Impl>(options, std::move(clocks))) {}
Server::~Server() = default;
absl::Status Server::Start() { return impl_->Start(); }
absl::Status Server::HandleSignals() { return impl_->HandleSignals(); }
absl::Status Server::Run() { return impl_->Run(); }
void Server::RequestShutdown(bool saves) { impl_->RequestShutdown(saves); }
std::uint16_t Server::port() const noexcept { return impl_->services().port; }
Services& Server::services() noexcept { return impl_->services(); }

}  // namespace weir
