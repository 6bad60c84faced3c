#include "server/json/json_results.h"

#include <utility>

#include "server/http/http_exchange.h"
#include "server/json/json_body.h"

namespace weir {

JsonResults::JsonResults(std::string_view begin, std::string_view too_long)
    : text_(begin), too_long_(too_long) {
  text_ += '[';
}

std::string& JsonResults::Next() {
  if (count_ > 0) text_ += ',';
  result_begin_ = text_.size();
  return text_;
}

void JsonResults::End(Session& session) {
  ++count_;
  const std::size_t bytes = text_.size() - result_begin_;
  session.work().Charge(bytes / kJsonBytesPerUnit);
  if (text_.size() <= kJsonResultsBytesMax || bytes <= too_long_.size()) return;
  text_.resize(result_begin_);
  text_ += ErrorJson(too_long_);
}

std::string JsonResults::Finish(std::string_view end) {
  text_ += ']';
  text_ += end;
  return std::move(text_);
}

}  // namespace weir
