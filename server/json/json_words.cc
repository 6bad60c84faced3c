#include "server/json/json_words.h"

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "protocol/resp_parser.h"
#include "server/os/wipe.h"

namespace weir {

JsonWords::~JsonWords() { Wipe(text_); }

std::string_view JsonWords::Keep(std::string_view text) {
  WEIR_CHECK(text.size() <= text_.capacity() - text_.size());  // else the words would move
  const std::size_t begin = text_.size();
  text_ += text;
  return std::string_view(text_).substr(begin);
}

absl::Status JsonWords::EndCommand() {
  const std::size_t begin = Begin();
  std::size_t bytes = 0;
  bool is_bounded = words_.size() - begin <= kRespCaps.args_max;
  for (std::size_t i = begin; i < words_.size() && is_bounded; ++i) {
    bytes += words_[i].size();
    is_bounded =
        words_[i].size() <= kRespCaps.arg_bytes_max && bytes <= kRespCaps.request_bytes_max;
  }
  if (!is_bounded) {
    words_.resize(begin);
    return absl::InvalidArgumentError(absl::StrCat(
        "too long: a request has at most ", kRespCaps.args_max, " words, of ",
        kRespCaps.arg_bytes_max, " bytes each and ", kRespCaps.request_bytes_max, " together"));
  }
  ends_.push_back(words_.size());
  return absl::OkStatus();
}

std::span<const std::string_view> JsonWords::operator[](std::size_t command) const {
  const std::size_t begin = command == 0 ? 0 : ends_[command - 1];
  return std::span(words_).subspan(begin, ends_[command] - begin);
}

}  // namespace weir
