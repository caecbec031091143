"""Check a built site: every internal link and anchor leads somewhere, and no page loads anything from elsewhere.

``make docs`` runs it on ``site/``. Addresses on other hosts are links a reader may follow; they are not fetched.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

#: Attributes that name something a browser loads by itself.
LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("link", "href"),
}


class Page(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and anchors of one element."""
        values = {name: value for name, value in attrs if value is not None}
        for name in ("id", "name"):
            if name in values and tag != "meta":
                self.anchors.add(values[name])
        for name in ("href", "src"):
            if name not in values:
                continue
            if (tag, name) in LOADED and values.get("rel") not in ("canonical", "prev", "next"):
                self.loads.append(values[name])
            else:
                self.links.append(values[name])


def problems(site: Path) -> list[str]:
    """What is wrong with the pages of a site, a line for each; empty if nothing is.

    Parameters
    ----------
    site : Path
        The folder with index.html.
    """
    site = site.resolve()
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    if site / "index.html" not in pages:
        return [f"{site.name} has no index.html"]
    found = []
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        # The host shows 404.html at any address, so its links begin with a slash.
        if name == "404.html":
            continue
        for address in page.loads:
            if urlsplit(address).netloc:
                found.append(f"{name}: loads {address} from elsewhere")
        for address in page.links + page.loads:
            target, anchor = urldefrag(unquote(address))
            if urlsplit(address).scheme or urlsplit(address).netloc:
                continue
            file = (path.parent / urlsplit(target).path).resolve() if target else path
            file = file / "index.html" if file.is_dir() else file
            if not file.is_relative_to(site) or not file.is_file():
                found.append(f"{name}: {address} does not exist")
            elif anchor and file in pages and anchor not in pages[file].anchors:
                found.append(f"{name}: {address} has no such anchor")
    return found


def main() -> None:
    """Check the site named on the command line."""
    site = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    wrong = problems(site)
    print(*wrong, sep="\n", file=sys.stderr)
    if wrong:
        raise SystemExit(f"{len(wrong)} broken links")
    print(f"{site}: all internal links lead somewhere, nothing is loaded from elsewhere")


if __name__ == "__main__":
    main()
