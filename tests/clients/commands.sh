# The command clients of ./dev, which reads this file for it.
# shellcheck shell=bash

# For the packages that only `./dev clients` builds.
client_packages=(libcpp-httplib-dev node-typescript python3-pip python3-setuptools
  python3-venv python3-wheel)
# The modules of npm with which the JavaScript package is tested: one node-redis at a time.
newest_redis=(redis@4.7.1 redis@5.12.1 redis@6.3.1)
newest_frameworks=(express@5.3.0 express4@npm:express@4.21.2 fastify@5.12.8 hono@4.13.19
  @hono/node-server@1.19.19)
go_minor_min=19  # Go 1.19 is that of Debian 12
rust_version_min=1.88 # that of clients/rust/Cargo.toml

# Clients from npm are installed into build/clients if npm is present. It is not among the packages
# that are installed, as Debian's npm needs hundreds of others.
do_clients() {
  need "${build_packages[@]}" "${test_packages[@]}" "${client_packages[@]}"
  configure dev
  local target test status=0 built=$PWD/build/dev
  for target in weir-server hiredis_client cpp_client_program; do compile dev "$target"; done
  export WEIR_SERVER=$built/weir-server WEIR_HIREDIS_CLIENT=$built/hiredis_client
  export WEIR_CPP_PROGRAM=$built/cpp_client_program WEIR_NPM_FOLDER=$PWD/build/clients
  export PYTHONPATH=$PWD/tests/e2e:$PWD/tests/clients:$PWD/clients/python
  prepare_go "$PWD/build/clients" || status=$?
  test_rust || status=$?
  step "clients, of Sentinel, too, and packages"
  python3 tests/clients/matrix.py --npm "$WEIR_NPM_FOLDER" "$@" || status=$?
  /usr/bin/python3 tests/e2e/replication/sentinel_clients_test.py "$@" || status=$?
  /usr/bin/python3 tests/clients/cases_test.py cpp javascript python "$@" || status=$?
  for test in tests/clients/{cpp,javascript,python}_{,*_}test.py \
    tests/clients/{cpp,python}_package.py; do
    /usr/bin/python3 "$test" || status=$?
  done
  test_newest_python || status=$?
  test_newest_javascript || status=$?
  if [[ -n ${WEIR_GO_SENTINEL_CLIENT:-} ]]; then test_go || status=$?; fi
  return "$status"
}

# Runs the tests of the Python package with the newest redis-py, FastAPI and Flask of PyPI, if it is
# reached.
test_newest_python() {
  local folder=$PWD/build/clients/python test versions
  rm -rf "$folder"
  python3 -m venv "$folder"
  if ! "$folder/bin/pip" install --quiet --upgrade redis fastapi flask; then
    step "PyPI is not reached: the newest redis-py is not tested"
    return 0
  fi
  versions=$("$folder/bin/pip" list --format=freeze | grep -E '^(redis|fastapi|Flask)=' | xargs)
  step "weir_client with $versions"
  for test in python python_web; do
    "$folder/bin/python" "tests/clients/${test}_test.py" || return 1
  done
  WEIR_CLIENT_PYTHON=$folder/bin/python /usr/bin/python3 tests/clients/cases_test.py python
}

# Packs the JavaScript package, and runs its tests with the node-redis and the frameworks of npm, if
# that is there and reaches them. Version 6 and Fastify 5 want Node 20.
test_newest_javascript() {
  local folder=$PWD/build/clients/javascript redis modules status=0
  if ! command -v npm >/dev/null; then
    step "npm is missing: the newest node-redis is not tested"
    return 0
  fi
  /usr/bin/python3 tests/clients/javascript_package.py || status=$?
  for redis in "${newest_redis[@]}"; do
    [[ $redis != redis@6* || $(node --version) != v18* ]] || continue
    rm -rf "${folder:?}/$redis"
    mkdir -p "$folder/$redis"
    if ! npm install --prefix "$folder/$redis" --ignore-scripts --no-audit --no-fund \
      --loglevel=error "$redis" "${newest_frameworks[@]}"; then
      step "npm is not reached: $redis is not tested"
      return "$status"
    fi
    modules=$folder/$redis/node_modules
    step "weir-client with $redis"
    WEIR_NODE_MODULES=$modules /usr/bin/python3 tests/clients/cases_test.py javascript || status=$?
    WEIR_NODE_MODULES=$modules /usr/bin/python3 tests/clients/javascript_test.py || status=$?
    WEIR_NODE_MODULES=$modules /usr/bin/python3 tests/clients/javascript_faults_test.py || status=$?
  done
  WEIR_NODE_MODULES=$modules /usr/bin/python3 tests/clients/javascript_web_test.py \
    express4 express5 fastify hono || status=$?
  return "$status"
}

# Builds the Go client's program for Sentinel into a folder, and exports its path, if the Go module
# proxy is reached. Takes the host's Go, if it is there, else Debian's.
prepare_go() {
  local minor
  unset WEIR_GO_SENTINEL_CLIENT
  command -v go > /dev/null || need golang-go
  minor=$(go env GOVERSION | sed -nE 's/^go1\.([0-9]+).*/\1/p')
  if ((${minor:-0} < go_minor_min)); then
    step "$(go version) is too old for clients/go, which needs Go 1.$go_minor_min"
    return 1
  fi
  if ! (cd tests/clients/go && go mod download); then
    step "the Go module proxy is not reached: clients/go is not tested"
    return 0
  fi
  (cd tests/clients/go && go build -o "$1/go_sentinel_client" ./sentinel) || return 1
  export WEIR_GO_SENTINEL_CLIENT=$1/go_sentinel_client
}

# Tests the Go client, with go-redis as its go.sum pins it, then with the newest.
test_go() {
  step "clients/go with $(go env GOVERSION)"
  /usr/bin/python3 tests/clients/go_package.py || return 1
  play_go "$PWD/tests/clients/go" || return 1
  test_newest_go
}

# Tests a copy of it with the newest go-redis, if the Go that is here builds that.
test_newest_go() {
  local folder=$PWD/build/clients/go
  rm -rf "$folder"
  mkdir -p "$folder/clients" "$folder/tests/clients"
  cp -r clients/go "$folder/clients"
  cp -r tests/clients/go "$folder/tests/clients"
  if ! (cd "$folder/tests/clients/go" && go get github.com/redis/go-redis/v9@latest && go mod tidy)
  then
    step "the newest go-redis needs a newer Go, and is not tested"
    return 0
  fi
  step "clients/go with $(cd "$folder/tests/clients/go" && go list -m github.com/redis/go-redis/v9)"
  play_go "$folder/tests/clients/go"
}

# Plays the cases with the program of this module, and runs its tests.
play_go() {
  WEIR_CLIENT_GO=$1 /usr/bin/python3 tests/clients/cases_test.py go &&
    (cd "$1" && go vet ./... && go test -race -count 1 ./...)
}

# Tests the Rust crate, whose own crates come from crates.io in the versions of its Cargo.lock.
test_rust() {
  find_cargo || return 1
  export CARGO_TARGET_DIR=$PWD/build/clients/rust
  local folder status=0
  step "weir-client with $(cargo --version)"
  for folder in clients/rust tests/clients/programs/rust tests/clients/programs/rust_web; do
    (
      cd "$folder" || exit
      ! cargo fmt --version >/dev/null 2>&1 || cargo fmt --check
    ) || status=$?
  done
  (cd clients/rust && test_rust_features) || status=$?
  /usr/bin/python3 tests/clients/rust_package.py || status=$?
  export WEIR_RUST_PROGRAMS=$CARGO_TARGET_DIR/debug # for sentinel_clients_test.py
  return "$status"
}

# Builds the crate with each set of its features, and lints it where there is a linter; without a
# Limiter in them it says which feature is missing. Then runs its own tests.
test_rust_features() {
  local check=(check) features said
  ! cargo clippy --version >/dev/null 2>&1 || check=(clippy)
  for features in blocking tokio tower tls,blocking tls,tokio tls,tower,blocking; do
    RUSTFLAGS="-D warnings" cargo "${check[@]}" --quiet --locked --no-default-features \
      --features "$features" || return
  done
  for features in "" tls; do
    ! said=$(cargo check --locked --no-default-features --features "$features" 2>&1) || return
    [[ $said == *"needs the feature"* ]] || return
  done
  RUSTFLAGS="-D warnings" cargo "${check[@]}" --quiet --locked --all-features --tests || return
  cargo test --quiet --locked --all-features
}

# The host's cargo if it is new enough, else Debian's of the package cargo-web.
find_cargo() {
  local version
  version=$(cargo --version 2>/dev/null | cut -d' ' -f2)
  is_rust_new "$version" && return
  need cargo-web
  version=$(cargo --version 2>/dev/null | cut -d' ' -f2)
  is_rust_new "$version" && return
  echo "Rust is ${version:-missing}; clients/rust needs $rust_version_min" >&2
  return 1
}

is_rust_new() {
  [[ $1 ]] && printf '%s\n' "$rust_version_min" "$1" | sort --version-sort --check=quiet
}
