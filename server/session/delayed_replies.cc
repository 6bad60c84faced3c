#include "server/session/delayed_replies.h"

#include "server/observe/client_registry.h"
#include "server/session/services.h"
#include "server/state/ack_waits.h"

namespace weir {

void ReplyDelay::AwaitSaveOfChange() noexcept {
  const StateOnDisk* state = services_.state;
  if (state && state->always()) awaited_.Add({.save = Awaited::Save::kOfChange});
}

void ReplyDelay::AwaitChange() noexcept {
  changed_ = Changed::kInTurn;
  AwaitSaveOfChange();
  awaited_.Add({.acks = services_.admission().acks_needed()});
}

std::shared_ptr<AckWait> ReplyDelay::AwaitAcksOfLastChange(std::size_t needed) {
  Replication& replication = *services_.replication;
  auto wake = [record = record_] { record->Wake(); };
  last_change_ =
      std::exchange(changed_, Changed::kNo) != Changed::kNo
          ? replication.AwaitAcks(needed, std::move(wake))
          : replication.acks().AddForSameChange(last_change_.get(), needed, std::move(wake));
  return last_change_;
}

}  // namespace weir
