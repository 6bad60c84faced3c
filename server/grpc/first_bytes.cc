#include "server/grpc/first_bytes.h"

#include <utility>

#include "http2/preface.h"
#include "server/grpc/grpc_session.h"
#include "server/http/http_session.h"

namespace weir {

FirstBytes::FirstBytes(Worker& worker, std::shared_ptr<ClientRecord> record, HttpServices& http)
    : worker_(worker),
      record_(std::move(record)),
      http_(http),
      session_(std::make_unique<HttpSession>(worker, record_, http)) {}

ClientSession::Turn FirstBytes::Execute(std::string_view unread, std::string& out) {
  if (!is_chosen_ && !unread.empty()) {
    const std::string_view begin = unread.substr(0, kHttp2Preface.size());
    const bool may_be_http2 = kHttp2Preface.starts_with(begin);
    if (may_be_http2 && begin.size() < kHttp2Preface.size()) return {.in_request = true};
    is_chosen_ = true;
    if (may_be_http2) {
      session_ = std::make_unique<GrpcSession>(worker_, record_, http_);
      if (end_) session_->EndWait(*end_);
    }
  }
  return session_->Execute(unread, out);
}

}  // namespace weir
