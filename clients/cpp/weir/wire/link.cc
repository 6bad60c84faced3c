#include "weir/wire/link.h"

#include <poll.h>

#include <array>
#include <chrono>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <hiredis/hiredis.h>

#include "weir/core/causes.h"
#include "weir/errors.h"

namespace weir::client {
namespace {

using FreeReply = void (*)(void*);

// A Reply of what hiredis has read. The depth is at most that of its reader, which is 9.
std::optional<Reply> ToReply(const redisReply& read) {
  Reply reply;
  switch (read.type) {
    case REDIS_REPLY_NIL:
      return reply;
    case REDIS_REPLY_INTEGER:
      reply.kind = Reply::Kind::kInteger;
      reply.integer = read.integer;
      return reply;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
      reply.kind = read.type == REDIS_REPLY_ERROR ? Reply::Kind::kError : Reply::Kind::kText;
      reply.text.assign(read.str, read.len);
      return reply;
    case REDIS_REPLY_ARRAY:
      reply.kind = Reply::Kind::kArray;
      for (std::size_t i = 0; i < read.elements; ++i) {
        std::optional<Reply> element = ToReply(*read.element[i]);
        if (!element) return {};
        reply.array.push_back(*std::move(element));
      }
      return reply;
    default:
      return {};  // a type of RESP3, which no request asks for
  }
}

Answer LostBy(Failure failure) { return Answer::Lost(failure.cause, std::move(failure.text)); }

std::string Format(const Words& words) {
  std::vector<const char*> bytes;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    bytes.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* formatted = nullptr;
  const auto size = redisFormatCommandArgv(&formatted, static_cast<int>(words.size()), bytes.data(),
                                           sizes.data());
  if (size < 0) throw std::bad_alloc();
  std::string request(formatted, static_cast<std::size_t>(size));
  redisFreeCommand(formatted);
  return request;
}

// The earliest of the times, and of a fair share of the time that is left.
Until ShareOf(const Until& until, std::size_t shares) {
  const auto now = std::chrono::steady_clock::now();
  return {now + (until.end - now) / static_cast<std::int64_t>(shares), until.cancelled};
}

}  // namespace

Link::Link() : reader_(redisReaderCreate(), redisReaderFree) {
  if (!reader_) throw std::bad_alloc();
}

Link::~Link() = default;

std::optional<Failure> Link::Dial(const Place& place, const TlsContext* tls, const Until& until) {
  std::string text = "the place has no address";
  const std::vector<Endpoint> endpoints = Resolve(place, text);
  std::optional<Failure> failure = Failure{kConnection, text};
  for (std::size_t i = 0; i < endpoints.size() && failure; ++i) {
    failure = socket_.Connect(endpoints[i], ShareOf(until, endpoints.size() - i));
  }
  if (failure || tls == nullptr) return failure;
  tls_.emplace(*tls, socket_, place.host);
  return Drive(until, [&] { return tls_->Shake(); });
}

Answer Link::Ask(const Words& words, const Until& until) {
  // If the server has closed the connection, it may have said why.
  std::optional<Failure> unsent = Send(Format(words), until);
  if (unsent && unsent->cause == kTimeout) return LostBy(*std::move(unsent));
  Answer answer = Receive(until);
  if (unsent && answer.is_reply()) return LostBy(*std::move(unsent));
  return answer;
}

bool Link::is_quiet() {
  return reader_->pos == reader_->len && (tls_ ? tls_->is_quiet() : socket_.is_quiet());
}

template <class Step>
std::optional<Failure> Link::Drive(const Until& until, Step step) {
  while (true) {
    short events = POLLIN;
    switch (step()) {
      case Io::kDone:
        return {};
      case Io::kClosed:
        return Failure{kConnection, "the server has closed the connection"};
      case Io::kFailed:
        return Failure{kConnection, tls_ ? tls_->error() : socket_.error()};
      case Io::kWantsWrite:
        events = POLLOUT;
        break;
      case Io::kWantsRead:
        break;
    }
    if (std::optional<Failure> failure = socket_.Await(events, until)) return failure;
  }
}

std::optional<Failure> Link::Send(std::string_view bytes, const Until& until) {
  while (!bytes.empty()) {
    std::size_t count = 0;
    std::optional<Failure> failure = Drive(
        until, [&] { return tls_ ? tls_->Write(bytes, count) : socket_.Write(bytes, count); });
    if (failure) return failure;
    bytes.remove_prefix(count);
  }
  return {};
}

Answer Link::Receive(const Until& until) {
  std::array<char, 4096> buffer{};
  while (true) {
    void* read = nullptr;
    if (redisReaderGetReply(reader_.get(), &read) != REDIS_OK) {
      return Answer::Lost(kConnection, std::string("no reply of RESP: ") + reader_->errstr);
    }
    if (read != nullptr) {
      const std::unique_ptr<void, FreeReply> freed(read, freeReplyObject);
      std::optional<Reply> reply = ToReply(*static_cast<const redisReply*>(read));
      if (!reply) return Answer::Lost(kConnection, "no reply of RESP2");
      if (reply->kind == Reply::Kind::kError) return Answer::Refused(std::move(reply->text));
      return Answer::Replied(*std::move(reply));
    }
    std::size_t count = 0;
    std::optional<Failure> failure = Drive(
        until, [&] { return tls_ ? tls_->Read(buffer, count) : socket_.Read(buffer, count); });
    if (failure) return LostBy(*std::move(failure));
    redisReaderFeed(reader_.get(), buffer.data(), count);
  }
}

}  // namespace weir::client
