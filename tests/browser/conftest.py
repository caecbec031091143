"""A real browser, without a network: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import planted_tree
from tests.explain.report import newswire
from tests.explain.report.corpus import classifier, documents, table, tree
from tsenet.explain.report import write_report

# A browser of its own: it starts without asking, does not phone home, and finds no host but this machine.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
HOW = (
    "no browser: install Debian's with `apt-get install chromium` (and `pip install playwright`), "
    "or name one in TSENET_BROWSER"
)


def _missing() -> None:
    """Skip; fail where a browser was promised, as continuous integration does."""
    if os.environ.get("TSENET_REQUIRE_BROWSER"):
        pytest.fail(HOW)
    pytest.skip(HOW)


@pytest.fixture(scope="module")  # not longer: an event loop runs as long as Playwright does
def browser() -> Iterator[Any]:
    found = os.environ.get("TSENET_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        _missing()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield started
        started.close()


Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Open a file as a reader would; at the end nothing may have gone wrong on any page.

    ``open_page(path, address="", width=…, height=…, dark=False, calm=True)`` gives a Playwright page.
    """
    contexts = []
    wrong: list[str] = []

    def open_(
        path: Path,
        address: str = "",
        *,
        width: int = 1280,
        height: int = 800,
        dark: bool = False,
        calm: bool = True,
        **options: Any,
    ) -> Any:
        context = browser.new_context(
            offline=True,
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if calm else "no-preference",
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on(
            "dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss())
        )
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith("file:") else wrong.append(f"request: {request.url}")
            ),
        )
        page.goto(path.as_uri() + address)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A network, a topic tree along a label, a tree of 5,000 topics over 20,000 words, and newswire of both kinds."""
    folder = tmp_path_factory.mktemp("reports")
    names = ("network", "topics", "large", "newswire", "newswire-network")
    paths = {name: folder / f"{name}.html" for name in names}
    texts, subjects = documents()
    write_report(
        paths["network"], classifier(), table(), subjects, texts=texts, title="Three subjects"
    )
    write_report(
        paths["topics"], tree(), table(), texts=texts, along=subjects, along_name="subject"
    )
    texts, areas = newswire.documents()
    rows = newswire.table()
    options = {"texts": texts, "title": "Newswire"}
    write_report(
        paths["newswire"], newswire.tree(), rows, along=areas, along_name="area", **options
    )
    write_report(paths["newswire-network"], newswire.classifier(), rows, areas, **options)
    write_report(
        paths["large"],
        planted_tree(np.random.default_rng(0), (20_000, 4_200, 680, 100, 20)),
        title="Large",
    )
    return paths
