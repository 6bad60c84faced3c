#include "tests/server/waiting_names.h"

#include <condition_variable>
#include <mutex>

#include <dlfcn.h>
#include <netdb.h>

namespace weir {
namespace {

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_silent = false;
  std::size_t waiting = 0;
};

State& TheState() {
  static State state;
  return state;
}

// Waits until look-ups of that name fail, and returns true. Returns false immediately for other
// names.
bool Wait(const char* name) {
  if (name == nullptr || WaitingNames::name() != name) return false;
  State& state = TheState();
  std::unique_lock lock(state.mutex);
  ++state.waiting;
  state.changed.notify_all();
  state.changed.wait(lock, [&] { return !state.is_silent; });
  --state.waiting;
  state.changed.notify_all();
  return true;
}

}  // namespace

WaitingNames::WaitingNames() {
  const std::lock_guard lock(TheState().mutex);
  TheState().is_silent = true;
}

WaitingNames::~WaitingNames() {
  Release();
  std::unique_lock lock(TheState().mutex);
  TheState().changed.wait(lock, [] { return TheState().waiting == 0; });
}

void WaitingNames::AwaitLookUps(std::size_t count) {
  std::unique_lock lock(TheState().mutex);
  TheState().changed.wait(lock, [&] { return TheState().waiting >= count; });
}

void WaitingNames::Release() {
  const std::lock_guard lock(TheState().mutex);
  TheState().is_silent = false;
  TheState().changed.notify_all();
}

}  // namespace weir

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  if (weir::Wait(name)) return EAI_AGAIN;
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return next(name, service, hints, found);
}
