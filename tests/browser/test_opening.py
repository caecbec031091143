"""What a reader sees first, on a screen and on a phone, where a few words dominate the corpus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_explorer import ITEM, PANEL, labels, settle
from tests.explain.report import newswire

Open = Callable[..., Any]
Keep = Callable[[Any, str], None]
Reports = dict[str, Path]

SCREENS = [(1440, 900), (390, 844)]
CELL = ".map .cell"

# Boxes of what matches, as [left, top, right, bottom, text].
BOXES = """items => items.map(item => {
    const b = item.getBoundingClientRect();
    return [b.left, b.top, b.right, b.bottom, item.textContent];
})"""


def overlapping(boxes: list[list[Any]]) -> list[tuple[str, str]]:
    """Pairs of boxes that share more than an edge."""
    return [
        (a[4], b[4])
        for k, a in enumerate(boxes)
        for b in boxes[k + 1 :]
        if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1
    ]


@pytest.fixture(params=SCREENS, ids=["screen", "phone"])
def size(request: pytest.FixtureRequest) -> dict[str, int]:
    return dict(zip(("width", "height"), request.param, strict=True))


@pytest.mark.parametrize("report", ["newswire", "newswire-network"])
class TestOverview:
    @pytest.mark.parametrize("dark", [False, True])
    def test_map_and_tree_fit_the_window(
        self,
        open_page: Open,
        reports: Reports,
        size: dict[str, int],
        report: str,
        dark: bool,
        keep: Keep,
    ) -> None:
        page = open_page(reports[report], dark=dark, **size)
        page.wait_for_selector(CELL)
        settle(page)
        keep(page, f"opening-{report}-{size['width']}-{'dark' if dark else 'light'}")
        n_areas = len(newswire.AREAS)
        cells = page.eval_on_selector_all(CELL, BOXES)
        items = page.eval_on_selector_all(ITEM, BOXES)
        assert len(cells) == n_areas
        assert len(items) >= n_areas
        stage = page.locator(".tree").bounding_box()
        for left, top, right, bottom, text in [*cells, *items]:
            assert left >= 0, text
            assert right <= size["width"] + 1, text
            assert top >= 0, text
            assert bottom <= size["height"] + 1, text
        for _, top, _, bottom, text in items:  # no label under the toolbar
            assert top >= stage["y"], text
            assert bottom <= stage["y"] + stage["height"], text
        assert overlapping(cells) == []
        assert overlapping(items) == []

    def test_every_top_topic_is_named_on_the_map(
        self, open_page: Open, reports: Reports, size: dict[str, int], report: str
    ) -> None:
        page = open_page(reports[report], **size)
        page.wait_for_selector(CELL)
        settle(page)
        for face in page.locator(".map a.face").all():
            text = face.locator(".text").first
            assert text.is_visible()
            assert len(text.text_content()) > 2
            assert text.bounding_box()["height"] >= 15

    def test_stops_at_topics(self, open_page: Open, reports: Reports, report: str) -> None:
        page = open_page(reports[report], width=2200, height=2400)
        page.wait_for_selector(ITEM)
        settle(page)
        assert page.locator(f"{ITEM}.unit").count() > 40
        assert page.locator(f"{ITEM}.word").count() == 0


class TestOrder:
    def test_said_comes_last(self, open_page: Open, reports: Reports, size: dict[str, int]) -> None:
        page = open_page(reports["newswire"], **size)
        page.wait_for_selector(ITEM)
        settle(page)
        top = page.eval_on_selector_all(f"{ITEM}[aria-level='1']", BOXES)
        names = [box[4] for box in sorted(top, key=lambda box: box[1])]
        assert names[-1].startswith("said")
        assert sum("said" in name for name in names) == 1

    def test_said_does_not_fill_the_map(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["newswire"], width=1440, height=900)
        page.wait_for_selector(CELL)
        boxes = page.eval_on_selector_all(CELL, BOXES)
        area = {box[4]: (box[2] - box[0]) * (box[3] - box[1]) for box in boxes}
        said = next(text for text in area if "said" in text)
        assert area[said] < sum(area.values()) / 3  # on in 75 % of the documents

    def test_a_cell_leads_to_its_topic_and_back(
        self, open_page: Open, reports: Reports, size: dict[str, int]
    ) -> None:
        page = open_page(reports["newswire"], **size)
        face = page.locator(".map a.face >> nth=0")
        label = face.locator(".text").text_content()
        face.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(f"{PANEL} .code")
        assert page.text_content(f"{PANEL} h1") == label
        assert page.locator(CELL).count() == 0
        page.click("[aria-label='Close the details']")
        page.wait_for_selector(CELL)

    def test_the_window_may_change(self, open_page: Open, reports: Reports, keep: Keep) -> None:
        page = open_page(reports["newswire"], width=1440, height=900)
        page.wait_for_selector(CELL)
        settle(page)
        n_items = len(labels(page))
        page.set_viewport_size({"width": 390, "height": 844})
        page.wait_for_function(
            "n => document.querySelectorAll('[role=treeitem]').length < n", arg=n_items
        )
        settle(page)
        for box in page.eval_on_selector_all(CELL, BOXES):
            assert box[2] <= 391


class TestSearch:
    def test_two_words_find_what_has_both(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["newswire"])
        page.fill("#search", "crude oil")
        found = page.locator("[role=option] .what").all_text_contents()
        assert {"crude", "oil"} <= set(found[0].split(", "))
        assert found[-2:] == ["oil", "crude"]
        page.fill("#search", "oil coffee")  # of different areas: no topic holds both
        found = page.locator("[role=option] .what").all_text_contents()
        assert found == ["oil", "coffee"]
        page.fill("#search", "opec reactor")  # of one area
        found = page.locator("[role=option] .what").all_text_contents()
        assert "crude" in found[0].split(", ")


class TestClassPage:
    def test_words_speak_directly_and_tails_are_folded(
        self, open_page: Open, reports: Reports, keep: Keep
    ) -> None:
        page = open_page(
            reports["newswire-network"], "#view=classes&class=energy", width=1440, height=900
        )
        direct = page.locator(".direct")
        words = direct.locator("section:has(h2:text('For it')) li .two-lines bdi:first-child")
        assert words.count() == 12
        energy = {word for part in newswire.AREAS["energy"][1].values() for word in part}
        known = " ".join(energy).split()
        assert set(words.all_text_contents()[:5]) <= set(known)
        tail = direct.locator(".tail >> nth=0").text_content()
        assert "more words: " in tail
        assert tail.endswith("of the sum.")
        direct.locator("button.more >> nth=0").click()
        assert words.count() > 12
        page.click(".segments >> text=Feature layer")
        page.click("section:has(h2:text('Raise it')) li a >> nth=0")
        page.wait_for_selector(".feature-unit[open] h2:has-text('Goes with')")
        keep(page, "feature-unit")

    def test_the_feature_layer_lists_its_units(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["newswire-network"], "#view=features")
        units = page.locator(".feature-unit")
        n_units = newswire.classifier().net_.output.weight.shape[0]
        assert units.count() == 40
        page.click("button.more")
        assert units.count() == n_units
        page.click(".segments >> text=Top level")
        assert units.count() == 20
        page.focus(".feature-unit summary >> nth=0")
        page.keyboard.press("Enter")
        page.wait_for_selector(".feature-unit[open] .feature-body")
        page.fill("#search", "top.3")
        page.keyboard.press("Enter")
        page.wait_for_selector(".feature-unit[open] .where:has-text('top.3 ')")


class TestCharts:
    def test_labels_do_not_overprint(
        self, open_page: Open, reports: Reports, size: dict[str, int], keep: Keep
    ) -> None:
        page = open_page(reports["newswire-network"], "#view=training", **size)
        page.wait_for_selector(".chart svg")
        keep(page, f"training-{size['width']}")
        for chart in page.locator(".chart").all():
            texts = chart.locator("text, figcaption h2, figcaption li").evaluate_all(BOXES)
            assert len(texts) > 4
            assert overlapping(texts) == []
            heights = [box[3] - box[1] for box in texts]
            assert min(heights) > 9  # large enough to read


def test_printed_pages_keep_map_and_tree(open_page: Open, reports: Reports) -> None:
    page = open_page(reports["newswire"])
    page.wait_for_selector(CELL)
    page.emulate_media(media="print")
    settle(page)
    assert page.is_visible(CELL)
    assert page.is_visible(ITEM)
    assert not page.is_visible(".tools")
    assert not page.is_visible("#search")
