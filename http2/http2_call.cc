#include "http2/http2_call.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include <nghttp2/nghttp2.h>

#include "core/base/check.h"
#include "core/base/status.h"
#include "http2/http2_library.h"

namespace weir {
namespace {

// Of a field that is kept for a line of the log.
constexpr std::size_t kFieldBytesMax = 512;

}  // namespace

struct Http2Call::Callbacks {
  static Http2Call& Self(void* user) { return *static_cast<Http2Call*>(user); }

  static int OnHeader(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                      const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                      std::size_t value_size, std::uint8_t /*flags*/, void* user) {
    constexpr auto kKept = std::to_array<std::pair<std::string_view, std::string Http2Call::*>>(
        {{":status", &Http2Call::status_},
         {"content-type", &Http2Call::content_type_},
         {"grpc-status", &Http2Call::grpc_status_},
         {"grpc-message", &Http2Call::grpc_message_}});
    if (frame->hd.stream_id != Self(user).stream_) return 0;
    for (const auto& [kept, member] : kKept) {
      if (kept != TextOfNgHttp2(name, name_size)) continue;
      Self(user).*member = TextOfNgHttp2(value, std::min(value_size, kFieldBytesMax));
    }
    return 0;
  }

  static int OnFrame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
      Self(user).awaits_pong_ = false;
    }
    // The stream is still open at this end.
    const bool is_of_stream = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (is_of_stream && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      Self(user).OnStreamEnd(NGHTTP2_NO_ERROR);
    }
    return 0;
  }

  static int OnData(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t /*id*/,
                    const std::uint8_t* bytes, std::size_t size, void* user) {
    Self(user).body_ += TextOfNgHttp2(bytes, size);
    return 0;
  }

  static int OnClose(nghttp2_session* /*session*/, std::int32_t /*id*/, std::uint32_t code,
                     void* user) {
    Self(user).OnStreamEnd(code);
    return 0;
  }

  // Gives nghttp2 the next piece of the request's body, which has no end.
  static ssize_t ReadOutput(nghttp2_session* /*session*/, std::int32_t /*id*/, std::uint8_t* room,
                            std::size_t size, std::uint32_t* /*flags*/,
                            nghttp2_data_source* /*source*/, void* user) {
    Http2Call& self = Self(user);
    const std::size_t sent = std::min(size, self.output_.size() - self.output_sent_);
    if (sent == 0) return NGHTTP2_ERR_DEFERRED;
    std::copy_n(self.output_.data() + self.output_sent_, sent, room);
    self.output_sent_ += sent;
    if (self.output_sent_ == self.output_.size()) {
      self.output_.clear();
      self.output_sent_ = 0;
    }
    return static_cast<ssize_t>(sent);
  }

  static NgHttp2Callbacks Make() {
    nghttp2_session_callbacks* made = nullptr;
    RequireMemory(nghttp2_session_callbacks_new(&made));
    NgHttp2Callbacks table(made);
    nghttp2_session_callbacks_set_on_header_callback(made, OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, OnFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, OnData);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, OnClose);
    return table;
  }
};

void Http2Call::SessionDeleter::operator()(nghttp2_session* session) const noexcept {
  nghttp2_session_del(session);
}

Http2Call::Http2Call(std::span<const Http2Field> fields) {
  nghttp2_session* made = nullptr;
  RequireMemory(nghttp2_session_client_new2(&made, Callbacks::Make().get(), this,
                                            MakeNgHttp2Options().get()));
  session_.reset(made);
  constexpr auto kSettings = std::to_array<nghttp2_settings_entry>({
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kHttp2CallWindowBytes},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  });
  RequireMemory(
      nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, kSettings.data(), kSettings.size()));
  RequireMemory(
      nghttp2_session_set_local_window_size(made, NGHTTP2_FLAG_NONE, 0, kHttp2CallWindowBytes));
  const std::vector<nghttp2_nv> copied = ForNgHttp2(fields);
  const nghttp2_data_provider body = {{.ptr = nullptr}, Callbacks::ReadOutput};
  stream_ = nghttp2_submit_request(made, nullptr, copied.data(), copied.size(), &body, nullptr);
  WEIR_CHECK(stream_ > 0);
}

Http2Call::~Http2Call() = default;

void Http2Call::Receive(std::string_view input) {
  if (has_ended()) return;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(input.data());
  const ssize_t taken = nghttp2_session_mem_recv(session_.get(), bytes, input.size());
  if (taken < 0) End("it does not speak HTTP/2");
}

void Http2Call::Write(std::string_view bytes) {
  if (has_ended()) return;
  if (output_.size() - output_sent_ + bytes.size() > kHttp2CallOutputBytesMax) {
    return Cancel("it does not read");
  }
  output_ += bytes;
  nghttp2_session_resume_data(session_.get(), stream_);
}

void Http2Call::Ping() {
  WEIR_DCHECK(!awaits_pong_);
  awaits_pong_ = true;
  RequireMemory(nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr));
}

void Http2Call::Cancel(std::string_view reason) {
  if (has_ended()) return;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream_, NGHTTP2_CANCEL);
  End(std::string(reason));
}

void Http2Call::Flush(std::string& out) {
  while (true) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size <= 0) break;
    out.append(TextOfNgHttp2(bytes, static_cast<std::size_t>(size)));
  }
  // nghttp2 has said so to the server.
  if (nghttp2_session_want_read(session_.get()) == 0) End("it breaks the protocol of HTTP/2");
}

void Http2Call::End(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
}

void Http2Call::OnStreamEnd(std::uint32_t code) {
  if (!grpc_status_.empty()) {
    return End(absl::StrCat("grpc-status ", grpc_status_, grpc_message_.empty() ? "" : ": ",
                            grpc_message_));
  }
  if (!status_.empty() && !is_answered()) return End(absl::StrCat("HTTP status ", status_));
  if (code != NGHTTP2_NO_ERROR) return End(absl::StrCat("the stream was reset (", code, ")"));
  End("the stream has ended");
}

}  // namespace weir
