#include "server/password_reload.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "server/config/pair_list.h"
#include "server/config/passwords.h"
#include "server/health/add_event.h"
#include "server/os/log.h"

namespace weir {
namespace {

absl::Status Use(const PasswordPlaces& places, const Secret& password, Services& services) {
  // Links to other servers read theirs from the settings; that of clients is kept as a hash.
  if (places.word == &Options::requirepass) return services.access.Configure(password.text(), "");
  if (places.word == &Options::rls_xds_headers) {
    WEIR_RETURN_IF_ERROR(ParseHeaders(password.text()).status());
  }
  return services.settings.Change([&](Options& options) {
    options.*places.word = password;
    return absl::OkStatus();
  });
}

absl::Status Reload(const PasswordPlaces& places, Services& services) {
  const absl::StatusOr<Secret> read =
      ReadPasswordFile(places.file_option, services.options.*places.file);
  return read.ok() ? Use(places, *read, services) : read.status();
}

}  // namespace

void ReloadPasswords(Services& services) {
  for (const PasswordPlaces& places : kPasswords) {
    if ((services.options.*places.file).empty()) continue;
    const absl::Status reloaded = Reload(places, services);
    if (reloaded.ok()) {
      spdlog::info("received SIGHUP: read {} again", places.file_option);
      AddEvent(services, ServerEventKind::kUsers, "",
               absl::StrCat("SIGHUP: read ", AbslView(places.file_option), " again"));
    } else {
      spdlog::error("received SIGHUP: {} is unchanged: {}", places.option,
                    EscapedForLog(StdView(reloaded.message())));
    }
  }
}

}  // namespace weir
