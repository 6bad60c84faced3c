// The checks of the files that an operator writes.
#include <cstddef>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include "check/calendar_note.h"
#include "check/counted.h"
#include "check/file_check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/policies/policy_file.h"
#include "server/access/access_list.h"
#include "server/config/option_effects.h"
#include "server/config/options.h"
#include "server/config/passwords.h"
#include "server/http/check_routes.h"
#include "server/net/tls_context.h"
#include "server/replicas/own_address.h"

namespace weir {
namespace {

void AddPolicies(FileReport& report, const std::string& path) {
  const absl::StatusOr<PolicyFile> file = ReadPolicyFile(path);
  if (!file.ok()) return Find(report, path, file.status());
  report.facts.push_back(absl::StrCat(path, ": ", Counted(file->size(), "policy", "policies")));
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  if (std::string note = CalendarNote(text.str(), path); !note.empty()) {
    report.facts.push_back(std::move(note));
  }
}

void AddRoutes(FileReport& report, const std::string& path, IsUser is_user) {
  const absl::StatusOr<CheckRoutes> routes = ReadCheckRoutes(path, is_user);
  if (!routes.ok()) return Find(report, path, routes.status());
  report.facts.push_back(absl::StrCat(path, ": ", Counted(routes->size(), "route", "routes")));
}

// The user `default` is there even if the file does not name it.
void CountUsers(FileReport& report, const std::string& path, const AccessList& users) {
  report.facts.push_back(
      absl::StrCat(path, ": ", Counted(users.All().size(), "user", "users"), ", with default"));
}

// The files of one side of TLS. `option`: that which names `certificate`.
void AddTls(FileReport& report, const std::string& path, std::string_view option,
            const std::string& certificate, const absl::StatusOr<TlsContext>& context) {
  if (!context.ok()) return Find(report, path, context.status());
  if (context->is_expired()) {
    report.findings.push_back(absl::StrCat(path, ": option '", AbslView(option),
                                           "': ", Quote(certificate), " has expired"));
  }
}

// As a start reads them.
void AddTls(FileReport& report, const std::string& path, const Options& options) {
  KeepTlsKeysOutOfDumps();
  const std::size_t before = report.findings.size();
  if (options.tls_port != 0 || options.http_tls_port != 0) {
    AddTls(report, path, "tls-cert", options.tls_cert, TlsContext::Load(options));
  }
  if (options.replication_tls && report.findings.size() == before) {
    AddTls(report, path, "tls-cert", options.tls_cert, TlsContext::LoadForLink(options));
  }
  if (options.rls_xds_tls && !options.rls_xds.servers.empty()) {
    AddTls(report, path, "rls-xds-cert", options.rls_xds_cert,
           TlsContext::LoadForControlPlane(options));
  }
}

}  // namespace

FileReport CheckConfigFile(const std::string& path) {
  FileReport report;
  Options options = DefaultOptions();
  if (const absl::Status read = ReadOptionsFile(path, options); !read.ok()) {
    Find(report, path, read);
    return report;
  }
  const absl::Status given = ReadPasswords({}, options);
  if (const absl::Status fit = CheckTogether(options); !fit.ok()) Find(report, path, fit);
  const absl::Status follows = CheckReplicaOf(options, static_cast<std::uint16_t>(options.port));
  if (!follows.ok()) {
    report.facts.push_back(absl::StrCat(path, ": ", follows.message()));
  }
  if (!given.ok()) {
    Find(report, path, given);
    options.requirepass = {};  // so that the file of users is read
  }
  AccessList users;
  const absl::Status configured = users.Configure(options.requirepass.text(), options.users_file);
  options.requirepass = {};
  options.primary_password = {};
  const std::string& users_place = options.users_file.empty() ? path : options.users_file;
  if (!configured.ok()) {
    Find(report, users_place, configured);
  } else if (!options.users_file.empty()) {
    CountUsers(report, options.users_file, users);
  }
  if (!options.policies.empty()) AddPolicies(report, options.policies);
  if (!options.checks.empty() && configured.ok()) {
    AddRoutes(report, options.checks,
              [&users](std::string_view name) { return users.FindActive(name) != nullptr; });
  }
  AddTls(report, path, options);
  for (const std::string& sentence : OptionsWithoutEffect(options)) {
    report.facts.push_back(absl::StrCat(path, ": ", sentence));
  }
  if (report.findings.empty()) report.facts.insert(report.facts.begin(), path + ": ok");
  return report;
}

FileReport CheckPolicyFile(const std::string& path) {
  FileReport report;
  AddPolicies(report, path);
  return report;
}

FileReport CheckChecksFile(const std::string& path) {
  FileReport report;
  AddRoutes(report, path, [](std::string_view) { return true; });
  return report;
}

FileReport CheckUsersFile(const std::string& path) {
  FileReport report;
  AccessList users;
  const absl::Status read = users.Configure("", path);
  if (read.ok()) {
    CountUsers(report, path, users);
  } else {
    Find(report, path, read);
  }
  return report;
}

}  // namespace weir
