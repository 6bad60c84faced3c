# The commands package, package-test and release of ./dev, which reads this file for them.
# shellcheck shell=bash

# Builds from a copy, since the build leaves files in the tree and beside it.
do_package() {
  need "${build_packages[@]}" "${deb_packages[@]}"
  step "package"
  local packages=build/packages copy=build/package/weir
  rm -rf build/package "$packages"
  mkdir -p "$copy" "$packages"
  git ls-files -z --cached --others --exclude-standard |
    tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory="$copy"
  (
    export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS:-noautodbgsym parallel=$(compilers)}
    if [[ -n ${CMAKE_CXX_COMPILER_LAUNCHER:-} ]]; then
      CCACHE_DIR=$(ccache --get-config cache_dir)  # debhelper changes the home directory
      export CCACHE_DIR
    fi
    cd "$copy" && dpkg-buildpackage --build=binary --unsigned-source --unsigned-changes
  ) >build/package/log 2>&1 || {
    tail -n 50 build/package/log >&2
    fail "the whole log is build/package/log"
  }
  mv build/package/*.deb build/package/*.changes build/package/*.buildinfo "$packages"
  step "lintian"
  lintian --allow-root --fail-on error,warning "$packages"/*.changes
  rm -rf build/package
  echo "The packages are in $packages. Next:"
  local package
  for package in "$packages"/*.deb; do
    echo "  sudo apt install ./$package"
  done
}

# Builds the server of 0.1.0 once, since 0.1.0 has no package.
do_package-test() {
  local previous=build/previous
  ((EUID == 0)) || fail "package-test boots systems of its own, so it runs as root only"
  need "${build_packages[@]}" "${bare_packages[@]}"
  do_package
  if [[ ! -x $previous/build/weir-server ]]; then
    step "build the server of 0.1.0"
    mkdir -p $previous/source
    git archive c81d893 | tar --extract --directory=$previous/source
    (
      cd $previous/source
      cmake --preset release -B ../build >/dev/null
      cmake --build ../build --parallel "$cores" --target weir-server -- --quiet
    )
  fi
  step "package-test"
  PYTHONPATH=$PWD/tests/e2e PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/package/bare/run.py \
    build/packages $previous/build/weir-server build/bare
}

# A version that is not released yet gets the day of today wherever it has a date. One that has its
# date gets the notes for its tag, from CHANGELOG.md, and all files of its release.
do_release() {
  local version title package day notes files
  ! grep -q '^| 20' tests/FLAKY.md || fail "a test has failed without a cause: tests/FLAKY.md"
  version=$(sed -n 's/^project(weir VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
  title=$(grep --max-count=1 '^## ' CHANGELOG.md)
  package=$(head -n 1 debian/changelog)
  [[ $title == "## $version, "* && $package == "weir ($version) "* ]] ||
    fail "version $version, but CHANGELOG.md begins with '$title', debian/changelog with '$package'"
  if [[ $title == *", not released" ]]; then
    day=$(date --utc +%F)
    sed -i "s/^set(WEIR_VERSION_DATE [0-9-]*)/set(WEIR_VERSION_DATE $day)/" CMakeLists.txt
    sed -i "0,/^## .*/s//## $version, $day/" CHANGELOG.md
    sed -i "0,/^ -- \(.*>\)  .*/s// -- \1  $(LC_ALL=C date --utc --rfc-email)/" debian/changelog
    echo "Version $version has the date $day now. Next:"
    echo "  ./dev docs    # the manual pages have the date, too"
    echo "  git commit --all --message 'CHANGELOG: Release $version'"
    echo "  ./dev release"
    return
  fi
  [[ -z $(git status --porcelain) ]] || fail "commit the changes in the tree first"
  ! git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null ||
    fail "v$version is tagged; a new version begins in CMakeLists.txt, CHANGELOG.md ('## VERSION," \
      "not released') and debian/changelog"
  notes=build/notes-$version.md
  mkdir -p build
  awk -v title="weir $version" '/^## / { if (++n == 1) print title; next } n == 1' CHANGELOG.md \
    >"$notes"
  files=build/release-$version
  step "make $files"
  contrib/release/artefacts.py "$version" "$notes" "$files" "$(compilers)" ||
    fail "the files are not made"
  echo "The notes of version $version are in $notes, its files in $files. Next:"
  echo "  .ci/run && WEIR_TEST_SCALE=4 WEIR_START_MATRIX=all ./dev test && ./dev lint all &&"
  echo "    ./dev package-test"
  echo "  git tag --annotate v$version --cleanup=whitespace --file=$notes"
  echo "  git push origin v$version"
}
