#include "server/grpc/http_port.h"

#include <memory>
#include <utility>

#include "server/grpc/first_bytes.h"
#include "server/http/http_session.h"

namespace weir {

PortProtocol HttpProtocol(Face face, HttpServices& http) {
  PortProtocol protocol = {
      .face = face,
      .purpose = " for HTTP",
      .make = [&http](Worker& worker,
                      std::shared_ptr<ClientRecord> record) -> std::unique_ptr<ClientSession> {
        return std::make_unique<FirstBytes>(worker, std::move(record), http);
      },
      // A client that takes either gets HTTP/1.1, which has all paths.
      .alpn = "\x08http/1.1\x02h2",
      .denied =
          "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 67\r\n"
          "Connection: close\r\n\r\n"
          "weir is in protected mode: it serves only clients on its own host.\n",
      .too_many_clients =
          "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
          "Connection: close\r\n\r\n",
  };
  if (face == Face::kAdmin) {
    protocol.purpose = " for operators";
    protocol.make = [&http](
                        Worker& worker,
                        std::shared_ptr<ClientRecord> record) -> std::unique_ptr<ClientSession> {
      return std::make_unique<HttpSession>(worker, std::move(record), http);
    };
    protocol.clients_max = kAdminClientsMax;
  }
  return protocol;
}

}  // namespace weir
