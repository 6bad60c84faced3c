// Goal: a template is filled with what a request says, cut and filtered, or has no value. Method: a
// table of templates for one request; a table of bad templates.
#include "server/http/check_template.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class CheckTemplateTest : public testing::Test {
 protected:
  // What a template without a value says that the request lacks.
  std::string MissingIn(std::string_view text) {
    HttpHead head;
    head.fields = fields_;
    const ProxiedRequest request(head, "/v1", form_);
    const absl::StatusOr<CheckTemplate> parsed = CheckTemplate::Parse(text);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    std::string filled;
    return parsed->Fill(request, hasher_, filled) ? filled : parsed->MissingIn(request);
  }
  std::string Fill(std::string_view text) {
    const absl::StatusOr<CheckTemplate> parsed = CheckTemplate::Parse(text);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    if (!parsed.ok()) return "bad";
    HttpHead head;
    head.method = "POST";
    head.query = "token=T%4F&q=a%2Cb";
    head.fields = fields_;
    std::string filled = ">";
    const bool done = parsed->Fill({head, "/v1/Users", form_}, hasher_, filled);
    if (parsed->is_constant()) {
      EXPECT_TRUE(done);
      EXPECT_EQ(filled, ">" + parsed->text());
    }
    return done ? filled.substr(1) : "missing";
  }

  KeyHasher hasher_{{}};
  ProxyForm form_ = {.original = OriginalRequest::kPath};
  std::vector<HttpField> fields_ = {{"X-Forwarded-For", "192.0.2.7"},
                                    {"X-Tenant", "Acme"},
                                    {"X-Bytes", "\xFF\x80 {ip}"},
                                    {"X-Empty", ""},
                                    {"Cookie", "id=C0"}};
};

TEST_F(CheckTemplateTest, FirstVariableWithoutAValueIsNamed) {
  EXPECT_EQ(MissingIn("{ip}.{header:x-none|hash}.{header:x-no}"),
            "{header:x-none}: the request had no field x-none");
  EXPECT_EQ(MissingIn("{query:q}"), "{query:q}: the request had no parameter q");
  EXPECT_EQ(MissingIn("{cookie:c|lower}"), "{cookie:c}: the request had no cookie c");
  EXPECT_EQ(MissingIn("{path:1}{path:2}"), "{path:2}: its path had no segment 2");
  EXPECT_EQ(MissingIn("{host}"),
            "{host}: the proxy did not say it, see `original` in docs/http.md");
  form_.ip_hops = 2;
  EXPECT_EQ(MissingIn("{ip}"), "{ip}: its X-Forwarded-For has no address at ip_hops");
  fields_.clear();
  EXPECT_EQ(MissingIn("{ip}"), "{ip}: the request had no X-Forwarded-For");
}

TEST_F(CheckTemplateTest, VariablesAreFilled) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"all", "all"},
      {"ip:{ip}", "ip:192.0.2.7"},
      {"{header:x-tenant}/{cookie:id}/{query:token}", "Acme/C0/TO"},
      {"{header:X-TENANT|lower}.", "acme."},
      {"{query:token|lower}{query:token}", "toTO"},
      {"{method} {path} {path:1} {path:2|lower}", "POST /v1/Users v1 users"},
      {"{path|raw} {path:2|raw|lower}", "/v1/Users users"},
      // A value is no template.
      {"{header:x-bytes}", "\xFF\x80 {ip}"},
      {"{header:x-none}", "missing"},
      {"a{header:x-empty}b", "missing"},
      {"{path:3}", "missing"},
      {"{host}", "missing"},
  };
  for (const auto& [text, filled] : cases) EXPECT_EQ(Fill(text), filled) << text;
}

// A user cannot choose a bucket by the spelling of a path.
TEST_F(CheckTemplateTest, APathIsTheSameInEachSpelling) {
  form_ = {};
  for (const std::string_view path : {"/users/a%2Fb/", "/%75sers/a%2fb/", "//users///a%2Fb/",
                                      "/./users/x/../a%2Fb/.", "/../users/a%2Fb/?q=/../x"}) {
    fields_[0] = {"X-Forwarded-Uri", path};
    EXPECT_EQ(Fill("{path} {path:1} {path:2}"), "/users/a%2Fb/ users a%2Fb") << path;
  }
  fields_[0] = {"X-Forwarded-Uri", "/%75sers;x=1"};
  EXPECT_EQ(Fill("{path} {path|raw} {path:1|raw|lower}"), "/users;x=1 /%75sers;x=1 %75sers;x=1");
}

TEST_F(CheckTemplateTest, HashHidesTheValueAndTellsValuesApart) {
  const std::string hash = Fill("{header:x-tenant|hash}");
  EXPECT_THAT(hash, MatchesRegex("[A-Za-z0-9_-]+"));
  EXPECT_EQ(hash.size(), 22U);
  EXPECT_EQ(Fill("{header:x-tenant|hash}"), hash);
  const std::string lower = Fill("{header:x-tenant|lower|hash}");
  EXPECT_NE(lower, hash);
  fields_[1].value = "acme";
  EXPECT_EQ(Fill("{header:x-tenant|hash}"), lower);
  hasher_ = KeyHasher({1});
  EXPECT_NE(Fill("{header:x-tenant|hash}"), lower);
}

TEST_F(CheckTemplateTest, LongValuesAreCutAfterTheirHash) {
  const std::string almost(kTemplateValueBytesMax, 'x');
  const std::string longer = almost + "y";
  fields_[1].value = almost;
  EXPECT_EQ(Fill("{header:x-tenant}!"), almost + "!");
  const std::string hash = Fill("{header:x-tenant|hash}");
  fields_[1].value = longer;
  EXPECT_EQ(Fill("{header:x-tenant}!"), almost + "!");
  // The end of a long token counts, too.
  EXPECT_NE(Fill("{header:x-tenant|hash}"), hash);
}

TEST_F(CheckTemplateTest, BadTemplatesAreTold) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{", "a brace is not closed"},
      {"a}", "not opened"},
      {"{ip", "a brace is not closed"},
      {"{{ip}}", "a brace is not closed"},
      {"{}", "unknown variable ''"},
      {"{IP}", "unknown variable 'IP': it must be {ip}"},
      {"{ip:1}", "unknown variable 'ip:1'"},
      {"{header}", "unknown variable 'header'"},
      {"{header:}", "unknown variable"},
      {"{header:a b}", "unknown variable"},
      {"{cookie:a=b}", "unknown variable"},
      {"{query:}", "unknown variable"},
      {"{query:a,b}", "unknown variable"},
      {"{path:0}", "{path:1} to {path:32}"},
      {"{path:33}", "{path:1} to {path:32}"},
      {"{path:x}", "{path:1} to {path:32}"},
      {"{ip|}", "|lower, |hash and |lower|hash"},
      {"{ip|upper}", "bad filters of {ip|upper}"},
      {"{ip|hash|lower}", "bad filters"},
      {"{ip|lower|lower}", "bad filters"},
      {"{ip|raw}", "bad filters of {ip|raw}"},
      {"{path|lower|raw}", "and of a path |raw before them"},
      {"{path|raw|raw}", "bad filters"},
      {"{header:authorization}", "Authorization is never read"},
      {"{header:AUTHORIZATION|hash}", "Authorization is never read"},
  };
  for (const auto& [text, error] : cases) {
    const absl::StatusOr<CheckTemplate> parsed = CheckTemplate::Parse(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(StdView(parsed.status().message())), HasSubstr(std::string(error)));
  }
  std::string many;
  for (std::size_t i = 0; i < kTemplateVariablesMax; ++i) many += "{ip}";
  EXPECT_TRUE(CheckTemplate::Parse(many).ok());
  EXPECT_FALSE(CheckTemplate::Parse(many + "{ip}").ok());
}

}  // namespace
}  // namespace weir
