# Steps that every stranger takes in a bare Debian 12; LANG.sh reads this file. Commands are typed
# as the pages show them, in order. `own` types the lines that no page shows, and the report names
# them.
# shellcheck shell=bash
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
cd /root

typed=0 seconds=0 own_lines=()
readonly weir=/root/weir  # a checkout
readonly url=redis://app:secret@127.0.0.1:7379 service=http://127.0.0.1:8000/

# Notes that a page lacks a block; report() fails then, as an error in $(...) ends nothing.
lacks() { echo "$1" >>/root/lacking; }

# block PAGE WORD N: prints the Nth block of a page that begins with ```WORD.
block() {
  awk -v word="\`\`\`$2" -v n="$3" '
    $0 == word && !inside { inside = 1; found++; next }
    $0 == "```" { inside = 0 }
    inside && found == n { print; some = 1 }
    END { exit !some }' "$weir/$1" || lacks "$1 has no block $3 of $2"
}

# block_from PAGE LINE: prints the block of a page that begins with a line.
block_from() {
  awk -v line="$2" '
    /^```/ { inside = 0 }
    before ~ /^```/ && $0 == line { inside = some = 1 }
    inside { print }
    { before = $0 }
    END { exit !some }' "$weir/$1" || lacks "$1 has no block from $2"
}

# commands PAGE N: prints the commands of the Nth console block of a page, a line each.
commands() { block "$1" console "$2" | sed -n 's/^\$ //p'; }

# Types a command that a page shows.
types() {
  local begin=$SECONDS
  ((++typed))
  printf '$ %s\n' "$1"
  eval "$1"
  seconds=$((seconds + SECONDS - begin))
}

# The same for a command that downloads, whose time depends on the network.
downloads() {
  local before=$seconds
  types "$1"
  seconds=$before
}

# Types a command that no page shows. The reason says why.
own() {
  own_lines+=("$1    # $2")
  types "$1"
}

# The reader's address of weir in place of the pages'.
here() { sed 's/weir\.internal/127.0.0.1/'; }
# Puts a wrong password in place of the right one.
wrong() { sed 's/app:secret/app:wrong/'; }

# put FILE TEXT [REASON]: writes a program. Lines that no page shows have a reason.
put() {
  ((++typed))
  printf '%s\n' "$2" >"$1"
  [[ -z ${3:-} ]] || own_lines+=("$1: $3")
}

fail() {
  echo "NOT AS SHOWN: $*"
  exit 1
}

# expect TEXT COMMAND: types the command, whose output must have the text.
expect() {
  local text=$1 output
  output=$(types "$2" 2>&1) || true
  ((++typed))
  printf '%s\n' "$output"
  [[ $output == *"$text"* ]] || fail "$2 does not say '$text'"
}

# --- The server ---

# Installs the package, and lets in a user with a password.
start_weir() {
  local command
  while IFS= read -r command; do
    case $command in
      apt-get*) downloads "apt-get update --quiet=2 && ${command%% curl nginx} curl >/dev/null" ;;
      *) types "$command" ;;
    esac
  done < <(commands docs/operations.md 1)
  types "cat >/etc/weir/users <<'END'
$(block_from docs/security.md 'user default off')
END"
  types "sed -i 's/^#users-file/users-file/' /etc/weir/weir.toml"
  types "systemctl restart weir"
}

# --- Seen in the end ---

# denied KEY: the page's API knows which key was denied.
denied() {
  expect "\"$1\"" "curl --silent --user admin:another http://127.0.0.1:7382/api/top"
}

# The service is asked forty times at once: some answers are 200, some 429 with their fields. It is
# asked twice before, as its first connection to weir may take longer than a call.
is_limited() {
  local answers
  curl --silent --output /dev/null $service $service
  answers=$(curl --silent --parallel --parallel-max 40 --output /dev/null --dump-header headers \
    --write-out '%{http_code} ' "$service?[1-40]")
  echo "$answers"
  [[ $answers == *200* && $answers == *429* ]] || fail "the service is not limited: $answers"
  grep -qi '^ratelimit:' headers || fail "a 429 has no RateLimit"
  grep -qi '^retry-after:' headers || fail "a 429 has no Retry-After"
}

# weir is stopped, and the service answers nevertheless.
fails_open() {
  types "systemctl stop weir"
  [[ $(curl --silent --write-out '%{http_code}' --output /dev/null $service) == 200 ]] ||
    fail "the service does not fail open"
}

await_port() {
  local end=$((SECONDS + 60))
  until (: </dev/tcp/127.0.0.1/"$1") 2>/dev/null; do
    ((SECONDS < end)) || fail "nothing listens on port $1"
  done
}

report() {
  [[ ! -e /root/lacking ]] || fail "$(cat /root/lacking)"
  echo
  echo "$typed commands and files typed, $seconds s without downloads"
  local line
  for line in "${own_lines[@]}"; do echo "no page shows: $line"; done
}
