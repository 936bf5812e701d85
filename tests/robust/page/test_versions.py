"""Tests that the documentation of each release is published, and that its pages offer the other ones."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from docs import versions

from .browser import Browser

ROOT = Path(__file__).parents[3]
PAGE = """<!doctype html><html lang="en" data-content_root="{root}"><meta charset="utf-8"><title>A page</title>
<link rel="icon" href="data:,"><script src="{root}_static/versions.js" defer></script>
<div class="sidebar-brand"></div><article><h1>{title}</h1></article></html>"""


def build(folder: Path, title: str, *more: str) -> Path:
    """Writes a small build of the documentation: its first page and others."""
    shutil.copytree(ROOT / "docs" / "_static", folder / "_static")
    for name in ("index.html", *more):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(PAGE.format(root="../" * name.count("/") or "./", title=title))
    return folder


def test_folders_of_branches_and_tags() -> None:
    assert versions.folder("refs/heads/main") == "dev"
    assert versions.folder("refs/tags/v0.10.3") == "0.10"
    for ref in ("refs/tags/v1.0.0rc1", "refs/heads/other", "v1.0.0", "refs/tags/v1.0.0/../..", ""):
        with pytest.raises(ValueError, match="is not published"):
            versions.folder(ref)


def test_the_newest_release_is_first(tmp_path: Path) -> None:
    docs, site = build(tmp_path / "build", "any"), tmp_path / "site"

    def after(ref: str) -> list[str]:
        versions.add(docs, site, ref)
        assert f"url={versions.listed(site)[0]['name']}/" in (site / "index.html").read_text()
        return [version["title"] for version in json.loads((site / "versions.json").read_text())]

    assert after("refs/heads/main") == ["in development"]
    assert after("refs/tags/v0.9.0") == ["0.9 (latest release)", "in development"]
    assert after("refs/tags/v0.10.0") == ["0.10 (latest release)", "0.9", "in development"]
    (docs / "new.html").touch()
    assert after("refs/tags/v0.9.1") == ["0.10 (latest release)", "0.9", "in development"]
    assert (site / "0.9" / "new.html").exists() and not (site / "0.10" / "new.html").exists()
    (docs / "new.html").unlink()
    after("refs/tags/v0.9.2")
    assert not (site / "0.9" / "new.html").exists()
    with pytest.raises(ValueError, match=r"no index\.html"):
        versions.add(tmp_path, site, "refs/heads/main")


def test_what_is_published_stays(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    def publish(ref: str) -> subprocess.CompletedProcess[str]:
        line = [str(work / "docs" / "publish.sh"), ref]
        return subprocess.run(line, cwd=work, capture_output=True, text=True, timeout=60)

    work = tmp_path / "work"
    git("init", "--quiet", "--bare", "origin")
    git("init", "--quiet", "work")
    git("-C", "work", "remote", "add", "origin", str(tmp_path / "origin"))
    (work / "docs").mkdir()
    for name in ("publish.sh", "versions.py"):
        shutil.copy2(ROOT / "docs" / name, work / "docs")
    build(work / "build" / "docs", "one")
    for ref in ("refs/heads/main", "refs/tags/v0.1.0", "refs/tags/v0.2.0"):
        done = publish(ref)
        assert done.returncode == 0, done.stderr
    files = git("-C", "origin", "ls-tree", "-r", "--name-only", "pages").split()
    assert {"index.html", "versions.json", "dev/index.html", "0.1/index.html", "0.2/_static/versions.js"} <= set(files)
    assert git("-C", "origin", "rev-list", "--count", "pages") == "1\n"
    before = git("-C", "origin", "rev-parse", "pages")
    assert "is not published" in publish("refs/tags/v0.3.0rc1").stderr
    git("-C", "work", "remote", "set-url", "origin", str(tmp_path / "away"))
    assert publish("refs/heads/main").returncode != 0
    assert git("-C", "origin", "rev-parse", "pages") == before


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serves two releases, the development version, a site of one version, and a build by itself."""
    folder = tmp_path_factory.mktemp("sites")
    for ref, pages in (
        ("refs/tags/v0.1.0", ["old.html", "guides/first.html"]),
        ("refs/tags/v0.2.0", ["guides/first.html"]),
        ("refs/heads/main", ["guides/first.html"]),
    ):
        versions.add(build(folder / ref, ref, *pages), folder / "site", ref)
    versions.add(folder / "refs/tags/v0.1.0", folder / "one", "refs/tags/v0.1.0")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


SHOWN = "JSON.stringify([...(document.querySelector('.versions select')?.options ?? [])].map((o) => o.text))"


def choose(browser: Browser, name: str) -> None:
    """Chooses a version, as by hand."""
    browser.run(
        f"(() => {{ const select = document.querySelector('.versions select'); select.value = '{name}';"
        " select.dispatchEvent(new Event('change')); })()"
    )


def test_a_page_offers_other_versions(browser: Browser, site: str) -> None:
    browser.open(f"{site}/site/0.1/guides/first.html?x#part")
    browser.until("document.querySelector('.versions select')")
    assert json.loads(browser.run(SHOWN)) == ["0.2 (latest release)", "0.1", "in development"]
    assert browser.run("document.querySelector('.versions select').value") == "0.1"
    assert browser.run("document.querySelector('.versions-note').textContent") == (
        "This page is about version 0.1. Latest release: 0.2."
    )
    choose(browser, "dev")
    browser.until("location.pathname === '/site/dev/guides/first.html'")
    assert browser.run("location.search + location.hash") == "?x#part"
    browser.until("document.querySelector('.versions-note')?.textContent.includes('in development')")
    browser.run("document.querySelector('.versions-note a').click()")
    browser.until("location.pathname === '/site/0.2/guides/first.html' && document.querySelector('.versions select')")
    assert browser.run("document.querySelector('.versions-note')") is None


def test_a_page_that_another_version_lacks_leads_to_its_first_page(browser: Browser, site: str) -> None:
    browser.open(f"{site}/site/0.1/old.html")
    browser.until("document.querySelector('.versions select')")
    choose(browser, "0.2")
    browser.until("location.pathname === '/site/0.2/'")
    browser.failures.clear()  # the browser reports the page that was not found


def test_one_version_and_none(browser: Browser, site: str) -> None:
    browser.open(f"{site}/one/0.1/index.html")
    browser.until("document.querySelector('.versions select')")
    assert json.loads(browser.run(SHOWN)) == ["0.1 (latest release)"]
    assert browser.run("document.querySelector('.versions-note')") is None
    assert browser.failures == []
    browser.open(f"{site}/refs/heads/main/index.html")
    browser.until("performance.getEntriesByType('resource').some((e) => e.name.endsWith('versions.json'))")
    assert json.loads(browser.run(SHOWN)) == []
    browser.failures.clear()
