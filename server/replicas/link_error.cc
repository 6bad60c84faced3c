#include "server/replicas/link_error.h"

#include <array>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "server/replicas/link_reply.h"
#include "server/state/replication.h"

namespace weir {
namespace {

constexpr absl::string_view kKindUrl = "weir/link_error";
constexpr std::string_view kItAnswers = "it answers: ";

// The first words of errors that have a kind of their own.
struct KindOfCode {
  std::string_view code;
  LinkErrorKind kind;
};
constexpr std::array kCodes = {
    KindOfCode{"NOAUTH", LinkErrorKind::kNeedsPassword},
    KindOfCode{kOtherGroupCode, LinkErrorKind::kOtherGroup},
};

LinkErrorKind KindOfAnswer(std::string_view answer) {
  if (ReadReferral(answer)) return LinkErrorKind::kReferral;
  const std::string_view code = answer.substr(0, answer.find(' '));
  for (const KindOfCode& one : kCodes) {
    if (one.code == code) return one.kind;
  }
  return LinkErrorKind::kRefused;
}

}  // namespace

absl::Status LinkError(LinkErrorKind kind, std::string_view text) {
  absl::Status error = absl::UnavailableError(AbslView(text));
  error.SetPayload(kKindUrl, absl::Cord(std::string(1, static_cast<char>(kind))));
  return error;
}

absl::Status RefusedByPeer(std::string_view error) {
  return LinkError(KindOfAnswer(error), absl::StrCat(AbslView(kItAnswers), AbslView(error)));
}

LinkErrorKind KindOf(const absl::Status& error) {
  const auto kind = error.GetPayload(kKindUrl);
  if (!kind) return LinkErrorKind::kBroken;
  WEIR_CHECK(kind->size() == 1);
  return static_cast<LinkErrorKind>((*kind)[0]);
}

std::string_view AnswerOf(const absl::Status& error) {
  const LinkErrorKind kind = KindOf(error);
  const std::string_view text = StdView(error.message());
  return kind >= LinkErrorKind::kNeedsPassword ? text.substr(kItAnswers.size())
                                               : std::string_view();
}

}  // namespace weir
