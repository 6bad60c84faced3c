# The command clients of ./dev, which reads this file for it.
# shellcheck shell=bash

# For the wrappers and packages that only `./dev clients` builds.
wrapper_packages=(golang-go golang-github-gomodule-redigo-dev node-typescript python3-pip
  python3-setuptools python3-venv python3-wheel rustc)
# The modules of npm with which the JavaScript package is tested: one node-redis at a time.
newest_redis=(redis@4.7.1 redis@5.12.1 redis@6.3.1)
newest_frameworks=(express@5.3.0 express4@npm:express@4.21.2 fastify@5.12.8 hono@4.13.19
  @hono/node-server@1.19.19)

# Clients from npm are installed into build/clients if npm is present. It is not among the packages
# that are installed, as Debian's npm needs hundreds of others.
do_clients() {
  need "${build_packages[@]}" "${test_packages[@]}" "${wrapper_packages[@]}"
  configure dev
  local target test status=0 built=$PWD/build/dev
  for target in weir-server hiredis_client limited_program; do compile dev "$target"; done
  export WEIR_SERVER=$built/weir-server WEIR_HIREDIS_CLIENT=$built/hiredis_client
  export WEIR_LIMITED_PROGRAM=$built/limited_program WEIR_NPM_FOLDER=$PWD/build/clients
  export PYTHONPATH=$PWD/tests/e2e:$PWD/tests/clients:$PWD/clients/python
  step "clients, of Sentinel, too, wrappers and packages"
  python3 tests/clients/matrix.py --npm "$WEIR_NPM_FOLDER" "$@" || status=$?
  /usr/bin/python3 tests/e2e/replication/sentinel_clients_test.py "$@" || status=$?
  python3 tests/e2e/wrappers/limited_test.py "$@" || status=$?
  /usr/bin/python3 tests/clients/cases_test.py "$@" || status=$?
  for test in tests/clients/{javascript,python}_{,*_}test.py tests/clients/python_package.py; do
    /usr/bin/python3 "$test" || status=$?
  done
  test_newest_python || status=$?
  test_newest_javascript || status=$?
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
