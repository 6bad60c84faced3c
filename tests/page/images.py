"""Makes the pictures of docs/page.md: images.py DIRECTORY.

A server is asked for some minutes, so that there is something to draw. A second one sets the pace:
its RL.WAIT answers so many times a second.
"""

import random
import sys
import threading
from pathlib import Path

from page_case import PageCase, main
from weir_e2e import Client

SECONDS = 150  # of traffic before the first picture

# A rush of one key begins here and ends there, as part of the traffic.
RUSH = (0.45, 0.75)


class Traffic(threading.Thread):
    """Asks as a shop's services might, until it is told to stop."""

    def __init__(self, port, pace_port):
        super().__init__()
        self._client = Client(port)
        self._pace = Client(pace_port)
        self._random = random.Random(42)
        self._stopping = threading.Event()
        self._ticks = 0
        self.enough = threading.Event()  # to draw something

    def run(self):
        while not self._stopping.is_set():
            self._pace.call("RL.WAIT", "pace", "20/s,burst=1", "TIMEOUT", 1000)
            self._ticks += 1
            self._tick(self._ticks / (20 * SECONDS))
            if self._ticks > 20 * SECONDS:
                self.enough.set()
        self._client.close()
        self._pace.close()

    def stop(self):
        self._stopping.set()
        self.join()

    def _tick(self, part):
        pick = self._random
        for _ in range(pick.randint(4, 9)):
            user = f"user:{pick.randint(1, 300) if pick.random() < 0.9 else 7}"
            self._client.call("RL.ALLOW", user, "@free")
        for _ in range(pick.randint(2, 4)):
            self._client.call("RL.ALLOW", f"tenant:{pick.randint(1, 12)}", "@paid")
        if RUSH[0] < part < RUSH[1]:
            for _ in range(pick.randint(5, 8)):
                self._client.call("RL.ALLOW", "ip:203.0.113.7", "20/s,burst=40")
        elif pick.random() < 0.8:
            self._client.call("RL.ALLOW", f"ip:198.51.100.{pick.randint(1, 60)}", "20/s,burst=40")
        if pick.random() < 0.05:
            self._client.call("RL.ALLOW", "user:42", "@login")


class Images(PageCase):
    def save(self, name):
        self.browser.resize(1280, 400)
        height = self.browser.run("return document.documentElement.scrollHeight")
        self.browser.resize(1280, height)
        self.browser.run("document.activeElement.blur()")
        Path(sys.argv[1], f"page-{name}.png").write_bytes(self.browser.screenshot())
        self.browser.resize(1280, 860)

    def test_pictures(self):
        self.start_page("--users-file", self.write("weir.users", "user default on nopass ~* +@all\n"
                                                   "user admin on >change ~* +@all\n"))
        self.log_in("admin", "change")
        client = self.connect(self.server)
        client.call("RL.POLICY", "SET", "free", "2/s,burst=20,name=burst", "500/h",
                    "1/s,burst=10,shadow,name=tighter")
        client.call("RL.POLICY", "SET", "paid", "50/s", "100k/d")
        client.call("RL.POLICY", "SET", "login", "3/m,ban=10m")
        client.call("RL.POLICY", "OVERRIDE", "free", "user:42", "30/m,burst=40", "5k/h,fixed")
        traffic = Traffic(self.server.port, self.start().port)
        self.addCleanup(traffic.stop)
        traffic.start()
        self.go("now")
        self.browser.devtools("Page.bringToFront")
        self.assertTrue(traffic.enough.wait(4 * SECONDS))
        self.browser.await_text(".tiles", r"[1-9]")
        self.save("now")
        self.browser.prefer("dark")
        self.go("limits")
        self.browser.await_text("table", "20/s,burst=40")
        self.save("limits")
        self.browser.prefer("light")
        for _ in range(25):
            client.call("RL.ALLOW", "user:42", "@free")
        client.call("RL.ALLOW", "user:42", "@login", "COST", 3)
        client.call("RL.ALLOW", "user:42", "@login")
        self.go("key/user%3A42")
        self.browser.await_text(".verdict", "Banned")
        self.save("key")
        self.go("try")
        self.browser.type("main form input", "user:42 10/s,burst=20 1000/h COST 2")
        self.browser.click_text("button", "Ask")
        self.browser.click_text("button", "Both")
        self.browser.await_text(".result", "admitted")
        self.save("try")
        self.go("policies/free")
        self.browser.until("return document.querySelector('textarea').value !== ''")
        self.browser.type("textarea", "2/s,burst=30,name=burst\n500/h\n1/s,burst=20,shadow,"
                          "name=tighter")
        self.browser.click_text("button", "Review\u2026")
        self.browser.find("dialog .diff")
        self.save("policies")


if __name__ == "__main__":
    main(sys.argv[:1])
