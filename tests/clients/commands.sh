# The command clients of ./dev, which reads this file for it.
# shellcheck shell=bash

# For the wrappers and packages that only `./dev clients` builds.
wrapper_packages=(golang-go golang-github-gomodule-redigo-dev python3-pip python3-setuptools
  python3-venv python3-wheel rustc)

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
  for test in python_test python_faults_test python_mistakes_test python_web_test python_package; do
    /usr/bin/python3 "tests/clients/$test.py" || status=$?
  done
  test_newest_python || status=$?
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
