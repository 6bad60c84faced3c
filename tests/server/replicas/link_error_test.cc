// Goal: what a peer answers decides the kind of an error, once; its text is for the log. Method:
// examples, among them texts that only look like another kind.
#include "server/replicas/link_error.h"

#include <string>

#include "gtest/gtest.h"

#include "core/base/status.h"
#include "server/replicas/link_reply.h"

namespace weir {
namespace {

LinkErrorKind KindOfAnswer(std::string_view answer) { return KindOf(RefusedByPeer(answer)); }

TEST(LinkErrorTest, TheFirstWordOfAnAnswerGivesTheKind) {
  EXPECT_EQ(KindOfAnswer("NOAUTH Authentication required."), LinkErrorKind::kNeedsPassword);
  EXPECT_EQ(KindOfAnswer("OTHERGROUP this server is of another group"), LinkErrorKind::kOtherGroup);
  EXPECT_EQ(KindOfAnswer(ReferralTo({"10.0.0.2", 7379})), LinkErrorKind::kReferral);
  EXPECT_EQ(KindOfAnswer("NOMASTERLINK this server is no primary"), LinkErrorKind::kRefused);
  EXPECT_EQ(KindOfAnswer("ERR NOAUTH is not what this says"), LinkErrorKind::kRefused);
  EXPECT_EQ(KindOfAnswer("NOAUTHORITY x"), LinkErrorKind::kRefused);
  EXPECT_EQ(KindOfAnswer(""), LinkErrorKind::kRefused);
}

TEST(LinkErrorTest, KeepsItsKindAndItsText) {
  for (const LinkErrorKind kind :
       {LinkErrorKind::kBroken, LinkErrorKind::kTimeout, LinkErrorKind::kStrange}) {
    const absl::Status error = LinkError(kind, "timed out");
    EXPECT_EQ(KindOf(error), kind);
    EXPECT_EQ(StdView(error.message()), "timed out");
    EXPECT_EQ(AnswerOf(error), "");
  }
  EXPECT_EQ(KindOf(absl::UnavailableError("another")), LinkErrorKind::kBroken);
}

TEST(LinkErrorTest, TellsWhatThePeerHasAnswered) {
  const absl::Status error = RefusedByPeer("ERR unknown command 'RL.SYNC'");
  EXPECT_EQ(StdView(error.message()), "it answers: ERR unknown command 'RL.SYNC'");
  EXPECT_EQ(AnswerOf(error), "ERR unknown command 'RL.SYNC'");
}

}  // namespace
}  // namespace weir
