#include "server/handlers/aside_waiter.h"

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/session/waiter.h"

namespace weir {
namespace {

// The work, shared by both threads.
struct Shared {
  explicit Shared(AsideWork given) : work(std::move(given)) {}

  const AsideWork work;
  absl::Status result;  // set when the work is over
  std::atomic<bool> is_over{false};
};

class AsideWaiter final : public Waiter {
 public:
  AsideWaiter(Worker& worker, std::shared_ptr<const Shared> shared)
      : worker_(worker), shared_(std::move(shared)) {}

  // A change waits for the end of a pause, too.
  [[nodiscard]] HostInstant ReadyAt(const Clock::Reading& /*at*/) const override {
    if (!is_over()) return kHostInstantMax;
    return has_changed() ? worker_.services.pause.until() : HostInstant{};
  }
  [[nodiscard]] bool is_over() const { return shared_->is_over.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t held_bytes() const override { return sizeof(*this) + sizeof(Shared); }
  [[nodiscard]] bool is_of_primary() const override { return has_changed(); }
  [[nodiscard]] bool has_changed() const override { return shared_->work.changes; }
  [[nodiscard]] bool Serve(RespWriter& reply, Instant /*now*/) override {
    const auto& then = shared_->work.then;
    const absl::Status status = shared_->result.ok() && then ? then() : shared_->result;
    if (status.ok()) {
      reply.SimpleString("OK");
    } else {
      worker_.Fail(reply, absl::StrCat("ERR ", status.message()));
    }
    return status.ok();
  }
  void Withdraw(RespWriter& reply, Instant /*now*/) override {
    worker_.Fail(reply, shared_->work.unblocked);
  }

 private:
  Worker& worker_;
  const std::shared_ptr<const Shared> shared_;
};

}  // namespace

absl::Status AnswerFromAside(Call& call, AsideWork work) {
  const auto shared = std::make_shared<Shared>(std::move(work));
  absl::Status begun =
      call.services().run_aside([shared] { shared->result = shared->work.aside(); },
                                [shared, record = call.client().shared_record()] {
                                  shared->is_over.store(true, std::memory_order_release);
                                  record->Wake();
                                });
  if (!begun.ok()) return begun;
  auto waiter = std::make_unique<AsideWaiter>(call.session.worker(), shared);
  if (!waiter->is_over()) {
    call.session.Wait(std::move(waiter));
    return absl::OkStatus();
  }
  call.failed = !waiter->Serve(call.reply, call.now);
  if (!call.failed && waiter->has_changed()) call.MarkDirty();
  return absl::OkStatus();
}

}  // namespace weir
