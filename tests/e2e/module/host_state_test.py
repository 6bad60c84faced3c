"""The premise of host_state.py: time alone changes a state."""

from host_state import State
from module_test import DEBUG, ModuleTest
from redis_host import main, start_module
from weir_e2e import NEVER


class HostStateTest(ModuleTest):
    # Goal: without any request, a state changes as time passes. So only two states of one instant
    # must be the same. Method: a mark is due, and a bucket is full, a minute later; the same AOF is
    # loaded before and after that.
    def test_a_state_changes_in_time_alone(self):
        client = self.connect(start_module(self, options=[*DEBUG, "--appendonly", "yes"]))
        client.call("RL.RESERVE", "k", f"9/{NEVER}", "HOLD", "a", "TTL", 3_600_000)
        client.call("RL.COMMIT", "k", "HOLD", "a")
        client.call("RL.ALLOW", "short", "10/m")
        with self.at_one_instant(client):
            before = State(client)
            self.assertEqual(sorted(before.keys), [b"k", b"short"])
            client.call("DEBUG", "LOADAOF")
            self.assert_same_state(before, State(client))
            self.host_time.stop(ahead=61)
            self.await_equal(lambda: client.call("DBSIZE"), 1)
            value = before.keys[b"k"]["DEBUG DIGEST-VALUE"]
            self.await_equal(lambda: client.call("DEBUG", "DIGEST-VALUE", "k") == value, False)
            later = State(client)
            with self.assertRaisesRegex(AssertionError, "b'short': is missing"):
                self.assert_same_state(before, later)
            client.call("DEBUG", "LOADAOF")
            self.assert_same_state(later, State(client))


if __name__ == "__main__":
    main()
