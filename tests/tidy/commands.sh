# The commands format and lint of ./dev, which reads this file for them.
# shellcheck shell=bash

# Prints the C++ files of the tree, each followed by a NUL.
sources() { find . -path ./build -prune -o '(' -name '*.cc' -o -name '*.h' ')' -print0; }

# Another clang-format than 14 lays some lines out differently.
do_format() {
  find . '(' -path ./build -o -name node_modules -o -name '.?*' ')' -prune -o \
    -name '*.md' -print0 |
    xargs -0 python3 contrib/format/markdown.py "$@"
  if [[ $debian == trixie ]]; then
    step "skipped: Debian 13 has no clang-format 14"
    exit 77  # for ctest
  fi
  need clang-format-14
  local options=(-i)
  [[ ${1:-} != --check ]] || options=(--dry-run --Werror)
  sources | xargs -0 --max-procs="$cores" --max-args=16 clang-format-14 "${options[@]}"
}

# Prints the sources and headers of the product that differ from the default branch, committed or
# not; on that branch itself, those that changed in the four hours before its last commit. Tests and
# benchmarks would take more than half of the time: `./dev lint all` reads them, too.
changed_sources() {
  local base
  base=$(git merge-base HEAD origin/HEAD 2>/dev/null) ||
    base=$(git merge-base HEAD origin/main 2>/dev/null) || base=$(git rev-parse HEAD)
  if [[ $base == "$(git rev-parse HEAD)" ]] && git diff --quiet HEAD; then
    base=$(git show --no-patch --format=%ct)
    base=$(git rev-list --first-parent --max-count=1 --before=$((base - 14400)) HEAD)
  fi
  # Without a commit that old, all: that is the name of the empty tree.
  git diff -z --name-only --diff-filter=d \
    "${base:-$(git hash-object -t tree /dev/null)}" -- '*.cc' '*.h' ':!tests' ':!bench'
}

# Reads a list of sources and prints the groups of the preset lint that include them. A group takes
# clang-tidy a fifth of the time of its sources, as it reads the libraries' headers once.
lint_groups() {
  tr '\0' '\n' | sed 's|^\(\./\)\?|/|; s|\.h$|.cc|; s|$|"|' |
    grep --recursive --files-with-matches --null --include='unity_*.cxx' --fixed-strings --file=- \
      build/lint || true
}

# Reads a list of sources and prints the targets that compile its headers alone, and those that
# include one of these, which may lack what it no longer includes. `./dev lint all` finds those that
# lack it through two headers.
header_checks() {
  local names
  names=$(tr '\0' '\n' | sed --quiet 's|^\(\./\)\?\(.*\.h\)$|"\2"|p')
  [[ -n $names ]] || return 0
  {
    tr --delete '"' <<<"$names"
    grep --recursive --files-with-matches --include='*.h' --exclude-dir=build --fixed-strings \
      --file=- . <<<"$names" | sed 's|^\./||'
  } | sed "s|.*|$PWD/build/lint/header_check/&.cc|" |
    grep --only-matching --fixed-strings --file=- build/lint/build.ninja | sort --unique |
    sed 's|$|^|'  # so Ninja names what is made of a source
}

# Leaves out the analyzer, which takes three quarters of the time, and three checks that take a
# fifth of the rest and rarely find anything; `./dev lint all` does not.
do_lint() {
  local list=changed_sources checks=-bugprone-suspicious-include headers=()
  if [[ ${1:-} == all ]]; then
    list=sources
  else
    checks+=,-clang-analyzer-\*
    checks+=,-bugprone-reserved-identifier,-bugprone-stringview-nullptr
    checks+=,-modernize-use-using
  fi
  need "${build_packages[@]}" "${test_packages[@]}" "${lint_packages[@]}"
  configure lint
  compile lint generated_headers
  mapfile -t headers < <("$list" | header_checks)
  ((!${#headers[@]})) || compile lint "${headers[@]}"
  step "lint"
  # For clang-tidy, the sources that a group includes are headers.
  local folders='bench|check|clients|core|http2|manual|module|persistence|protocol|replay'
  folders+='|replication|rls|server|tests'
  "$list" | lint_groups |
    xargs -0 --no-run-if-empty --max-procs="$cores" --max-args=1 \
      "clang-tidy$clang" --quiet --checks="$checks" -p build/lint \
      --header-filter="/($folders)/[^ ]*\.(h|cc)\$" \
      2> >(grep --invert-match --line-regexp '[0-9]* warnings\? generated\.' >&2)
}
