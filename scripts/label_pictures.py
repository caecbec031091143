"""Draw the pictures of docs/guide/label.md: `tsenet label` in a real Chromium, on docstrings of installed packages.

Run it with ``PYTHONPATH=. python scripts/label_pictures.py``; it labels by the module that each docstring is of.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.browser.conftest import FLAGS, NAMES
from tests.labelling.running import running
from tsenet.data import load_docstrings

OUT = Path("docs/images/label")
CLASSES = {
    "statistics": ("scipy.stats", "sklearn.metrics"),
    "images and signals": ("scipy.signal", "scipy.ndimage", "scipy.fft"),
    "linear algebra": ("scipy.linalg", "scipy.sparse", "numpy.linalg"),
    "learning": ("sklearn.", "torch"),
}
N_LABELS = 60


def class_of(module: str) -> str:
    """The key of a module's class; 0 for none."""
    for key, starts in enumerate(CLASSES.values(), start=1):
        if module.startswith(starts):
            return str(key)
    return "0"


def main() -> None:
    """Draw all pictures."""
    OUT.mkdir(parents=True, exist_ok=True)
    table = load_docstrings()
    keys = {
        text.split()[0:12].__repr__(): class_of(m)
        for text, m in zip(table["text"], table["module"], strict=True)
    }
    path = os.environ.get("TSENET_BROWSER") or next(filter(None, map(shutil.which, NAMES)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data = Path(folder) / "docs.csv"
        table[["text"]].to_csv(data, index=False)
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        with running(data) as place:
            page = _open(browser, place.url)
            page.wait_for_selector("#tree [data-topic='0']", timeout=300_000)
            for name in CLASSES:
                page.keyboard.press("c")
                page.keyboard.type(name)
                page.keyboard.press("Enter")
                page.wait_for_selector(f"button.class:has-text('{name}')")
                page.keyboard.press("Escape")
            page.screenshot(path=OUT / "start.png")

            for _ in range(N_LABELS):
                text = page.locator("#reader .full").text_content() or ""
                page.keyboard.press(keys.get(repr(text.split()[:12]), "0"))
                page.wait_for_timeout(150)
            page.wait_for_selector("#accuracy", timeout=500_000)
            page.keyboard.press("w")
            page.wait_for_selector(".why .bars li")
            page.wait_for_timeout(1000)
            page.screenshot(path=OUT / "work.png")

            page.locator("#tree [data-topic]").nth(2).click()
            page.wait_for_selector("#row-0 .marks")
            page.wait_for_timeout(1000)
            page.screenshot(path=OUT / "topic.png")

            narrow = _open(browser, place.url, width=390, height=780, dark=True)
            narrow.wait_for_timeout(1500)
            narrow.screenshot(path=OUT / "narrow.png")
        browser.close()


def _open(browser: Any, url: str, width: int = 1280, height: int = 780, dark: bool = False) -> Any:
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    page.goto(url)
    page.wait_for_selector(".row .marks")
    return page


if __name__ == "__main__":
    main()
