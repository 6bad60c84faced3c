#include "server/net/host_look_up.h"

#include <atomic>
#include <thread>
#include <utility>

#include <asio/error.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>

#include "core/base/check.h"
#include "core/base/mutex.h"
#include "server/os/crash_report.h"

namespace weir {
namespace {

using Addresses = std::vector<asio::ip::address>;

std::atomic<std::size_t> under_way{0};

void EndOne() { WEIR_CHECK(under_way.fetch_sub(1) > 0); }

// Blocks. A context that no one runs opens no descriptor.
std::error_code LookUpNow(const std::string& host, Addresses& found) {
  std::error_code error;
  asio::io_context context;
  for (const auto& one : asio::ip::tcp::resolver(context).resolve(host, "", error)) {
    found.push_back(one.endpoint().address());
  }
  if (!error && found.empty()) error = asio::error::host_not_found;
  return error;
}

}  // namespace

// What the object and its thread share.
struct HostLookUp::Shared : std::enable_shared_from_this<Shared> {
  Shared(asio::io_context& the_context, Take the_take)
      : context(the_context), take(std::move(the_take)) {}

  void Answer(std::error_code error, Addresses found) {
    WEIR_CHECK(error || !found.empty());
    MutexLock lock(mutex);
    if (!take) return;
    asio::post(context, [self = shared_from_this(), error, found = std::move(found)] {
      if (const Take told = self->Forget()) told(error, found);
    });
  }
  Take Forget() {
    MutexLock lock(mutex);
    return std::exchange(take, nullptr);
  }

  Mutex mutex;
  asio::io_context& context;         // it lives while there is `take`
  Take take ABSL_GUARDED_BY(mutex);  // null: the answer was given, or is not wanted
};

HostLookUp::HostLookUp(const std::string& host, asio::io_context& context, Take take)
    : shared_(std::make_shared<Shared>(context, std::move(take))) {
  std::error_code error;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (!error) {
    shared_->Answer({}, {address});
    return;
  }
  if (under_way.fetch_add(1) >= kHostLookUpsMax) {
    EndOne();
    shared_->Answer(std::make_error_code(std::errc::resource_unavailable_try_again), {});
    return;
  }
  try {
    std::thread([shared = shared_, host] {
      BeginThread("weir-look-up");
      Addresses found;
      const std::error_code failed = LookUpNow(host, found);
      EndOne();
      shared->Answer(failed, std::move(found));
    }).detach();
  } catch (const std::system_error& no_thread) {
    EndOne();
    shared_->Answer(no_thread.code(), {});
  }
}

HostLookUp::~HostLookUp() { static_cast<void>(shared_->Forget()); }

}  // namespace weir
