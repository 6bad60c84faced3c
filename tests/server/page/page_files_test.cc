// Goal: the page's files arrive whole, and with the fields that keep other sites away from them;
// and neither they nor /api answer under another site's name.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "replay/gunzip.h"
#include "tests/support/http_conversation.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Get(HttpConversation& client, std::string_view path,
                std::string_view host = "localhost:7382", std::string_view method = "GET") {
  return client.Send(absl::StrCat(AbslView(method), " ", AbslView(path),
                                  " HTTP/1.1\r\nHost: ", AbslView(host), "\r\n\r\n"));
}

struct Served {
  std::string path;
  std::string_view type;
  std::string file;
};

// The files of the tree that belong to the page, and the charts' library.
std::vector<Served> Files() {
  static const std::map<std::string, std::string_view> kTypes = {
      {".css", "text/css; charset=utf-8"},
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".svg", "image/svg+xml"},
  };
  const std::filesystem::path ours = WEIR_SOURCE_DIR "/server/page";
  std::vector<Served> files = {
      {"/dygraph.js", kTypes.at(".js"), WEIR_DYGRAPHS_DIR "/dygraph.min.js"}};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ours)) {
    const auto type = kTypes.find(entry.path().extension().string());
    if (type == kTypes.end()) continue;
    const std::string path = "/" + entry.path().lexically_relative(ours).generic_string();
    files.push_back({path == "/index.html" ? "/" : path, type->second, entry.path().string()});
  }
  EXPECT_GT(files.size(), 20U);
  return files;
}

TEST(PageFilesTest, EachFileIsServedAsItIs) {
  HttpConversation client(std::make_unique<HttpTestServer>(), Face::kAdmin);
  for (const Served& served : Files()) {
    const std::string response = Get(client, served.path);
    EXPECT_EQ(StatusOf(response), 200) << served.path;
    EXPECT_EQ(FieldOf(response, "Content-Type"), served.type);
    EXPECT_EQ(BodyOf(response), ReadFile(served.file)) << served.path;
  }
}

// Returns what gzip has packed.
std::string Unpack(std::string_view packed) {
  Gunzip gunzip;
  std::string bytes(1 << 20, '\0');
  const absl::StatusOr<Gunzip::Moved> moved = gunzip.Unpack(packed, bytes);
  EXPECT_TRUE(moved.ok() && moved->taken == packed.size() && moved->given < bytes.size());
  bytes.resize(moved.ok() ? moved->given : 0);
  return bytes;
}

std::string GetPacked(HttpConversation& client, std::string_view path, std::string_view accepted) {
  return client.Send(absl::StrCat(
      "GET ", AbslView(path),
      " HTTP/1.1\r\nHost: localhost:7382\r\nAccept-Encoding: ", AbslView(accepted), "\r\n\r\n"));
}

TEST(PageFilesTest, AClientThatReadsGzipGetsIt) {
  HttpConversation client(std::make_unique<HttpTestServer>(), Face::kAdmin);
  for (const Served& served : Files()) {
    const std::string response = GetPacked(client, served.path, "gzip, deflate, br");
    EXPECT_EQ(StatusOf(response), 200) << served.path;
    EXPECT_EQ(FieldOf(response, "Content-Encoding"), "gzip");
    EXPECT_EQ(FieldOf(response, "Content-Type"), served.type);
    EXPECT_EQ(FieldOf(response, "Vary"), "Accept-Encoding");
    EXPECT_EQ(Unpack(BodyOf(response)), ReadFile(served.file)) << served.path;
  }
}

TEST(PageFilesTest, GzipIsForThoseWhoAcceptIt) {
  HttpConversation client(std::make_unique<HttpTestServer>(), Face::kAdmin);
  const std::map<std::string_view, bool> accepted = {
      {"gzip", true},
      {"br, GZIP;q=0.1", true},
      {"gzip ; q=1", true},
      {"deflate, br", false},
      {"gzip;q=0", false},
      {"br, gzip; q=0.000", false},
      {"gzip;Q=0", false},
      {"gzip;x=1;q= 0", false},
      {"x-gzip, zstd", false},
      {"", false},
      {"*", false},
  };
  for (const auto& [value, is_packed] : accepted) {
    const std::string response = GetPacked(client, "/", value);
    EXPECT_EQ(FieldOf(response, "Content-Encoding").has_value(), is_packed) << value;
    EXPECT_EQ(FieldOf(response, "Vary"), "Accept-Encoding");
  }
}

TEST(PageFilesTest, EachFileHasTheFieldsThatProtectIt) {
  HttpConversation client(std::make_unique<HttpTestServer>(), Face::kAdmin);
  for (const Served& served : Files()) {
    const std::string response = Get(client, served.path);
    const std::string policy =
        std::string(FieldOf(response, "Content-Security-Policy").value_or(""));
    EXPECT_THAT(policy, HasSubstr("default-src 'self'")) << served.path;
    EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
    EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
    EXPECT_EQ(FieldOf(response, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(FieldOf(response, "X-Frame-Options"), "DENY");
    EXPECT_EQ(FieldOf(response, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(FieldOf(response, "Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_EQ(FieldOf(response, "Cache-Control"), "no-store");
    EXPECT_EQ(FieldOf(response, "Access-Control-Allow-Origin"), std::nullopt);
  }
}

TEST(PageFilesTest, AnUnknownFileIsNotFound) {
  HttpConversation client(std::make_unique<HttpTestServer>(), Face::kAdmin);
  for (const std::string_view path : {"/index.html", "/app/", "/app", "/app/x.js", "/x"}) {
    EXPECT_EQ(StatusOf(Get(client, path)), 404) << path;
  }
}

TEST(PageFilesTest, HeadAnswersWithoutTheBody) {
  HttpConversation client(std::make_unique<HttpTestServer>(), Face::kAdmin);
  const std::string response = Get(client, "/", "localhost", "HEAD");
  EXPECT_EQ(StatusOf(response), 200);
  EXPECT_EQ(BodyOf(response), "");
  EXPECT_EQ(Get(client, "/app.js", "localhost", "POST").substr(0, 12), "HTTP/1.1 405");
}

// The files need no log-in, because there is no data in them.
TEST(PageFilesTest, APasswordIsNotNeeded) {
  auto server = std::make_unique<HttpTestServer>();
  ASSERT_TRUE(server->services.access.Configure("secret", "").ok());
  HttpConversation client(std::move(server), Face::kAdmin);
  EXPECT_EQ(StatusOf(Get(client, "/")), 200);
  EXPECT_EQ(StatusOf(Get(client, "/metrics")), 401);
}

TEST(PageFilesTest, AForeignHostIsRefused) {
  HttpConversation client(std::make_unique<HttpTestServer>(), Face::kAdmin);
  for (const std::string_view path :
       {"/", "/app.js", "/dygraph.js", "/app/dom.js", "/api/policies", "/api/x"}) {
    const std::string response = Get(client, path, "evil.example:7382");
    EXPECT_EQ(StatusOf(response), 421) << path;
    EXPECT_EQ(BodyOf(response),
              R"({"error":"ERR this is not the host's name: see the option admin-hosts"})");
    EXPECT_EQ(FieldOf(response, "Cache-Control"), "no-store");
  }
  // Monitoring asks under names of its own, and no browser needs to read its answers.
  EXPECT_EQ(StatusOf(Get(client, "/livez", "weir.example")), 200);
  EXPECT_EQ(StatusOf(Get(client, "/metrics", "weir.example")), 200);
}

TEST(PageFilesTest, ResponsesAreCountedByGroup) {
  HttpConversation client(std::make_unique<HttpTestServer>(), Face::kAdmin);
  (void)Get(client, "/");
  (void)Get(client, "/app.js");
  (void)Get(client, "/api/nothing");
  const HttpResponseCounters& responses = client.server().http.responses;
  EXPECT_EQ(responses.value(HttpRouteGroup::kPage, 1), 2U);
  EXPECT_EQ(responses.value(HttpRouteGroup::kApi, 3), 1U);
}

TEST(PageFilesTest, OtherPortsHaveNoPage) {
  HttpConversation client(std::make_unique<HttpTestServer>(), Face::kHttp);
  EXPECT_EQ(StatusOf(Get(client, "/")), 404);
  EXPECT_EQ(StatusOf(Get(client, "/app.js")), 404);
}

}  // namespace
}  // namespace weir
