# A stranger who writes JavaScript: clients/javascript/README.md, with npm.
. /root/stranger.sh
page=clients/javascript/README.md
start_weir

downloads "apt-get install --yes --no-install-recommends npm >/dev/null"
own_lines+=("apt-get install npm    # Node and npm are the reader's")
while IFS= read -r command; do
  [[ $command != "# With Debian's"* ]] || break
  downloads "$command"
done < <(block $page sh 1)
put first.mjs "$(block $page js 1 | here)
limiter.close();" "close(), so that the program ends"
types "node first.mjs"
put wrong.mjs "$(block $page js 1 | here | wrong)"
expect WRONGPASS "node wrong.mjs"

downloads "npm install --silent express prom-client"
own_lines+=("npm install express prom-client    # the framework is the reader's")
put app.mjs "import express from 'express';
import { Limiter } from 'weir-client';
const app = express();
const limiter = new Limiter(process.env.WEIR_URL);
$(block $page js 2)
app.get('/', (request, response) => response.send('hello'));
app.listen(8000);" "imports and a route, which the reader's program has"
export WEIR_URL=$url
node app.mjs & await_port 8000
is_limited
denied ip:127.0.0.1

fails_open
put away.mjs "import prometheus from 'prom-client';
import { Limiter } from 'weir-client';
const { Counter, register } = prometheus, url = process.env.WEIR_URL;
$(block $page js 3 | sed 's/name: "weir_client_unavailable_total",/& help: "h",/')
console.log((await limiter.allow('user:42', '10/s')).reason);
console.log(await register.metrics());
limiter.close();" "imports, a call and the way to show the counter"
expect 'weir_client_unavailable_total{service="shop",cause="connection"} 1' "node away.mjs"
report
