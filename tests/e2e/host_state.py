"""States of hosts of the module, compared as of one instant.

A state changes by itself: Redis deletes keys whose buckets are full, a timer of the module forgets
marks and cancels holds that are due. So two states are compared while the time of the hosts stands
still (tests/commands/injected_time.h), which stops the timers, too. A test that compares states is
a CompareStates, and its hosts come from start_module.
"""

import contextlib
import time

SHOWN_MAX = 5  # keys of a failure


class State:
    """All that a host has. `client`: of a host with DEBUG."""

    def __init__(self, client):
        self.taken = time.monotonic()
        self.digest = client.call("DEBUG", "DIGEST")
        names = client.call("RL.POLICY", "LIST")
        self.policies = {name: (client.call("RL.POLICY", "GET", name),
                                client.call("RL.POLICY", "OVERRIDES", name)) for name in names}
        self.keys = {key: self._look(client, key) for key in client.call("KEYS", "*")}

    @staticmethod
    def _look(client, key):
        looks = (["DEBUG", "DIGEST-VALUE", key], ["TYPE", key], ["RL.INSPECT", key],
                 ["RL.INSPECT", key, "HOLDS"], ["DUMP", key], ["PEXPIRETIME", key])
        return {" ".join(words[:-1] if words[-1] == key else [words[0], words[-1]]):
                client.call(*words) for words in looks}

    def same_as(self, other):
        return (self.digest, self.policies) == (other.digest, other.policies)

    def differences(self, other, begin):
        """What differs, key by key. `begin`: of the test's use, for the times."""
        lines = [f"{self.digest} {self.taken - begin:.3f} s after the begin of the use, "
                 f"{other.digest} {other.taken - begin:.3f} s after it"]
        if self.policies != other.policies:
            lines.append(f"policies: {self.policies}\n      and {other.policies}")
        digest = "DEBUG DIGEST-VALUE"
        differing = [key for key in sorted({*self.keys, *other.keys})
                     if self.keys.get(key, {}).get(digest) != other.keys.get(key, {}).get(digest)]
        lines.append(f"{len(differing)} keys of {len(self.keys)} and {len(other.keys)} differ")
        for key in differing[:SHOWN_MAX]:
            for state in (self, other):
                looks = state.keys.get(key)
                lines.append(f"{key}: {looks}" if looks else f"{key}: is missing")
        return "\n".join(lines)


class CompareStates:
    """Mixed into a ServerTest."""

    used_since = time.monotonic()

    @contextlib.contextmanager
    def at_one_instant(self, *clients):
        """Stops the time of the test's hosts; they have done then what is due at that instant."""
        self.host_time.stop()
        try:
            for client in clients:
                # Timers run after the commands of a loop, and no other is due before go().
                self.assertEqual([client.call("PING"), client.call("PING")], ["PONG", "PONG"])
                self.await_equal(
                    lambda one=client: one.call("DBSIZE") - len(one.call("KEYS", "*")), 0)
            yield
        finally:
            self.host_time.go()

    def assert_same_state(self, one, other):
        if not one.same_as(other):
            self.fail("the states differ:\n" + one.differences(other, self.used_since))

    def assert_replicated(self, primary, replica):
        """The replica has the state of its primary."""
        with self.at_one_instant(primary):
            # WAIT is of the connection's own writes, and others may have changed the primary.
            changes = primary.call("ROLE")[1]
            self.await_equal(lambda: replica.call("ROLE")[3:], [b"connected", changes])
            self.assert_same_state(State(primary), State(replica))
