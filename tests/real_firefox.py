"""A real Firefox, driven by Marionette: the protocol of its own tests, so no further program is needed."""

import base64
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requirements
from real_daemon import PATIENCE_S, wait_until

#: What Firefox would otherwise ask machines of its makers for.
_SILENT = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "marionette.port": 0,  # one that is free; see the file MarionetteActivePort
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.enabled": False,
}
_COMPLAINTS = """
return Services.console.getMessageArray()
  .filter((message) => message instanceof Ci.nsIScriptError && message.sourceName.startsWith("http://127.0.0.1"))
  .map((message) => message.errorMessage);
"""


class Firefox:
    """A Firefox with one tab."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self._n_sent = 0
        self._receive()  # the greeting
        self._ask("WebDriver:NewSession")

    def go(self, address: str) -> None:
        """Open a page, and wait until it is loaded."""
        self._ask("WebDriver:Navigate", url=address)

    def resize(self, width: int, height: int) -> None:
        self._ask("WebDriver:SetWindowRect", width=width, height=height)

    def run(self, script: str, *arguments: object) -> Any:
        """Run the body of a function in the page; return what it returns."""
        return self._ask("WebDriver:ExecuteScript", script=script, args=arguments)["value"]

    def wait(self, condition: str, *arguments: object) -> Any:
        """Wait until an expression is true in the page; return its value."""
        values: list[object] = []
        shown = lambda: self.run("return document.body.innerText")  # noqa: E731 - what the page shows if it stays false
        wait_until(lambda: values.append(self.run(f"return {condition}", *arguments)) or values[-1], shown)
        return values[-1]

    def click(self, selector: str) -> None:
        self._ask("WebDriver:ElementClick", id=self._find(selector))

    def type(self, selector: str, text: str) -> None:
        """Type into a field, or choose the files with these paths, one to a line."""
        self._ask("WebDriver:ElementSendKeys", id=self._find(selector), text=text)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._ask("WebDriver:TakeScreenshot", full=False)["value"]))

    def complaints(self) -> list[str]:
        """Return the errors and warnings about the page: of scripts, styles and the content security policy."""
        self._ask("Marionette:SetContext", value="chrome")
        complaints: list[str] = self.run(_COMPLAINTS)
        self._ask("Marionette:SetContext", value="content")
        return complaints

    def close(self) -> None:
        self._ask("Marionette:Quit", flags=["eForceQuit"])
        self._socket.close()

    def _find(self, selector: str) -> str:
        found = self._ask("WebDriver:FindElement", using="css selector", value=selector)["value"]
        return str(next(iter(found.values())))

    def _ask(self, command: str, **parameters: object) -> Any:
        self._n_sent += 1
        request = json.dumps([0, self._n_sent, command, parameters]).encode()
        self._socket.sendall(b"%d:%b" % (len(request), request))
        _, _, error, result = self._receive()
        assert error is None, (command, error)
        return result

    def _receive(self) -> Any:
        """Return one message: its length in digits, a colon, and JSON."""
        digits = b""
        while not digits.endswith(b":"):
            digits += self._exactly(1)
        return json.loads(self._exactly(int(digits[:-1])))

    def _exactly(self, n: int) -> bytes:
        received = b""
        while len(received) < n:
            piece = self._socket.recv(n - len(received))
            assert piece, "Firefox hung up"
            received += piece
        return received


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """Start Debian's Firefox with a new profile; without it a test is skipped, but never in CI."""
    program = requirements.program("firefox-esr")
    preferences = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in _SILENT.items())
    (profile / "user.js").write_text("".join(preferences))
    command = [program, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile"]
    log, port = profile / "log", profile / "MarionetteActivePort"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, str(profile)], stdout=output, stderr=output, env={**os.environ, "HOME": str(profile)}
        )
    try:
        wait_until(lambda: port.exists() and port.read_text(), log.read_text)
        started = Firefox(int(port.read_text()))
        yield started
        started.close()
        process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()
