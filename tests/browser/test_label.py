"""`tsenet label` as its users have it: a real browser, a real server, from unlabelled texts to a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tsenet
from tests.labelling.running import Place, make_texts, running, write_csv

pytestmark = pytest.mark.slow

TEXTS, TRUTH = make_texts(300)
HOSTILE = [
    "<img src=x onerror=alert(1)> goal <script>alert(2)</script>",
    "</script><svg onload=alert(3)> ballot",
    '" onmouseover="alert(4)" orbit',
    "javascript:alert(5) {{7*7}} ${alert(6)} moon",
    "\u202eright to left \u2066 isolate",
    "a" * 20_000,
    "שלום עולם السلام عليكم",
    "line one\nline two\r\n\tline three",
    "=cmd|' /C calc'!A0",
]

Open = Callable[..., Any]


@pytest.fixture
def open_address(browser: Any) -> Iterator[Open]:
    """Open a page of the server in a window of its own; at the end nothing may have gone wrong."""
    contexts = []
    wrong: list[str] = []

    def open_(place: Place, *, width: int = 1280, height: int = 800, dark: bool = False) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (wrong.append("dialog"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((f"http://127.0.0.1:{place.port}/", "data:"))
                else wrong.append(f"request: {request.url}")
            ),
        )
        page.goto(place.url)
        page.wait_for_selector(".row .marks, .row .text")
        return page

    yield open_
    for context in contexts:
        context.close()
    # The browser mentions that the server has ended.
    assert [text for text in wrong if "net::ERR_" not in text] == []


def current(page: Any) -> str:
    """The text that is read; after another list was opened, it may still be one of the list before."""
    page.wait_for_selector("#reader .full")
    text: str = page.locator("#reader .full").text_content()
    return text


def wait_for_list(page: Any, n: str) -> None:
    """Wait for the list that was asked for last, which has as many texts as it says."""
    page.wait_for_selector("#list[aria-busy=false]")
    page.wait_for_selector(f"#found:text-is('{n}')")


def make_class(page: Any, name: str) -> None:
    page.keyboard.press("c")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.wait_for_selector(f"button.class:has-text('{name}')")
    page.keyboard.press("Escape")


def label_by_key(page: Any, keys: dict[str, str], n: int) -> None:
    """Label texts with the keys of their true classes."""
    subject_of = dict(zip(TEXTS, TRUTH, strict=True))
    for _ in range(n):
        before = current(page)
        page.keyboard.press(keys[subject_of[before]])
        end = time.monotonic() + 30
        while current(page) == before:
            assert time.monotonic() < end
            page.wait_for_timeout(10)


def test_the_whole_way_by_keyboard_alone(tmp_path: Path, open_address: Open) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS)
    with running(data) as place:
        page = open_address(place)
        page.wait_for_selector("#tree [data-topic='0']", timeout=120_000)
        for name in ("sport", "politics", "space"):
            make_class(page, name)
        label_by_key(page, {"sport": "1", "politics": "2", "space": "3"}, 39)
        page.wait_for_selector("#learner:has-text('Model of')", timeout=240_000)
        page.wait_for_selector("#accuracy", timeout=240_000)
        assert place.state()["labelled"] == 39

        page.keyboard.press("w")
        page.wait_for_selector(".why .bars li")
        assert page.locator(".full mark.for").count() >= 1

        # A topic by keyboard: its texts, and a label for all of it.
        page.keyboard.press("g")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector("#topic-head:not([hidden])")
        page.locator("#list").focus()
        page.keyboard.press("t")
        page.wait_for_selector("#counts:has-text('by topic')")

        page.locator("#save").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("#command", timeout=240_000)
        assert "tsenet fit docs.labelled.csv --text text" in page.locator("#command").text_content()
        page.keyboard.press("Escape")
    table = pd.read_csv(tmp_path / "docs.labelled.csv", keep_default_na=False)
    assert (table["source"] == "you").sum() == 39
    predicted = tsenet.load(tmp_path / "docs.tsenet").predict(TEXTS)
    assert np.mean(predicted == np.array(TRUTH)) > 0.85


def test_killed_it_says_so_and_goes_on(tmp_path: Path, open_address: Open) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS[:60])
    with running(data) as place:
        page = open_address(place)
        make_class(page, "sport")
        page.keyboard.press("1")
        page.wait_for_selector("#counts:has-text('1 of 60')")
        place.kill()
        page.wait_for_selector("body.gone", timeout=60_000)
        assert "nothing is lost" in page.text_content("#learner")
        page.goto("about:blank")
    with running(data) as place:
        page = open_address(place)
        page.wait_for_selector("#counts:has-text('1 of 60')")
        page.keyboard.press("u")
        page.wait_for_selector("#counts:has-text('0 of 60')")


def test_a_selection_is_labelled_together_and_undone(tmp_path: Path, open_address: Open) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS[:60])
    with running(data) as place:
        page = open_address(place)
        make_class(page, "sport")
        page.select_option("#sort", "file")
        wait_for_list(page, "60 texts")
        page.locator("#list").focus()
        for _ in range(3):
            page.keyboard.press("Shift+ArrowDown")
        page.wait_for_selector("#found:has-text('4 of 60')")
        page.keyboard.press("1")
        page.wait_for_selector("#counts:has-text('4 of 60')")
        page.keyboard.press("u")
        page.wait_for_selector("#counts:has-text('0 of 60')")

        # All that a search finds; more than twenty are labelled after a question.
        page.keyboard.press("/")
        page.keyboard.type("report")
        page.keyboard.press("Enter")
        wait_for_list(page, "60 texts")
        page.keyboard.press("a")
        page.keyboard.press("1")
        page.wait_for_selector("dialog[open] >> text=Label 60 texts as sport?")
        page.keyboard.press("Enter")
        page.wait_for_selector("#counts:has-text('60 of 60')")
        assert place.state()["revision"] == 4  # one action


def test_what_was_selected_is_labelled_also_when_another_list_comes_during_the_question(
    tmp_path: Path, open_address: Open
) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS[:60])
    with running(data) as place:
        page = open_address(place)
        make_class(page, "sport")
        page.select_option("#sort", "file")
        wait_for_list(page, "60 texts")
        page.locator("#list").focus()

        # The answer to the search is held back until the question is there.
        held: list[Any] = []
        page.route("**/api/view?*", lambda route: held.append(route))  # noqa: PLW0108 — playwright marks it
        page.keyboard.press("/")
        page.keyboard.type('"report 7"')
        page.keyboard.press("Enter")
        page.keyboard.press("a")
        page.keyboard.press("1")
        page.wait_for_selector("dialog[open] >> text=Label 60 texts as sport?")
        (route,) = held  # one search asks once
        route.continue_()
        wait_for_list(page, "1 text")
        page.keyboard.press("Enter")
        page.wait_for_selector("#counts:has-text('60 of 60')")


def test_the_list_asked_for_last_is_shown_although_an_earlier_one_comes_later(
    tmp_path: Path, open_address: Open
) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS[:60])
    with running(data) as place:
        page = open_address(place)
        held: list[Any] = []
        page.route(
            "**/api/view?*", lambda route: held.append(route) if not held else route.continue_()
        )
        page.fill("#query", '"report 7"')
        page.keyboard.press("Enter")
        page.wait_for_selector("#list[aria-busy=true]")
        page.fill("#query", "")
        page.keyboard.press("Enter")
        wait_for_list(page, "60 texts")
        with page.expect_response("**/api/view?query=%22report*"):
            held[0].continue_()
        page.evaluate("() => new Promise(requestAnimationFrame)")
        wait_for_list(page, "60 texts")


def test_a_key_means_the_text_that_is_shown_also_while_another_list_is_on_its_way(
    tmp_path: Path, open_address: Open
) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS[:60])
    with running(data) as place:
        page = open_address(place)
        make_class(page, "sport")
        page.select_option("#sort", "file")
        wait_for_list(page, "60 texts")

        # The first texts of the list that was searched for are held back.
        held: list[Any] = []
        page.route(
            "**/api/page?*", lambda route: held.append(route) if not held else route.continue_()
        )
        page.keyboard.press("/")
        page.keyboard.type('"report 7"')
        page.keyboard.press("Enter")
        page.wait_for_selector("#list[aria-busy=true]")
        assert current(page) == TEXTS[0]
        page.keyboard.press("1")
        page.wait_for_selector("#counts:has-text('1 of 60')")
        assert current(page) == TEXTS[1]
        held[0].continue_()
        wait_for_list(page, "1 text")
        assert [item["classes"] for item in place.items(place.view(sort="file")[0])[:2]] == [
            ["c1"],
            [],
        ]

        # Undone, it is shown again: here in another list.
        page.keyboard.press("p")
        page.wait_for_selector("#found:has-text('proposed to label next')")
        first = current(page)
        page.keyboard.press("1")
        page.wait_for_selector("#counts:has-text('2 of 60')")
        page.keyboard.press("u")
        page.wait_for_selector("#counts:has-text('1 of 60')")
        page.wait_for_function(
            "text => document.querySelector('.full').textContent === text", arg=first
        )


def test_new_proposals_follow_the_text_that_is_read(tmp_path: Path, open_address: Open) -> None:
    """After each model; nothing that is in sight changes before the next label."""
    data = write_csv(tmp_path / "docs.csv", TEXTS)
    keys = {"sport": "1", "politics": "2", "space": "3"}
    with running(data) as place:
        page = open_address(place)
        for name in keys:
            make_class(page, name)
        page.wait_for_selector("#tree [data-topic='0']", timeout=120_000)
        label_by_key(page, keys, 15)
        page.wait_for_selector("#learner:has-text('Model of 15')", timeout=240_000)
        read = current(page)
        shown = page.locator("#list .text").all_text_contents()

        other = next(i for i, text in enumerate(TEXTS) if text not in shown)
        with page.expect_response("**/api/view?*after=*", timeout=240_000):
            place.act({"do": "label", "documents": [other], "classes": ["none"]})
        page.wait_for_selector("#learner:has-text('Model of 16')", timeout=240_000)
        assert current(page) == read
        assert page.locator("#list .text").all_text_contents() == shown

        # A label shows the proposals that have arrived since the last one; who labels faster than they come sees none.
        unsure = page.locator(".reason:text-is('the model is unsure')")
        for _ in range(30):
            label_by_key(page, keys, 1)
            if unsure.count():
                break
            page.wait_for_timeout(1_000)
        assert unsure.count()
        page.keyboard.press("Home")
        page.wait_for_selector("#row-0 .chip.you")  # what was labelled is still there


def test_all_of_a_long_selection_is_labelled(tmp_path: Path, open_address: Open) -> None:
    """Also texts that were never in sight."""
    data = write_csv(tmp_path / "docs.csv", TEXTS)
    with running(data) as place:
        page = open_address(place)
        make_class(page, "sport")
        page.select_option("#sort", "file")
        wait_for_list(page, "300 texts")
        page.locator("#list").evaluate("list => { list.scrollTop = list.scrollHeight; }")
        page.wait_for_selector(f"#row-299 >> text={TEXTS[299]}")
        page.locator("#row-299").click(modifiers=["Shift"])
        page.wait_for_selector("#found:has-text('300 of 300')")
        page.locator("#list").focus()
        page.keyboard.press("1")
        page.wait_for_selector("#counts:has-text('300 of 300')")


def test_two_windows_see_each_other(tmp_path: Path, open_address: Open) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS[:60])
    with running(data) as place:
        first, second = open_address(place), open_address(place)
        make_class(first, "sport")
        second.wait_for_selector("button.class:has-text('sport')")
        for page in (first, second):
            page.select_option("#sort", "file")
            wait_for_list(page, "60 texts")
            page.locator("#list").focus()
        first.keyboard.press("1")
        second.wait_for_selector("#row-0 .chip.you:has-text('sport')")
        second.keyboard.press("ArrowDown")
        second.keyboard.press("0")
        first.wait_for_selector("#row-1 .chip.you:has-text('none of these')")
        first.keyboard.press("u")  # its own label, not the last one
        second.wait_for_selector("#counts:has-text('1 of 60')")
        assert first.locator("#row-1 .chip.you").count() == 1


def test_hostile_texts_are_only_text(tmp_path: Path, open_address: Open) -> None:
    data = write_csv(tmp_path / "docs.csv", [*HOSTILE, *TEXTS[:60]])
    with running(data) as place:
        page = open_address(place)
        make_class(page, "<b>bold</b>")
        make_class(page, "a class of which the name is longer than its column is wide")
        is_inside = "column => column.scrollWidth <= column.clientWidth"
        assert page.locator("#classes").evaluate(is_inside)
        page.select_option("#sort", "file")
        wait_for_list(page, "69 texts")
        page.locator("#list").focus()
        for text in HOSTILE:
            page.wait_for_selector("#reader .full")
            end = time.monotonic() + 30
            while current(page).split() != text.split():
                assert time.monotonic() < end, text[:50]
                page.wait_for_timeout(20)
            page.keyboard.press("1")
        page.wait_for_selector("#counts:has-text('9 of 69')")
        assert (
            page.locator("main img, main script, main b, main svg:not([aria-hidden])").count() == 0
        )
        assert page.locator("#row-0 .chip").text_content().endswith("<b>bold</b>")


def test_a_hundred_thousand_rows(tmp_path: Path, open_address: Open) -> None:
    """The list has the rows in sight only, and every row can be reached."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(400)]
    texts = [f"{i} {' '.join(rng.choice(words, 6))}" for i in range(100_000)]
    data = write_csv(tmp_path / "docs.csv", texts)
    with running(data) as place:
        page = open_address(place)
        make_class(page, "sport")
        page.select_option("#sort", "file")
        wait_for_list(page, "100,000 texts")
        page.locator("#list").focus()
        page.keyboard.press("End")
        page.wait_for_selector(f"#row-99999 >> text={texts[-1]}")
        page.keyboard.press("1")
        page.wait_for_selector("#row-99999 .chip.you")
        assert page.locator(".row").count() < 60
        page.fill("#query", f'"{texts[50_000]}"')
        page.keyboard.press("Enter")
        wait_for_list(page, "1 text")
        page.wait_for_selector(f"#reader .full:text-is('{texts[50_000]}')")
        assert place.view(query=f"%22{texts[50_000].replace(' ', '+')}%22", sort="file")[1] == 1


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_screen(tmp_path: Path, open_address: Open, dark: bool) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS[:60])
    with running(data) as place:
        page = open_address(place, width=390, height=800, dark=dark)
        make_class(page, "sport")
        page.click(".tabs >> text=Texts")
        width = page.evaluate("() => document.documentElement.scrollWidth")
        assert width <= 390
        page.click("button.class:has-text('sport')")  # in reach below the texts
        page.wait_for_selector("#counts:has-text('1 of 60')")
        ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(15, 20, 24)") == dark
        for tab in ("Topics", "Classes"):
            page.click(f".tabs >> text={tab}")
            assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("dark", [False, True])
def test_texts_have_contrast_and_controls_have_names(
    tmp_path: Path, open_address: Open, dark: bool
) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS)
    with running(data) as place:
        page = open_address(place, dark=dark)
        for name in ("sport", "politics", "space"):
            make_class(page, name)
        page.wait_for_selector("#tree [data-topic='0']", timeout=120_000)
        label_by_key(page, {"sport": "1", "politics": "2", "space": "3"}, 12)
        page.wait_for_selector("#learner:has-text('Model of')", timeout=240_000)
        page.wait_for_selector(".row .chip.model")
        page.locator("#tree [data-topic]").nth(1).click()
        page.wait_for_selector("#topic-head:not([hidden])")
        page.wait_for_selector("#list[aria-busy=false]")
        poor = page.evaluate(CONTRAST)
        assert poor == []
        unnamed = page.eval_on_selector_all(
            "button, input, select",
            """controls => controls
                .filter(c => c.checkVisibility())
                .filter(c => !(c.getAttribute("aria-label") || c.textContent.trim()
                    || c.labels?.[0]?.textContent.trim()))
                .map(c => c.outerHTML)""",
        )
        assert unnamed == []
        focusable = page.locator("#list").get_attribute("aria-activedescendant")
        assert page.locator(f"#{focusable}[role=option][aria-selected=true]").count() == 1


# Texts whose contrast with what is behind them is below 4.5 (WCAG AA), or 3 for large ones.
CONTRAST = """() => {
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map(v => {
            v /= 255;
            return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
    const behind = element => {
        for (let e = element; e; e = e.parentElement) {
            const colour = numbers(getComputedStyle(e).backgroundColor);
            if (colour.length < 4 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const found = [];
    for (const element of document.querySelectorAll("body *")) {
        const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
        if (!own || !element.checkVisibility() || element.closest(".sr, option, :disabled")) continue;
        const style = getComputedStyle(element);
        const [a, b] = [light(numbers(style.color)), light(behind(element))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) {
            found.push(`${element.className}: ${element.textContent.trim().slice(0, 30)} ${ratio}`);
        }
    }
    return found;
}"""
