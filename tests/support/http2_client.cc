#include "tests/support/http2_client.h"

#include <algorithm>

#include <nghttp2/nghttp2.h>

namespace weir {
namespace {

std::string_view Text(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

struct Http2Client::Callbacks {
  static Http2Client& Self(void* user) { return *static_cast<Http2Client*>(user); }

  static int OnHeader(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                      const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                      std::size_t value_size, std::uint8_t /*flags*/, void* user) {
    Http2Answer& answer = Self(user).answers[frame->hd.stream_id];
    const bool is_first = frame->headers.cat == NGHTTP2_HCAT_RESPONSE;
    const bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    const std::string key(Text(name, name_size));
    if (is_first) answer.fields[key] = Text(value, value_size);
    if (is_last) answer.trailers[key] = Text(value, value_size);
    return 0;
  }

  static int OnData(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t id,
                    const std::uint8_t* bytes, std::size_t size, void* user) {
    Self(user).answers[id].body += Text(bytes, size);
    return 0;
  }

  static int OnFrame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    Http2Client& self = Self(user);
    const bool is_answer = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (is_answer && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      self.answers[frame->hd.stream_id].is_ended = true;
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
      self.go_aways.push_back(
          {frame->goaway.last_stream_id, frame->goaway.error_code,
           std::string(Text(frame->goaway.opaque_data, frame->goaway.opaque_data_len))});
    } else if (frame->hd.type == NGHTTP2_SETTINGS) {
      for (std::size_t i = 0; i < frame->settings.niv; ++i) {
        const nghttp2_settings_entry& entry = frame->settings.iv[i];
        self.settings[static_cast<std::uint16_t>(entry.settings_id)] = entry.value;
      }
    }
    return 0;
  }

  static int OnClose(nghttp2_session* /*session*/, std::int32_t id, std::uint32_t error,
                     void* user) {
    if (error != 0) Self(user).answers[id].reset = error;
    return 0;
  }

  static ssize_t ReadBody(nghttp2_session* /*session*/, std::int32_t /*id*/, std::uint8_t* room,
                          std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                          void* /*user*/) {
    Body& body = *static_cast<Body*>(source->ptr);
    const std::size_t sent = std::min(size, body.bytes.size() - body.sent);
    std::copy_n(body.bytes.data() + body.sent, sent, room);
    body.sent += sent;
    const bool is_all = body.sent == body.bytes.size();
    if (is_all && !body.open) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (is_all && body.open && sent == 0) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(sent);
  }
};

void Http2Client::SessionDeleter::operator()(nghttp2_session* session) const noexcept {
  nghttp2_session_del(session);
}

Http2Client::Http2Client() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::OnData);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::OnFrame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::OnClose);
  nghttp2_option* options = nullptr;
  nghttp2_option_new(&options);
  nghttp2_option_set_peer_max_concurrent_streams(options, 1'000'000);
  nghttp2_session* made = nullptr;
  nghttp2_session_client_new2(&made, callbacks, this, options);
  nghttp2_option_del(options);
  nghttp2_session_callbacks_del(callbacks);
  session_.reset(made);
  nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, nullptr, 0);
}

Http2Client::~Http2Client() = default;

std::int32_t Http2Client::Call(std::string_view path, std::string_view body,
                               const Http2FieldList& more) {
  Http2FieldList fields = {{":method", "POST"},
                           {":scheme", "http"},
                           {":path", std::string(path)},
                           {":authority", "weir"},
                           {"content-type", "application/grpc"},
                           {"te", "trailers"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return Request(fields, body);
}

std::int32_t Http2Client::Request(const Http2FieldList& fields, std::string_view body, bool open) {
  std::vector<nghttp2_nv> list;
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  for (const auto& [name, value] : fields) {
    list.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  auto source = std::make_unique<Body>(Body{std::string(body), 0, open});
  const nghttp2_data_provider provider = {{.ptr = source.get()}, Callbacks::ReadBody};
  const std::int32_t id =
      nghttp2_submit_request(session_.get(), nullptr, list.data(), list.size(), &provider, nullptr);
  bodies_[id] = std::move(source);
  return id;
}

void Http2Client::Reset(std::int32_t stream, std::uint32_t code) {
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, code);
}

void Http2Client::Ping() { nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr); }

std::string Http2Client::TakeOutput() {
  std::string out;
  const std::uint8_t* bytes = nullptr;
  for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_.get(), &bytes)) > 0;) {
    out += Text(bytes, static_cast<std::size_t>(size));
  }
  return out;
}

bool Http2Client::Receive(std::string_view bytes) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return nghttp2_session_mem_recv(session_.get(), begin, bytes.size()) >= 0;
}

std::string Http2Frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                       std::string_view payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift & 0xff);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift & 0xff);
  return frame.append(payload);
}

}  // namespace weir
