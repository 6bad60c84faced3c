# The commands strangers and trixie-test of ./dev, which reads this file for them.
# shellcheck shell=bash

# Runs a command in the Debian 13 below build/trixie, in the copy of the tree there. Mounts are its
# own, so nothing stays mounted.
in_trixie() {
  local root=$PWD/build/trixie
  step "Debian 13: $*"
  unshare --mount --propagation private bash -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" &&
      exec chroot "$0" env --chdir=/weir --ignore-environment HOME=/root LC_ALL=C.UTF-8 \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' "$root" "$@"
}

# Tries all that a change of Debian may break: the compiler and the libraries, the tests, the
# module in its Redis and Valkey, and the packages. The system stays in build/trixie, so the next
# run is shorter.
do_trixie-test() {
  local root=build/trixie
  ((EUID == 0)) || fail "trixie-test changes its root, so it runs as root only"
  need mmdebstrap
  if [[ ! -d $root ]]; then
    step "make a Debian 13"
    mkdir -p build
    rm -rf $root.part
    mmdebstrap --quiet --variant=minbase --include=ca-certificates,git trixie $root.part
    mv $root.part $root
  fi
  mkdir -p $root/weir
  find $root/weir -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git ls-files -z --cached --others --exclude-standard |
    tar --create --null --files-from=- --ignore-failed-read |
    tar --extract --overwrite --directory=$root/weir
  git -C $root/weir init --quiet  # ./dev package lists the files of a repository
  cp /etc/resolv.conf $root/etc/
  in_trixie ./dev build
  in_trixie WEIR_TEST_SCALE=0.2 ./dev test || failed+=("of Debian 13")
  in_trixie apt-get --quiet=2 update
  in_trixie apt-get --quiet=2 --yes install --no-install-recommends valkey-server
  in_trixie WEIR_REDIS_SERVER=/usr/bin/valkey-server ./dev test -R e2e/module ||
    failed+=("of the module in Valkey")
  in_trixie ./dev package
  in_trixie sh -c 'apt-get --yes install ./build/packages/*.deb && weir-server --version'
  print_times
  ((!${#failed[@]})) || fail "failed: tests ${failed[*]}"
}

# Types what the pages show to a newcomer in each language, with the packages of ./dev package.
do_strangers() {
  ((EUID == 0)) || fail "strangers boots systems of its own, so it runs as root only"
  need mmdebstrap python3 systemd-container
  need "${build_packages[@]}"
  do_package
  step "strangers"
  PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 tests/strangers/run.py build/packages build/strangers "$@"
}
