"""The windows of the calendar are those of another implementation of the zone database (L23)."""

import os
import random
import unittest
import zoneinfo

from calendar_ends import Comparison, compare_law, zone_names
from weir_e2e import ServerTest, scaled


class CalendarTest(ServerTest):
    # Goal: L23. Method: a fiftieth of the zones, drawn by a printed seed; `./dev bench calendar`
    # takes all of them, with all of their days.
    def test_windows_are_those_of_python(self):
        seed = int(os.environ.get("WEIR_SEED", random.randrange(1 << 32)))
        names = zone_names()
        comparison = Comparison(self.start("--allow-explicit-time").port)
        for name in random.Random(seed).sample(names, max(1, scaled(len(names) // 50))):
            compare_law(comparison, name, seed)
        comparison.close()
        self.assertEqual(comparison.differences, [], f"WEIR_SEED={seed}")
        self.assertGreater(comparison.windows, 5000)

    # Goal: a server knows every zone of the system's database, and each that Python knows except
    # the machine's own.
    def test_every_zone_is_known(self):
        client = self.connect(self.start())
        names = {*zone_names(), *zoneinfo.available_timezones()} - {"localtime"}
        self.assertGreater(len(names), 500)
        for name in names:
            self.assertEqual(client.call("RL.PEEK", "k", f"1/day,tz={name}")[0], 1, name)

    # Goal: the environment and the files around a server choose no zone. Method: a TZDIR without
    # zones, and a TZ of another zone.
    def test_environment_is_not_read(self):
        server = self.start(
            "--allow-explicit-time", environment={"TZDIR": "/nonexistent", "TZ": "Asia/Tokyo"}
        )
        client = self.connect(server)
        for limit, left in (("1/day", 86_400_000), ("1/day,tz=Europe/Berlin", 82_800_000)):
            reply = client.call("RL.PEEK", "k", limit, "AT", "1767225600000000000")
            self.assertEqual(reply[3], left, limit)


if __name__ == "__main__":
    unittest.main()
