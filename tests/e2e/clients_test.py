"""Runs the programs of tests/clients whose clients are in Debian, and checks docs/clients.md.

`./dev clients` runs the others as well.
"""

import unittest
from pathlib import Path

import matrix
import page
from clients import CLIENTS

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"


class ClientsTest(unittest.TestCase):
    def check_clients(self, as_user):
        for client in CLIENTS:
            if client.npm:
                continue
            with self.subTest(client.name):
                outcome = matrix.run(client, as_user)
                self.assertEqual(outcome.skipped, "")
                self.assertEqual(outcome.failures(), {})

    def test_without_a_user(self):
        self.check_clients(as_user=False)

    def test_with_a_user(self):
        self.check_clients(as_user=True)

    def test_the_page_is_up_to_date(self):
        self.assertTrue(
            PAGE.read_text(encoding="utf-8") == page.page(),
            "docs/clients.md is stale: run `./dev docs`",
        )

    # Goal: the page has lines for every client. Method: each program belongs to a section;
    # redis-benchmark is in redis-cli's.
    def test_each_client_is_on_the_page(self):
        shown = {section.program for section in page.SECTIONS} | {"redis_benchmark.py"}
        self.assertEqual({client.program.split()[0] for client in CLIENTS}, shown)


if __name__ == "__main__":
    unittest.main()
