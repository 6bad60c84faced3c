# A stranger who writes Python: clients/python/README.md.
. /root/stranger.sh
page=clients/python/README.md
start_weir

while IFS= read -r command; do downloads "$command"; done < <(block $page sh 1)
put first.py "$(block $page python 1 | here)"
types "env/bin/python first.py"
put wrong.py "$(block $page python 1 | here | wrong)"
expect WRONGPASS "env/bin/python wrong.py"

downloads "env/bin/pip install --quiet fastapi uvicorn prometheus-client"
own_lines+=("pip install fastapi uvicorn prometheus-client    # the framework is the reader's")
put app.py "import os
from fastapi import FastAPI
$(block $page python 2)

@app.get('/')
def read():
    return {}" "imports and a route, which the reader's program has"
export WEIR_URL=$url
env/bin/uvicorn --log-level warning app:app & await_port 8000
is_limited
denied ip:127.0.0.1

fails_open
put away.py "import os
from prometheus_client import Counter, generate_latest
from weir_client import Limiter
url = os.environ['WEIR_URL']
$(block $page python 3)
print(limiter.allow('user:42', '10/s').reason)
print(generate_latest().decode())" "imports, a call and the way to show the counter"
expect 'weir_client_unavailable_total{cause="connection",service="shop"} 1.0' \
  "env/bin/python away.py"
report
