# The command clients of ./dev, which reads this file for it.
# shellcheck shell=bash

# The wrappers in languages that only `./dev clients` needs.
wrapper_packages=(golang-go golang-github-gomodule-redigo-dev rustc)

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
  for test in python python_web; do
    /usr/bin/python3 "tests/clients/${test}_test.py" || status=$?
  done
  return "$status"
}
