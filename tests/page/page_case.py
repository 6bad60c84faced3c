"""The live page in a real browser: what the tests of it share.

The browser is Debian's Chromium. Where that is not installed, the tests are skipped; `./dev
page-test` installs it.
"""

import base64
import contextlib
import http.server
import sys
import tempfile
import threading
import unittest

from browser import CHROMEDRIVER, CHROMIUM, Browser
from weir_e2e import DEADLINE, SKIPPED, ServerTest, free_port

# A key that would run a script if it were read as HTML.
HOSTILE = "<img src=x onerror=\"window.hit=1\"><script>window.hit=1</script>&amp;'"

WIDTHS = {360: 780, 1280: 860, 2560: 1440}  # with a height that is usual

# What stands behind "#/" in the addresses of the views; all exist after start_busy().
VIEWS = ["now", "limits", "limits/10%2Fm", "who", "key", "key/user%3A42", "try", "policies",
         "policies/free", "health/save_failing", "about"]

USERS = """\
user default off
user app on >secret ~* +@limit
user viewer on >look ~* +INFO +RL.STATS
user admin on >change ~* +@all
"""


class PageCase(ServerTest):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="weir_page_")
        cls.addClassCleanup(directory.cleanup)
        cls.browser = Browser(directory.name)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.browser.open("about:blank")
        self.browser.devtools("Network.enable")
        self.browser.devtools("Network.setExtraHTTPHeaders", headers={})
        self.browser.resize(1280, WIDTHS[1280])
        self.browser.prefer("light")
        self.browser.troubles()  # forgets those of the test before

    def start_page(self, *options, port=None):
        """Starts a server with an admin port, and a client of it."""
        self.admin_port = port or free_port()
        server = self.start(f"--admin-port={self.admin_port}", *options)
        server.wait_for_log(r"listening on .* for operators")
        self.server = server
        return server

    def start_busy(self):
        """A server that has something to show in every view."""
        self.client = self.connect(self.start_page())
        self.client.call("RL.POLICY", "SET", "free", "10/m,burst=20,name=burst", "1000/h",
                         "5/m,shadow,name=trial")
        self.client.call("RL.POLICY", "SET", "login", "3/m,ban=10m")
        self.client.call("RL.POLICY", "OVERRIDE", "free", "user:1", "100/s")
        self.client.call("RL.POLICY", "OVERRIDE", "free", "user:42", "30/m,burst=40", "1000/h")
        for i in range(60):
            self.client.call("RL.ALLOW", f"user:{i % 7}", "@free")
            self.client.call("RL.ALLOW", "user:42", "@free")
            self.client.call("RL.ALLOW", f"ip:203.0.113.{i % 9}", "10/m", "100/h,fixed")
        for _ in range(5):
            self.client.call("RL.ALLOW", "user:42", "@login")
            self.client.call("RL.ALLOW", "user:42", "30/m", "60/h,fixed", "1k/d,sliding")
        for _ in range(12):
            self.client.call("RL.ALLOW", HOSTILE, "10/m")
        self.client.call("RL.CHARGE", "user:42", "100k/d,name=tokens", "COST", 103120)

    def go(self, view):
        self.browser.open("about:blank")  # else only the part behind "#" would change
        self.browser.open(f"http://127.0.0.1:{self.admin_port}/#/{view}")
        self.browser.find("main:not(.waiting) :is(h1, h2)")

    def expect_no_trouble(self):
        self.assertEqual(self.browser.troubles(), [])

    def log_in(self, user, password):
        """Sends what the browser would send after the user has filled in its dialog."""
        login = base64.b64encode(f"{user}:{password}".encode()).decode()
        self.browser.devtools("Network.setExtraHTTPHeaders",
                              headers={"Authorization": f"Basic {login}"})

    def statistics(self):
        """RL.STATS: the numbers of each row by its name."""
        return {row[0].decode(): row[1:] for row in self.client.call("RL.STATS")}


@contextlib.contextmanager
def other_site(body=""):
    """Serves a page from another origin; yields its address."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            page = f"<!doctype html><title>other</title><body>{body}</body>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}/"  # another site than 127.0.0.1
    finally:
        server.shutdown()
        thread.join(DEADLINE)
        server.server_close()


def main(arguments=None):
    if not CHROMIUM or not CHROMEDRIVER:
        print("skipped: chromium and chromedriver are not installed (./dev page-test does that)")
        sys.exit(SKIPPED)
    unittest.main(argv=arguments)
