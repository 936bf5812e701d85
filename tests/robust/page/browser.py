"""A browser for tests: headless Chromium, driven over a pipe with the DevTools protocol.

With `CUPROUS_PAGE=tree` the files of the page are those of the working tree and not those in the extension, so that
a change of them is tried without a build.
"""

from __future__ import annotations

import base64
import fcntl
import glob
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ASSETS = Path(__file__).parents[3] / "crates/watch/src/serve/assets"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
PLAYWRIGHTS = "~/.cache/ms-playwright/chromium*/chrome-*linux*/*head*less*shell"


def find() -> str:
    """Returns the browser's path; skips the test if it is not installed."""
    named = os.environ.get("CUPROUS_BROWSER")
    found = [named] if named else [*filter(None, map(shutil.which, NAMES)), *glob.glob(os.path.expanduser(PLAYWRIGHTS))]
    if not found:
        pytest.skip("no Chromium here: apt-get install chromium-headless-shell, or name one in CUPROUS_BROWSER")
    return found[0]


class Browser:
    """One tab. Script failures of the page and all requests are recorded."""

    def __init__(self, folder: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        flags = ["--headless", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        flags += [f"--user-data-dir={folder}", "--disable-dev-shm-usage", "--force-device-scale-factor=1"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # its sandbox does not work as root; it only loads our pages
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_read, to_write)]

        def speak() -> None:
            for number, end in zip((3, 4), ends, strict=True):  # the file descriptors of the protocol
                os.dup2(end, number)

        quiet = subprocess.DEVNULL
        line = [find(), *flags, "about:blank"]
        self._process = subprocess.Popen(line, preexec_fn=speak, close_fds=False, stdout=quiet, stderr=quiet)
        for end in ends:
            os.close(end)
        os.close(to_read)
        os.close(to_write)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self.session: str | None = None
        self.failures: list[str] = []
        self.requests: list[str] = []
        #: What is answered in place of the server, by path.
        self.answers: dict[str, str] = {}
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "DOM", "Accessibility", "Log"):
            self.call(f"{domain}.enable")
        self.call("Fetch.enable", patterns=[{"urlPattern": "http://*", "requestStage": "Response"}])

    def _send(self, method: str, **parameters: Any) -> int:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self._write, data) :]
        return number

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = self._send(method, **parameters)
        while True:
            answer = self._next(60)
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._note(answer)

    def _next(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(deadline - time.monotonic(), 0))
            chunk = os.read(self._read, 1 << 20) if ready else b""
            assert chunk, "the browser does not answer"
            self._buffer += chunk
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.failures.append(str(params["exceptionDetails"].get("exception", params["exceptionDetails"])))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.failures.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Fetch.requestPaused":
            self._pass_or_replace(params)

    def _pass_or_replace(self, paused: dict[str, Any]) -> None:
        """Passes the server's answer, or replaces its body, under its own headers."""
        path = urlsplit(paused["request"]["url"]).path
        file = ASSETS / (path.lstrip("/") or "index.html")
        in_tree = os.environ.get("CUPROUS_PAGE") == "tree" and file.suffix in TYPES and file.is_file()
        if paused.get("responseStatusCode") == 303 or not (in_tree or path in self.answers):
            self._send("Fetch.continueRequest", requestId=paused["requestId"])
            return
        content = file.read_bytes() if in_tree else self.answers[path].encode()
        own = ("content-type", "content-length")
        headers = [h for h in paused.get("responseHeaders", []) if h["name"].lower() not in own]
        headers.append({"name": "content-type", "value": TYPES.get(file.suffix, "application/json")})
        body = base64.b64encode(content).decode()
        self._send(
            "Fetch.fulfillRequest", requestId=paused["requestId"], responseCode=200, responseHeaders=headers, body=body
        )

    def run(self, script: str) -> Any:
        """Returns the value of an expression; awaits a promise."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def until(self, script: str, seconds: float = 30) -> Any:
        """Waits until an expression is true."""
        deadline = time.monotonic() + seconds
        while not (value := self.run(script)):
            assert time.monotonic() < deadline, f"never true: {script}"
            time.sleep(0.02)
        return value

    def open(self, address: str) -> None:
        # A change of only the fragment would not reload the page.
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.protocol === 'http:'")

    def keys(self, *names: str) -> None:
        for name in names:
            text = {"text": name} if len(name) == 1 else {"text": "\r"} if name == "Enter" else {}
            code = {
                "Backspace": 8,
                "Tab": 9,
                "Enter": 13,
                "ArrowRight": 39,
                "ArrowLeft": 37,
                "ArrowUp": 38,
                "ArrowDown": 40,
                "Home": 36,
            }.get(name, 0)
            self.call("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Moves the mouse, presses or releases its button, or turns its wheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def size(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def scheme(self, name: str) -> None:
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, name: str) -> bytes:
        """Returns a screenshot of the whole page; saves it if CUPROUS_SCREENSHOTS names a folder."""
        data = base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])
        if folder := os.environ.get("CUPROUS_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{name}.png").write_bytes(data)
        return data

    def close(self) -> None:
        self._process.kill()
        self._process.wait(timeout=60)
        os.close(self._read)
        os.close(self._write)
