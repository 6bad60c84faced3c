"""Another host, as a network namespace that a pair of interfaces joins to this process's own."""

import subprocess

NAME = "weir-other"
HERE, THERE = "10.117.0.1", "10.117.0.2"
DEADLINE = 30  # seconds
# Sends its input to an address, and prints the answer to its end.
TALK = 'exec 3<>"/dev/tcp/$0/$1"; cat >&3; cat <&3'


class OtherHost:
    """Exists while the block of `with` runs. Needs root."""

    def __enter__(self):
        for command in (
            f"ip netns add {NAME}",
            f"ip link add weir-here type veth peer name weir-there netns {NAME}",
            f"ip address add {HERE}/30 dev weir-here",
            "ip link set weir-here up",
            f"ip -netns {NAME} address add {THERE}/30 dev weir-there",
            f"ip -netns {NAME} link set weir-there up",
        ):
            subprocess.run(command.split(), check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "delete", NAME], check=True)

    @staticmethod
    def ask(port, *lines):
        """The lines of the answer to these inline commands and QUIT, from the other host."""
        done = subprocess.run(
            ["ip", "netns", "exec", NAME, "bash", "-c", TALK, HERE, str(port)],
            input="".join(f"{line}\r\n" for line in (*lines, "QUIT")), timeout=DEADLINE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        return done.stdout.splitlines()
