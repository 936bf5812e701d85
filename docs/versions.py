"""Adds a build of the documentation to the site of all versions: `python docs/versions.py BUILD SITE REF`.

A release `refs/tags/vX.Y.Z` is in the folder X.Y, the branch main in dev. `versions.json` lists them, newest first.
Every page reads it (`_static/versions.js`), so that a page of an old version offers versions that are newer than it.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

DEVELOPMENT = "dev"
REDIRECT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Cuprous</title>
<meta http-equiv="refresh" content="0; url={0}/">
<p><a href="{0}/">The documentation of Cuprous</a></p>
</html>
"""


def folder(ref: str) -> str:
    """Returns the folder of a branch or tag.

    Raises
    ------
    ValueError
        If the documentation of it is not published, as of a release candidate.
    """
    if ref == "refs/heads/main":
        return DEVELOPMENT
    release = re.fullmatch(r"refs/tags/v(\d+\.\d+)\.\d+", ref)
    if release is None:
        raise ValueError(f"the documentation of {ref!r} is not published; refs/heads/main and refs/tags/vX.Y.Z are")
    return release[1]


def numbers(release: str) -> tuple[int, ...]:
    """Returns the numbers of a release, by which releases are ordered."""
    return tuple(map(int, release.split(".")))


def listed(site: Path) -> list[dict[str, str]]:
    """Returns the versions of a site, newest first, with their titles."""
    found = [page.parent.name for page in site.glob("*/index.html")]
    releases = sorted((name for name in found if re.fullmatch(r"\d+\.\d+", name)), key=numbers, reverse=True)
    versions = [{"name": name, "title": name} for name in releases]
    if versions:
        versions[0]["title"] += " (latest release)"
    if DEVELOPMENT in found:
        versions.append({"name": DEVELOPMENT, "title": "in development"})
    return versions


def add(build: Path, site: Path, ref: str) -> None:
    """Replaces the folder of `ref`, the list of versions, and the page that leads to the newest one."""
    if not (build / "index.html").is_file():
        raise ValueError(f"{build} is not a build of the documentation: it has no index.html; run `make docs`")
    target = site / folder(ref)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(build, target, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
    versions = listed(site)
    (site / "versions.json").write_text(json.dumps(versions, indent=1) + "\n", encoding="utf-8")
    (site / "index.html").write_text(REDIRECT.format(versions[0]["name"]), encoding="utf-8")
    (site / ".nojekyll").touch()  # GitHub's pages would leave out folders that begin with an underscore


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python docs/versions.py BUILD SITE REF")
    try:
        add(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
    except ValueError as error:
        sys.exit(f"docs/versions.py: {error}")
