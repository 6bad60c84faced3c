# A stranger who writes Rust: clients/rust/README.md, with Debian's cargo-web.
. /root/stranger.sh
page=clients/rust/README.md
start_weir

downloads "apt-get install --yes --no-install-recommends cargo-web gcc libc6-dev \
  ca-certificates >/dev/null"
update-ca-certificates >/dev/null
own_lines+=("apt-get install cargo-web    # Rust is the reader's")
own "cargo init --quiet --name shop shop" "the reader has a crate"
cd shop
# In the folder of the crate, beside which the tree lies; tower and tokio are for the framework.
downloads "$(block $page sh 1 | sed 's| *#.*||; s|weir/clients|../weir/clients|'),tower,tokio"
program() {  # program NAME BODY
  mkdir -p src/bin
  put "src/bin/$1.rs" "fn main() -> Result<(), Box<dyn std::error::Error>> {
$2
    Ok(())
}" "main, which the reader's program has"
}
program first "$(block $page rust 1 | here)"
downloads "cargo build --quiet --bin first"
types "target/debug/first"
program wrong "$(block $page rust 1 | here | wrong)"
downloads "cargo build --quiet --bin wrong"
expect WRONGPASS target/debug/wrong

downloads "cargo add --quiet axum && cargo add --quiet tokio --features full"
own_lines+=("cargo add axum tokio    # the framework is the reader's")
put src/bin/app.rs "use axum::{extract::ConnectInfo, routing::get, Router};
use std::net::SocketAddr;
use weir_client::tower::RateLimit;
$(block $page rust 2 | sed -n '1,/^});$/p')
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let app = Router::new().route(\"/\", get(|| async { \"hello\" }));
$(block $page rust 2 | sed '1,/^});$/d')
    let listener = tokio::net::TcpListener::bind(\"127.0.0.1:8000\").await?;
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}" "imports, a route and main, which the reader's program has"
export WEIR_URL=$url
downloads "cargo build --quiet --bin app"
target/debug/app & await_port 8000
is_limited
denied ip:127.0.0.1

fails_open
program away "    let limiter = weir_client::Limiter::new(&std::env::var(\"WEIR_URL\")?)?;
    println!(\"{}\", limiter.allow(&[\"user:42\", \"10/s\"])?.reason);
    println!(\"{:?}\", limiter.counts());"
downloads "cargo build --quiet --bin away"
expect "unavailable" target/debug/away
report
