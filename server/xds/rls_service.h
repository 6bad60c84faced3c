// Envoy's rate limit service as a part of the server: the rules in force, and where they are from,
// the files of rls-config or the control plane of rls-xds.
//
//     RlsService rls(control, services);
//     absl::Status started = rls.Start();      // reads the files, or the response that is kept
//     http.rls = rls.rules();                  // null: the server is no such service
//     started = rls.Begin();                   // the state is loaded: rules take effect
//     rls.Look();                              // once a second
//     rls.Stop();
//
// A control plane need not be there: the rules of its last response, which the data directory has,
// are in force from the start, and without them calls are answered an error.
//
// Belongs to the thread of the control context.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include <asio/io_context.hpp>

#include "core/table/key_hash.h"
#include "rls/xds_response.h"
#include "server/net/tls_context.h"
#include "server/rls/rls_rules.h"
#include "server/session/services.h"
#include "server/xds/xds_client.h"

namespace weir {

class RlsService {
 public:
  // Both must outlive the object.
  RlsService(asio::io_context& control, Services& services)
      : control_(control), services_(services) {}

  // Fails with one line if the files, or those of TLS, have a mistake. A response that cannot be
  // used is a warning.
  absl::Status Start();
  // Requires: Start() returned OK; the state is loaded, and the role known.
  absl::Status Begin();
  void Look();
  // At SIGHUP: reads the files again, and logs what came of it.
  void Reload();
  void Stop();

  [[nodiscard]] const RlsRules* rules() const {
    return services_.options.serves_rls() ? &rules_ : nullptr;
  }

 private:
  // Reads the TLS files again, for the next connection to the control plane; keeps what it has if
  // they have a mistake.
  void RefreshTls();
  [[nodiscard]] bool has_xds() const { return !services_.options.rls_xds.servers.empty(); }
  absl::Status LoadTls();
  void UseKept();
  absl::Status Use(XdsResponse& response, std::string_view message);
  void Keep(std::string_view message);

  asio::io_context& control_;
  Services& services_;
  RlsRules rules_{services_};
  SharedTlsContext tls_;  // loaded if the control plane is reached by TLS
  std::optional<XdsClient> client_;
  std::string tls_mistake_;   // the last one that the log has
  bool has_expired_ = false;  // the certificate, as the log has it
  // Of the last response that was given to the disk, and whether that has it.
  std::optional<KeyHasher::Fingerprint> kept_;
  std::shared_ptr<std::atomic<bool>> is_kept_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace weir
