//! TLS: which authorities are trusted, and the handshake.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring, version};

use crate::address::Address;
use crate::error::Mistake;

#[derive(Clone)]
pub(crate) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// That of an address, by a configuration of the program's if there is one.
    pub fn of(
        address: &Address,
        config: Option<Arc<ClientConfig>>,
    ) -> Result<Option<Tls>, Mistake> {
        if !address.uses_tls {
            return Ok(None);
        }
        if let Some(config) = config {
            return Ok(Some(Tls(config)));
        }
        let mut roots = RootCertStore::empty();
        match &address.ca {
            Some(path) => read_authorities(path, &mut roots)?,
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        // Named, so that a program whose crates bring several need not choose one.
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .map_err(|error| Mistake::new(format!("no TLS: {error}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Some(Tls(Arc::new(config))))
    }

    /// A stream to a server that has a certificate for this host.
    pub async fn connect(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_string()).map_err(std::io::Error::other)?;
        TlsConnector::from(self.0.clone()).connect(name, stream).await
    }
}

fn read_authorities(path: &str, roots: &mut RootCertStore) -> Result<(), Mistake> {
    let wrong = |error: String| Mistake::new(format!("the file ?ca={path}: {error}"));
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("has no certificate".to_string())) } else { Ok(()) }
}
