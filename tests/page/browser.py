"""A Chromium without a window, driven by chromedriver over WebDriver's HTTP.

Python's standard library is all that this needs. Nothing sleeps: `until` polls a condition, with a
deadline.
"""

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess
import time

# The browser ends its requests when the host gets an address, as by a program beside the tests. The
# page asks again.
HOST_CHANGED = "net::ERR_NETWORK_CHANGED"
DEADLINE = 60.0  # seconds for any one thing to happen; sanitizers and busy machines are slow
CHROMIUM = shutil.which("chromium")
CHROMEDRIVER = shutil.which("chromedriver")

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that WebDriver gives an element's id
_STARTED = re.compile(r"started successfully on port (\d+)")

# Collects what a console does not tell a driver: violations of the policy for content, rejected
# promises, and errors of scripts.
_COLLECTOR = """
window.troubles = [];
addEventListener('securitypolicyviolation', (event) =>
  troubles.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
addEventListener('unhandledrejection', (event) => troubles.push(`rejected: ${event.reason}`));
addEventListener('error', (event) => troubles.push(`error: ${event.message}`));
"""


class WebDriverError(Exception):
    """An answer of chromedriver that is an error."""


class Browser:
    """One session. Its profile is in `directory`, and nothing of it stays."""

    def __init__(self, directory):
        self._driver = subprocess.Popen(
            [CHROMEDRIVER, "--port=0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "HOME": directory},
        )
        self._session = ""
        self._port = self._await_start()
        options = {
            "binary": CHROMIUM,
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--disable-extensions", "--disable-background-networking",
                "--host-resolver-rules=MAP weir.evil.test 127.0.0.1",
                f"--user-data-dir={directory}/profile",
            ],
        }
        always = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": always}})
        self._session = f"/session/{answer['sessionId']}"
        self.devtools("Page.addScriptToEvaluateOnNewDocument", source=_COLLECTOR)

    def _await_start(self):
        for line in self._driver.stdout:
            started = _STARTED.search(line)
            if started:
                return int(started.group(1))
        raise WebDriverError("chromedriver has ended")

    def close(self):
        with contextlib.suppress(WebDriverError, OSError):
            self._call("DELETE", self._session)
        self._driver.terminate()
        self._driver.wait(DEADLINE)
        self._driver.stdout.close()

    def _call(self, method, path, body=None):
        peer = http.client.HTTPConnection("127.0.0.1", self._port, timeout=DEADLINE)
        with contextlib.closing(peer):
            text = None if body is None else json.dumps(body)
            peer.request(method, path, text, {"Content-Type": "application/json"})
            value = json.loads(peer.getresponse().read())["value"]
        if isinstance(value, dict) and "error" in value:
            raise WebDriverError(f"{value['error']}: {value['message']}")
        return value

    def _do(self, path, **body):
        return self._call("POST", self._session + path, body)

    def devtools(self, command, **parameters):
        """Sends a command of the DevTools protocol."""
        return self._do("/goog/cdp/execute", cmd=command, params=parameters)

    def open(self, url):
        self._do("/url", url=url)

    def run(self, script, *arguments):
        """The value that the body of a function returns in the page."""
        return self._do("/execute/sync", script=script, args=arguments)

    def run_async(self, script, *arguments):
        """The value that the last argument, a function, is called with."""
        return self._do("/execute/async", script=script, args=arguments)

    def until(self, script, *arguments):
        """Polls until the script returns something true; returns that."""
        end = time.monotonic() + DEADLINE
        while not (value := self.run(script, *arguments)):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {script} {arguments}\n{self.text('body')}")
        return value

    def find(self, selector):
        """The first element; waits until it is there."""
        self.until("return document.querySelector(arguments[0]) !== null", selector)
        return self._do("/element", using="css selector", value=selector)[_ELEMENT]

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def await_text(self, selector, pattern):
        """Waits until the text of an element has a match of `pattern`, of JavaScript's dialect."""
        return self.until(
            "const text = document.querySelector(arguments[0])?.innerText ?? '';"
            "return new RegExp(arguments[1]).test(text) && text",
            selector,
            pattern,
        )

    def click(self, selector):
        self._do(f"/element/{self.find(selector)}/click")

    def click_text(self, selector, text):
        """Clicks the first visible element of `selector` with this text, once it is there."""
        element = self.until(
            "return [...document.querySelectorAll(arguments[0])]"
            ".find((one) => one.checkVisibility() && one.innerText.trim() === arguments[1])",
            selector,
            text,
        )
        self._do(f"/element/{element[_ELEMENT]}/click")

    def type(self, selector, text):
        """Replaces the text of a field."""
        element = self.find(selector)
        self._do(f"/element/{element}/clear")
        self._do(f"/element/{element}/value", text=text)

    def press(self, *keys):
        """Presses and releases keys, wherever the focus is."""
        actions = [{"type": how, "value": key} for key in keys for how in ("keyDown", "keyUp")]
        self._do("/actions", actions=[{"type": "key", "id": "keyboard", "actions": actions}])

    def resize(self, width, height):
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )

    def prefer(self, scheme):
        """Makes the system's colours `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, whole=False):
        """The page as a PNG: what the window shows, or all of it."""
        shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(shot["data"])

    def troubles(self):
        """Errors and violations of the page, and of the console since the last call."""
        console = self._do("/se/log", type="browser")
        lines = [entry["message"] for entry in console if entry["level"] in ("SEVERE", "WARNING")]
        lines = [line for line in lines if HOST_CHANGED not in line]
        return lines + self.run("return window.troubles ?? []")
