"""Tests `cuprous serve` with hostile clients and with many clients."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from .helpers import command, started
from .serving import Server, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the server's memory in /proc")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


QUESTION = "/api/estimate?gpu=RTX%203080&cpu=10700K&flops=10T&data=1GB"


def test_each_page(server: Server) -> None:
    for path, kind in [
        ("/", "text/html"), ("/?flops=1", "text/html"), ("/style.css", "text/css"), ("/main.js", "text/javascript"),
        ("/calculator.js", "text/javascript"), ("/monitor.js", "text/javascript"), ("/profile.js", "text/javascript"),
        ("/api/hardware", "application/json"), ("/api/sample", "application/json"), (QUESTION, "application/json"),
        ("/metrics", "text/plain"),
    ]:  # fmt: skip
        status, headers, body = ask(server, path)
        assert (status, headers["content-type"].split(";")[0]) == (200, kind), path
        assert body
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert ask(server, path, "HEAD")[0] == 200
    assert ask(server, "/api/profile")[0] == 204


def test_no_page_names_another_machine(server: Server) -> None:
    """Pages load only from this server; links to sources of figures are followed only by users."""
    for path in (
        "/",
        "/style.css",
        "/main.js",
        "/calculator.js",
        "/monitor.js",
        "/profile.js",
        "/charts.js",
        "/trace.js",
    ):
        text = ask(server, path)[2].decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text and "@import" not in text, path


def test_the_seeds_first_example(server: Server) -> None:
    rates = "&simple=1&cpu_rate=400G&gpu_rate=12.5T&bandwidth=8G&startup=375ms"
    answer = json.loads(ask(server, QUESTION + rates)[2])
    assert (answer["cpu_seconds"], answer["gpu_seconds"]) == (25.0, pytest.approx(1.3))
    assert answer["sentence"] == "The GPU is 19.2x faster by the simple formula."


@pytest.mark.parametrize(
    "value", ["NaN", "1e999", "-1", "ten", "inf", "0x10", "1;DROP", "%00", "%ff", "1e308P", "", "%D9%A1"]
)
@pytest.mark.parametrize("name", ["flops", "data", "repeats", "gpus", "throttle", "startup", "parallel"])
def test_invalid_numbers(server: Server, name: str, value: str) -> None:
    if value == "" and name != "flops":
        return  # an empty field counts as not given
    pairs = {"gpu": "L4", "cpu": "5600X", "flops": "1T"} | {name: value}
    status, _, body = ask(server, "/api/estimate?" + "&".join(f"{k}={v}" for k, v in pairs.items()))
    assert 400 <= status < 500, body


def test_foreign_origins_and_methods_are_rejected(server: Server) -> None:
    # DNS rebinding: a foreign name that resolves to this machine.
    assert ask(server, "/", Host="evil.example")[0] == 421
    assert ask(server, "/api/sample", Origin="http://evil.example")[0] == 403
    assert ask(server, "/api/sample", **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"):
        assert ask(server, "/", method)[0] == 405


def test_a_token(tmp_path: Path) -> None:
    with serving("--token") as server:
        token = server.address.split("token=")[1]
        assert len(token) == 32
        assert ask(server, "/")[0] == ask(server, "/api/sample")[0] == ask(server, "/metrics?token=0")[0] == 401
        status, headers, _ = ask(server, f"/?flops=1&token={token}")
        assert (status, headers["location"]) == (303, "/?flops=1")
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        assert ask(server, "/", Cookie=cookie.split(";")[0])[0] == 200
        assert ask(server, "/metrics", Authorization=f"Bearer {token}")[0] == 200


def test_bad_command_lines(tmp_path: Path, server: Server) -> None:
    torn = tmp_path / "torn.json"
    torn.write_text('{"traceEvents": [{]}')
    for options, named in [
        (("--profile", str(tmp_path / "none.json")), "none.json"),
        (("--profile", str(torn)), "torn.json"),
        (("--listen", f"127.0.0.1:{server.port}"), "cannot listen"),
    ]:
        done = command("serve", *options)
        assert done.returncode == 1 and named in done.stderr, done.stderr
    assert command("serve", "--listen", "nowhere").returncode == 2


def test_the_address_of_all_addresses_can_be_opened() -> None:
    """A browser on another machine cannot open 0.0.0.0, so an address of this machine is shown."""
    with started("serve", "--listen", "0.0.0.0:0") as process:
        try:
            server = Server(process)
        finally:
            process.kill()
    assert "0.0.0.0" not in server.address
    assert "/?token=" in server.address


def test_page_and_command_share_one_parser(server: Server) -> None:
    """The typed text and the unit of the field are parsed exactly: ten thousand is never ten."""
    fields = {"simple": "1", "flops_unit": "GFLOP", "startup": "375", "startup_unit": "ms", "data": "1",
              "data_unit": "GB",
              "cpu_rate": "400", "cpu_rate_unit": "GFLOPS", "gpu_rate": "12.5", "gpu_rate_unit": "TFLOPS",
              "bandwidth": "8", "bandwidth_unit": "GB/s"}  # fmt: skip
    for flops in ("10000", "10,000", "10 000", "10 TFLOP"):
        status, _, body = ask(server, "/api/estimate?" + urlencode({**fields, "flops": flops}))
        assert status == 200, body
        assert json.loads(body)["factor"] == "19.2x", flops
    for flops in ("10k", "1,5", "10,00"):
        status, _, body = ask(server, "/api/estimate?" + urlencode({**fields, "flops": flops}))
        assert status == 422
        assert body.decode().startswith("flops: "), body


def test_the_page_without_scripts(server: Server) -> None:
    """Without scripts, the page says that it needs them, shows no number and parses no quantity."""
    _, _, page = ask(server, "/")
    assert b"<noscript>" in page
    assert b"0.0x" not in page
    _, _, script = ask(server, "/calculator.js")
    assert b"parseFloat" not in script
    assert b'replace(",", ".")' not in script


class Fuzz:
    """Returns malformed requests by number, with a bad target, method, header, body or quantity."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def letters(self, most: int, low: int = 0, high: int = 255) -> bytes:
        return bytes(self.random.randint(low, high) for _ in range(self.random.randint(1, most)))

    def path(self) -> bytes:
        pick = self.random.choice
        odd = [
            b"/../../etc/passwd", b"/%2e%2e/x", b"/api", b"/api/", b"//", b"/metrics/", b"/index.html", b"/.git/config",
            b"/%00",
        ]  # fmt: skip
        wrong = self.letters(8, 33, 126).replace(b"?", b"x").replace(b"#", b"x")
        long = b"/" + b"a" * self.random.randint(1, 9000)
        return pick([pick(odd), b"/" + wrong + b"~", b"/api/sample?" + wrong, long])

    def query(self) -> bytes:
        pick = self.random.choice
        number = pick(
            [b"NaN", b"1e999", b"-1", b"-0.5", b"ten", b"--1", b"1e", b"%ff", b"%", b"&&=", b"inf", b"1_000", b"0x1p3"]
        )
        name = pick([b"flops", b"data", b"gpus", b"throttle", b"repeats", b"startup", b"unknown", b"flops=1&flops"])
        value = number if name != b"gpus" else pick([b"0", b"1.5", b"-1", b"NaN"])
        return b"/api/estimate?gpu=" + pick([b"L4", b"voodoo"]) + b"&cpu=5600X&x=1&" + name + b"=" + value

    def head(self) -> bytes:
        pick = self.random.choice
        host = b"Host: localhost\r\n"
        return pick([
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + host + host + b"\r\n",
            b"GET / HTTP/1.1\r\nHost: " + self.letters(12, 97, 122) + b".example\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + host + b"Bad Header: x\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + host + b"X: \x00\r\n\r\n",
            b"GET / HTTP/9.9\r\n" + host + b"\r\n",
            b"GET / HTTP/1.1\r\n" + host + b"X: " + b"y" * 20_000 + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + host + b"".join(b"X%d: y\r\n" % n for n in range(200)) + b"\r\n",
b"GET / HTTP/1.1\r\n" + host + b"Content-Length: " + pick([b"-1", b"x", b"5", b"9" * 20]) + b"\r\n\r\nabcde",
            b"GET / HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
            b"GET / HTTP/1.1\r\n" + host + b"Origin: http://" + self.letters(8, 97, 122) + b".example\r\n\r\n",
            pick([b"POST", b"PUT", b"DELETE", b"BREW", b"get"]) + b" / HTTP/1.1\r\n" + host + b"\r\n",
            b"GE\x01T / HTTP/1.1\r\n\r\n",
            self.letters(40, 128) + b"\r\n\r\n",
            b"GET " + self.letters(20, 128) + b" HTTP/1.1\r\n" + host + b"\r\n",
        ])  # fmt: skip

    def request(self) -> bytes:
        kind = self.random.random()
        if kind < 0.4:
            return self.head()
        target = self.path() if kind < 0.7 else self.query()
        return b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


async def answers(server: Server, requests: list[bytes], at_once: int) -> Counter[int]:
    """Returns the status codes of the responses; 0 if there is none."""
    seen: Counter[int] = Counter()
    places = asyncio.Semaphore(at_once)

    async def one(request: bytes) -> None:
        async with places:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            try:
                writer.write(request)
                await writer.drain()
                writer.write_eof()
            except OSError:
                pass  # the server responded and closed before the request was complete
            try:
                line = await asyncio.wait_for(reader.readline(), 60)
            except OSError:
                line = b""
            status = int(line.split()[1]) if line.startswith(b"HTTP/1.") else 0
            seen[status] += 1
            if not 400 <= status < 500:
                wrong.append((status, request[:200]))
            writer.close()

    wrong: list[tuple[int, bytes]] = []
    await asyncio.gather(*map(one, requests))
    assert not wrong, wrong[:5]
    return seen


def test_ten_thousand_malformed_requests(server: Server) -> None:
    """Each gets a 4xx response, and the server keeps working."""
    fuzz = Fuzz(0)
    asyncio.run(answers(server, [fuzz.request() for _ in range(1000)], 50))
    before = server.memory()
    seen = asyncio.run(answers(server, [fuzz.request() for _ in range(10_000)], 50))
    assert seen.total() == 10_000
    assert len(seen) >= 5  # many kinds of errors
    assert server.memory() - before < 8 << 20
    assert server.process.poll() is None
    assert ask(server, "/api/sample")[0] == 200


async def crowd(server: Server, clients: int) -> int:
    """Returns the number of clients served while all are connected."""
    pairs = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(clients)]
    for _, writer in pairs:
        writer.write(b"GET /api/sample HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answered = 0
    for reader, _ in pairs:
        line = await asyncio.wait_for(reader.readline(), 120)
        answered += line.startswith(b"HTTP/1.1 200")
    for _, writer in pairs:
        writer.close()
    return answered


def test_a_thousand_clients_at_once(server: Server) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < 1200:
        pytest.skip("this process may not open a thousand connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    try:
        assert asyncio.run(crowd(server, 1000)) == 1000
        before = server.memory()
        assert asyncio.run(crowd(server, 1000)) == 1000
        assert server.memory() - before < 8 << 20
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert ask(server, "/api/sample")[0] == 200
