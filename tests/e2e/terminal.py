"""A pseudo-terminal, for tests of interactive programs."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from weir_e2e import DEADLINE


class Terminal:
    """A program on a terminal of 200 columns; the test types, and reads what is shown."""

    def __init__(self, command, environment, directory):
        self._terminal, program = pty.openpty()
        fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self.process = subprocess.Popen(
            command,
            stdin=program,
            stdout=program,
            stderr=program,
            env=environment,
            cwd=directory,
            start_new_session=True,
        )
        os.close(program)
        self._shown = ""  # after the last match, without escape sequences

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._terminal)

    def type(self, text):
        os.write(self._terminal, text.encode())

    def shows(self, pattern):
        """Waits until `pattern` is shown, after what the last call has found."""
        end = time.monotonic() + DEADLINE
        while not (found := re.search(pattern, self._shown)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._terminal], [], [], left)[0]:
                raise AssertionError(f"no {pattern!r} in:\n{self._shown}")
            try:
                shown = os.read(self._terminal, 1 << 16).decode(errors="replace")
            except OSError as ended:  # how Linux says that the program has gone
                raise AssertionError(f"ended without {pattern!r}:\n{self._shown}") from ended
            self._shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._shown + shown)
        self._shown = self._shown[found.end() :]
