"""Makes pictures of all views, to be looked at: gallery.py DIRECTORY.

Each is STATE-VIEW-WIDTH-SCHEME.png: of a primary with replicas, a replica, a server with users, one
with a policy file, an empty one, one whose disk is full, and one that has stopped.
"""

import resource
import sys
from pathlib import Path

from page_case import USERS, VIEWS, PageCase, main

SIZES = {1440: 900, 1024: 768, 390: 844}


class Gallery(PageCase):
    def show(self, state, views=VIEWS, before=lambda: None, after=lambda: None):
        """Saves the views of the server, with `before` and `after` around each picture."""
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            for width, height in SIZES.items():
                for view in views:
                    self.browser.resize(width, height)
                    self.go(view)
                    before()
                    self.browser.resize(width, self.browser.run(
                        "return document.documentElement.scrollHeight"))
                    name = f"{state}-{view.replace('/', '-').replace('%', '')}-{width}-{scheme}.png"
                    Path(sys.argv[1], name).write_bytes(self.browser.screenshot())
                    after()

    def test_a_primary_with_replicas_and_one_of_these(self):
        self.start_busy()
        for _ in range(2):
            self.start("--replicaof", f"127.0.0.1 {self.server.port}")
        self.show("primary")
        self.start_page("--replicaof", f"127.0.0.1 {self.server.port}")
        self.show("replica")

    def test_a_server_with_users(self):
        self.start_page("--users-file", self.write("weir.users", USERS))
        self.log_in("admin", "change")
        self.show("users", ("now", "key/user%3A42", "policies"))

    def test_a_server_with_a_policy_file(self):
        policies = self.write("policies.toml", '[policies]\nfree = ["10/m", "5/m,shadow"]\n')
        self.start_page("--policies", policies)
        self.connect(self.server).call("RL.ALLOW", "user:42", "@free", "COST", 9)
        self.show("file", ("limits", "policies", "policies/free"))

    def test_an_empty_server(self):
        self.start_page()
        self.show("empty")

    def test_a_server_whose_disk_is_full(self):
        server = self.start_page("--data-dir", f"{self.directory}/data", "--snapshot-interval",
                                 "20ms")
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        self.connect(server).call("RL.ALLOW", "user:42", "10/m")
        self.show("full", ("now", "limits"),
                  before=lambda: self.browser.await_text("#verdict.bad", "saving fails"))
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)

    def test_a_server_that_has_stopped(self):
        def pause():
            self.server.pause()
            self.browser.await_text("#banner", "does not answer")

        self.start_busy()
        self.show("stopped", ("now", "limits"), before=pause, after=lambda: self.server.resume())


if __name__ == "__main__":
    main(sys.argv[:1])
