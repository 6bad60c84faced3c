#include "http2/http2_session.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <malloc.h>
#include <nghttp2/nghttp2.h>

#include "core/base/check.h"
#include "core/base/heap_bytes.h"
#include "http2/http2_library.h"

namespace weir {
namespace {

void WipeAuthorization(Http2Stream& stream) {
  std::string& secret = stream.fields.authorization;
  explicit_bzero(secret.data(), secret.size());
}

// What a field costs beside its bytes, RFC 9113, section 6.5.2.
constexpr std::size_t kFieldOverhead = 32;

constexpr auto kKeptFields = std::to_array<std::pair<std::string_view, std::string Http2Fields::*>>(
    {{":method", &Http2Fields::method},
     {":path", &Http2Fields::path},
     {"content-type", &Http2Fields::content_type},
     {"grpc-encoding", &Http2Fields::grpc_encoding},
     {"authorization", &Http2Fields::authorization}});

// The memory of nghttp2, whose size is counted in `counter`.
void* Allocate(std::size_t bytes, void* counter) {
  void* const memory = std::malloc(bytes);
  *static_cast<std::size_t*>(counter) += malloc_usable_size(memory);
  return memory;
}

void* AllocateZeros(std::size_t count, std::size_t bytes, void* counter) {
  void* const memory = std::calloc(count, bytes);
  *static_cast<std::size_t*>(counter) += malloc_usable_size(memory);
  return memory;
}

void Free(void* memory, void* counter) {
  *static_cast<std::size_t*>(counter) -= malloc_usable_size(memory);
  std::free(memory);
}

void* Reallocate(void* memory, std::size_t bytes, void* counter) {
  const std::size_t before = malloc_usable_size(memory);
  void* const moved = std::realloc(memory, bytes);
  if (moved != nullptr) *static_cast<std::size_t*>(counter) += malloc_usable_size(moved) - before;
  return moved;
}

NgHttp2Options MakeOptions() {
  NgHttp2Options options = MakeNgHttp2Options();
  nghttp2_option_set_no_auto_window_update(options.get(), 1);
  // Http2FrameWatch counts these. nghttp2 would count a frame of CONTINUATION for each piece in
  // which its head comes.
  nghttp2_option_set_stream_reset_rate_limit(options.get(),
                                             std::numeric_limits<std::uint64_t>::max(), 1);
  nghttp2_option_set_max_continuations(options.get(), std::numeric_limits<std::size_t>::max());
  return options;
}

}  // namespace

struct Http2Session::Callbacks {
  static Http2Session& Self(void* user) { return *static_cast<Http2Session*>(user); }

  static int OnBeginHeaders(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    Http2Session& self = Self(user);
    Http2Stream& stream = self.streams_[frame->hd.stream_id];
    stream.id = frame->hd.stream_id;
    stream.began = self.now_;
    return 0;
  }

  static int OnHeader(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                      const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                      std::size_t value_size, std::uint8_t /*flags*/, void* user) {
    Http2Session& self = Self(user);
    Http2Stream* const stream = self.Find(frame->hd.stream_id);
    if (stream == nullptr || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    stream->field_bytes += name_size + value_size + kFieldOverhead;
    if (++stream->field_count > kHttp2FieldsMax || stream->field_bytes > kHttp2HeaderBytesMax) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets the stream
    }
    for (const auto& [kept, member] : kKeptFields) {
      if (kept != TextOfNgHttp2(name, name_size)) continue;
      std::string& field = stream->fields.*member;
      self.stream_bytes_ -= HeapBytes(field);
      field = TextOfNgHttp2(value, value_size);
      self.stream_bytes_ += HeapBytes(field);
    }
    return 0;
  }

  static int OnFrame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    Http2Session& self = Self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) self.client_ends_ = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Http2Stream* const stream = self.Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    const bool is_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    stream->is_complete = stream->is_complete || is_end;
    if (is_end || frame->hd.type == NGHTTP2_HEADERS) self.receiver_.OnProgress(*stream);
    return 0;
  }

  static int OnData(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t id,
                    const std::uint8_t* bytes, std::size_t size, void* user) {
    Http2Session& self = Self(user);
    Http2Stream* const stream = self.Find(id);
    nghttp2_session_consume_stream(self.session_.get(), id, size);
    if (stream != nullptr && !stream->drops_body) {
      self.TakeBody(*stream, TextOfNgHttp2(bytes, size));
    } else {
      nghttp2_session_consume_connection(self.session_.get(), size);
    }
    return 0;
  }

  static int OnClose(nghttp2_session* /*session*/, std::int32_t id, std::uint32_t /*error*/,
                     void* user) {
    Self(user).Close(id);
    return 0;
  }

  // Gives nghttp2 the next piece of an answer.
  static ssize_t ReadAnswer(nghttp2_session* session, std::int32_t id, std::uint8_t* room,
                            std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                            void* user) {
    Http2Stream& stream = *static_cast<Http2Stream*>(source->ptr);
    const std::size_t sent = std::min(size, stream.output.size() - stream.output_sent);
    std::copy_n(stream.output.data() + stream.output_sent, sent, room);
    stream.output_sent += sent;
    if (stream.output_sent < stream.output.size()) return static_cast<ssize_t>(sent);
    Self(user).stream_bytes_ -= HeapBytes(stream.output);
    std::string().swap(stream.output);
    stream.output_sent = 0;
    if (!stream.is_ended && sent == 0) return NGHTTP2_ERR_DEFERRED;
    if (!stream.is_ended) return static_cast<ssize_t>(sent);
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    std::vector<Http2Field> trailers;
    for (const auto& [name, value] : stream.trailers) trailers.push_back({name, value});
    const std::vector<nghttp2_nv> fields = ForNgHttp2(trailers);
    RequireMemory(nghttp2_submit_trailer(session, id, fields.data(), fields.size()));
    return static_cast<ssize_t>(sent);
  }

  static NgHttp2Callbacks Make() {
    nghttp2_session_callbacks* made = nullptr;
    RequireMemory(nghttp2_session_callbacks_new(&made));
    NgHttp2Callbacks table(made);
    nghttp2_session_callbacks_set_on_begin_headers_callback(made, OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(made, OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, OnFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, OnData);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, OnClose);
    return table;
  }
};

void Http2Session::SessionDeleter::operator()(nghttp2_session* session) const noexcept {
  nghttp2_session_del(session);
}

Http2Session::Http2Session(Http2Receiver& receiver) : receiver_(receiver) {
  nghttp2_mem memory = {&library_bytes_, Allocate, Free, AllocateZeros, Reallocate};
  nghttp2_session* made = nullptr;
  RequireMemory(nghttp2_session_server_new3(&made, Callbacks::Make().get(), this,
                                            MakeOptions().get(), &memory));
  session_.reset(made);
  constexpr auto kSettings = std::to_array<nghttp2_settings_entry>({
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kHttp2StreamsMax},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kHttp2WindowBytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHttp2HeaderBytesMax},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  });
  RequireMemory(
      nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, kSettings.data(), kSettings.size()));
  RequireMemory(
      nghttp2_session_set_local_window_size(made, NGHTTP2_FLAG_NONE, 0, kHttp2WindowBytes));
}

Http2Session::~Http2Session() {
  for (auto& [id, stream] : streams_) WipeAuthorization(stream);
}

Http2FrameWatch::Read Http2Session::Receive(std::string_view input, HostInstant now,
                                            std::size_t units_max) {
  if (has_ended()) return {.bytes = input.size()};
  now_ = now;
  Http2FrameWatch::Read read = watch_.Look(input, now, units_max);
  if (flood() != Http2Flood::kNone) {
    nghttp2_session_terminate_session(session_.get(), NGHTTP2_ENHANCE_YOUR_CALM);
    return read;
  }
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(input.data());
  const ssize_t taken = nghttp2_session_mem_recv(session_.get(), bytes, read.bytes);
  if (taken < 0) is_broken_ = true;
  return read;
}

Http2Stream* Http2Session::Find(std::int32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : &found->second;
}

void Http2Session::TakeBody(Http2Stream& stream, std::string_view bytes) {
  stream_bytes_ -= HeapBytes(stream.body);
  stream.body.append(bytes);
  stream_bytes_ += HeapBytes(stream.body);
  receiver_.OnProgress(stream);
}

// The window of the connection is what all bodies may take that are kept.
void Http2Session::ReturnWindow(Http2Stream& stream) {
  if (stream.body.empty()) return;
  nghttp2_session_consume_connection(session_.get(), stream.body.size());
  stream_bytes_ -= HeapBytes(stream.body);
  std::string().swap(stream.body);
}

void Http2Session::DropBody(Http2Stream& stream) {
  stream.drops_body = true;
  ReturnWindow(stream);
}

void Http2Session::Close(std::int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Http2Stream& stream = found->second;
  ReturnWindow(stream);
  stream_bytes_ -= HeapBytes(stream.output);
  for (const auto& [name, member] : kKeptFields) stream_bytes_ -= HeapBytes(stream.fields.*member);
  WipeAuthorization(stream);
  streams_.erase(found);
}

void Http2Session::MarkAnswered(Http2Stream& stream) {
  WEIR_DCHECK(!stream.is_answered);
  stream.is_answered = true;
  if (stream.is_complete) watch_.CountCall();
}

void Http2Session::Begin(Http2Stream& stream, std::span<const Http2Field> fields) {
  MarkAnswered(stream);
  const std::vector<nghttp2_nv> copied = ForNgHttp2(fields);
  const nghttp2_data_provider answer = {{.ptr = &stream}, Callbacks::ReadAnswer};
  nghttp2_submit_response(session_.get(), stream.id, copied.data(), copied.size(), &answer);
}

void Http2Session::Write(Http2Stream& stream, std::string_view bytes) {
  stream_bytes_ -= HeapBytes(stream.output);
  stream.output.append(bytes);
  stream_bytes_ += HeapBytes(stream.output);
  nghttp2_session_resume_data(session_.get(), stream.id);
}

void Http2Session::End(Http2Stream& stream, std::span<const Http2Field> trailers) {
  for (const auto& [name, value] : trailers) stream.trailers.emplace_back(name, value);
  stream.is_ended = true;
  nghttp2_session_resume_data(session_.get(), stream.id);
}

void Http2Session::Answer(Http2Stream& stream, std::span<const Http2Field> fields) {
  MarkAnswered(stream);
  const std::vector<nghttp2_nv> copied = ForNgHttp2(fields);
  nghttp2_submit_response(session_.get(), stream.id, copied.data(), copied.size(), nullptr);
}

// Ids grow with time, so the first stream that may not last is the oldest.
HostInstant Http2Session::FirstOverdue(Nanos span) const {
  for (const auto& [id, stream] : streams_) {
    if (!stream.may_last) return stream.began + span;
  }
  return HostInstant::max();
}

void Http2Session::ResetOverdue(HostInstant now, Nanos span) {
  for (const auto& [id, stream] : streams_) {
    if (stream.may_last) continue;
    if (now < stream.began + span) return;
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
}

void Http2Session::AnnounceEnd() { nghttp2_submit_shutdown_notice(session_.get()); }

void Http2Session::EndNow(std::string& out) {
  ends_ = true;
  for (const auto& [id, stream] : streams_) {
    if (stream.is_answered) continue;
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
  }
  Flush(out);  // nghttp2 would drop them for GOAWAY.
  nghttp2_session_terminate_session(session_.get(), NGHTTP2_NO_ERROR);
  Flush(out);
}

void Http2Session::Flush(std::string& out) {
  while (true) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size <= 0) break;
    out.append(TextOfNgHttp2(bytes, static_cast<std::size_t>(size)));
  }
  const bool is_over = !client_ends_ && !ends_ && flood() == Http2Flood::kNone && has_ended();
  is_broken_ = is_broken_ || is_over;
}

bool Http2Session::has_ended() const noexcept {
  return is_broken_ || (nghttp2_session_want_read(session_.get()) == 0 &&
                        nghttp2_session_want_write(session_.get()) == 0);
}

std::size_t Http2Session::held_bytes() const noexcept {
  constexpr std::size_t kNodeBytes = sizeof(Http2Stream) + 64;
  return library_bytes_ + stream_bytes_ + streams_.size() * kNodeBytes;
}

}  // namespace weir
