#include "weir/wire/route.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "weir/core/causes.h"

namespace weir::client {
namespace {

const TlsContext* PointerTo(const std::optional<TlsContext>& tls) { return tls ? &*tls : nullptr; }

// The place in a Sentinel's reply: a host and a port. Nothing if it knows no primary.
std::optional<Place> ReadPlace(const Reply& reply) {
  if (reply.array.size() != 2 || reply.array[0].text.empty()) return {};
  const std::string& digits = reply.array[1].text;
  Place place{reply.array[0].text, 0};
  std::from_chars(digits.data(), digits.data() + digits.size(), place.port);
  if (place.port == 0) return {};
  return place;
}

}  // namespace

Route::Route(const Settings& settings) : address_(settings.address), deadline_(settings.deadline) {
  if (address_.uses_tls) tls_.emplace(settings.tls);
  if (address_.master.empty()) {
    known_.primary = address_.places[0];
  } else {
    known_.sentinels = address_.places;
  }
}

Connected Route::Connect(const Until& until) {
  const Known known = this->known();
  std::optional<Place> primary = known.primary;
  if (!primary) primary = AskSentinels(known.sentinels, until);
  if (!primary) return {.answer = Answer::Lost(kNoPrimary, "no Sentinel names a primary")};
  auto link = std::make_unique<Link>();
  if (std::optional<Failure> failure = link->Dial(*primary, PointerTo(tls_), until)) {
    return {.answer = Answer::Lost(failure->cause, std::move(failure->text))};
  }
  if (address_.has_login()) {
    Words words = {"AUTH"};
    if (!address_.username.empty()) words.push_back(address_.username);
    words.push_back(address_.password.value_or(""));
    Answer answer = link->Ask(words, until);
    answer.is_login = true;
    if (!answer.is_reply()) return {.answer = std::move(answer)};
  }
  return {.link = std::move(link)};
}

void Route::Forget() {
  const std::lock_guard lock(mutex_);
  if (!address_.master.empty()) known_.primary.reset();
}

Route::Known Route::known() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

std::optional<Place> Route::AskSentinel(const Place& sentinel, const Until& until) const {
  Link link;
  if (link.Dial(sentinel, PointerTo(tls_), until)) return {};
  const Answer answer = link.Ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", address_.master}, until);
  return answer.is_reply() ? ReadPlace(answer.reply) : std::nullopt;
}

std::optional<Place> Route::AskSentinels(const std::vector<Place>& sentinels, const Until& until) {
  for (const Place& sentinel : sentinels) {
    const Until each{std::min(until.end, Clock::now() + deadline_), until.cancelled};
    std::optional<Place> primary = AskSentinel(sentinel, each);
    if (!primary) continue;
    const std::lock_guard lock(mutex_);
    known_.primary = primary;
    const auto asked = std::ranges::find(known_.sentinels, sentinel);
    std::rotate(known_.sentinels.begin(), asked, asked + 1);  // it is asked first from now on
    return primary;
  }
  return {};
}

}  // namespace weir::client
