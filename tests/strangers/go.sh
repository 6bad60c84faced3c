# A stranger who writes Go: clients/go/README.md, with Debian's Go.
. /root/stranger.sh
page=clients/go/README.md
start_weir

downloads "apt-get install --yes --no-install-recommends golang-go ca-certificates >/dev/null"
update-ca-certificates >/dev/null
own_lines+=("apt-get install golang-go    # Go is the reader's")
mkdir -p shop && cd shop
own "go mod init shop" "the reader has a module"
program() {  # program FILE BODY IMPORT ...: a main that has a fragment of the page
  put "$1" "package main

import (
$(printf '\t%s\n' "${@:3}")
  weir \"weir/client\"
)

func main() {
  ctx := context.Background()
  _ = ctx
$2
}" "package, imports and main, which the reader's program has"
}
checked='    if err != nil { log.Fatal(err) }'
first() { block $page go 1 | here | sed "s|// import weir.*||; /err = limiter.Verify/a\\$checked"; }
mkdir -p first wrong app away
program first/main.go "$(first)" '"context"' '"log"'
while IFS= read -r command; do downloads "${command//PATH/$weir}"; done < <(block $page sh 1)
types "go run ./first"
program wrong/main.go "$(first | wrong)" '"context"' '"log"'
expect WRONGPASS "go run ./wrong"

middleware=$(grep -o 'weir.Middleware(limiter, weir.Limits([^)]*))' "$weir/$page")
program app/main.go "  limiter, err := weir.New(os.Getenv(\"WEIR_URL\"))
  if err != nil { log.Fatal(err) }
  hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
    w.Write([]byte(\"hello\"))
  })
  log.Fatal(http.ListenAndServe(\"127.0.0.1:8000\", $middleware(hello)))" \
  '"context"' '"log"' '"net/http"' '"os"'
export WEIR_URL=$url
types "go build -o service ./app"
./service & await_port 8000
is_limited
denied ip:127.0.0.1

fails_open
program away/main.go "  limiter, err := weir.New(os.Getenv(\"WEIR_URL\"), weir.OnUnavailable(
    func(cause string) { log.Print(\"unavailable \", cause) }))
  if err != nil { log.Fatal(err) }
  decision, err := limiter.Allow(ctx, \"user:42\", \"10/s\")
  log.Print(decision.Reason, err)" '"context"' '"log"' '"os"'
expect "unavailable connection" "go run ./away"
report
