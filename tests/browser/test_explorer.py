"""The explorer as its readers use it: by pointer, by keyboard, on any screen, offline."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from tests.explain.report.corpus import classifier, tree
from tests.explain.report.test_page import HOSTILE, hostile_tree
from tsenet.data.table import Table
from tsenet.explain.report import write_report

Open = Callable[..., Any]
Reports = dict[str, Path]

ITEM = "[role=treeitem]"
PANEL = "aside.panel"


def labels(page: Any) -> list[str]:
    """Labels of the tree's visible items, from top to bottom."""
    found: list[str] = page.eval_on_selector_all(
        ITEM,
        """items => items
            .map(item => [item.getBoundingClientRect().top, item.querySelector(".text").textContent])
            .sort((a, b) => a[0] - b[0]).map(pair => pair[1])""",
    )
    return found


def active(page: Any) -> str:
    """Label of the item that the keyboard is on."""
    text: str = page.evaluate(
        """() => {
            const id = document.querySelector("[role=tree]").getAttribute("aria-activedescendant");
            return document.getElementById(id).querySelector(".text").textContent;
        }"""
    )
    return text


def settle(page: Any) -> None:
    """Wait until what was asked for is drawn: two frames."""
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def unit_label(page: Any, name: str) -> str:
    """What the page calls a unit."""
    page.evaluate("name => { location.hash = `#unit=${name}` }", name)
    page.wait_for_selector(f"{PANEL} .code:text-is('{name}')")
    text: str = page.text_content(f"{PANEL} h1")
    return text


class TestOpening:
    def test_shows_the_tree_and_the_figures(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["network"])
        page.wait_for_selector(ITEM)
        assert page.title() == "Three subjects · tsenet"
        assert page.text_content(f"{PANEL} h1") == "Three subjects"
        assert "18words" in page.text_content(".figures")
        assert page.get_attribute("nav[aria-label=Views] [aria-current]", "href") == "#view=tree"

    def test_every_view_opens(
        self, open_page: Open, reports: Reports, keep: Callable[[Any, str], None]
    ) -> None:
        page = open_page(reports["network"])
        for link, heading in (
            ("Classes", "politics"),
            ("Feature layer", "12 units above the tree"),
            ("Network", "of a dense network’s parameters"),
            ("Training", "3 epochs"),
            ("Data", "Three subjects"),
        ):
            page.click(f"nav[aria-label=Views] >> text={link}")
            page.wait_for_selector(f"main h1:has-text('{heading}')")
            keep(page, f"view-{link.lower().replace(' ', '-')}")
        page.go_back()
        page.wait_for_selector("main h1:has-text('3 epochs')")

    @pytest.mark.parametrize(
        ("address", "says"),
        [
            ("#unit=nobody", "no unit “nobody”"),
            ("#view=nothing", "no view “nothing”"),
            ("#%E0%A4%A", "nothing called"),
            ("#node=99999", "no node “99999”"),
            ("#class=x", "no class “x”"),
            ("#feature=skip9.9", "no unit of the feature layer “skip9.9”"),
        ],
    )
    def test_a_bad_link_opens_the_tree_and_says_so(
        self, open_page: Open, reports: Reports, address: str, says: str
    ) -> None:
        page = open_page(reports["network"], address)
        page.wait_for_selector(ITEM)
        assert says in page.text_content("[role=status].notice")
        page.click("[aria-label='Close the message']")
        assert not page.is_visible(".notice")
        page.evaluate("location.hash = '#view=data'")
        page.wait_for_selector("main .data")
        assert not page.is_visible(".notice")


class TestTree:
    def test_expand_and_collapse(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["topics"])
        page.wait_for_selector(ITEM)
        page.select_option("select[aria-label='Show levels down to']", "2")
        settle(page)
        top = page.locator(ITEM)
        n_top = tree().layer_sizes[2]
        assert top.count() == n_top
        assert [top.nth(k).get_attribute("aria-expanded") for k in range(n_top)] == [
            "false"
        ] * n_top
        top.first.click()
        page.wait_for_function(
            "n => document.querySelectorAll('[role=treeitem]').length > n", arg=n_top
        )
        assert page.get_attribute(f"{ITEM}[aria-level='1'] >> nth=0", "aria-expanded") == "true"
        page.select_option("select[aria-label='Show levels down to']", "0")
        settle(page)
        page.click("[aria-label='See all (0)']")
        settle(page)
        assert set(tree().names[:18]) <= set(labels(page))

    def test_the_dot_folds_without_selecting(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["topics"])
        item = page.locator(f"{ITEM}[aria-level='1']").first
        before = item.get_attribute("aria-expanded")
        box = item.bounding_box()
        page.mouse.click(box["x"] - 12, box["y"] + box["height"] / 2)
        settle(page)
        assert item.get_attribute("aria-expanded") != before
        assert "unit=" not in page.url

    def test_items_say_where_they_are(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["topics"])
        page.select_option("select[aria-label='Show levels down to']", "0")
        settle(page)
        n_top = tree().layer_sizes[2]
        first = page.locator(f"{ITEM}[aria-level='1']").first
        assert first.get_attribute("aria-setsize") == str(n_top)
        assert first.get_attribute("aria-posinset") == "1"
        word = page.locator(f"{ITEM}[aria-level='3']").first
        assert word.get_attribute("aria-expanded") is None

    def test_pan_and_zoom(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["large"])
        page.wait_for_selector(ITEM)
        page.select_option("select[aria-label='Show levels down to']", "3")
        settle(page)
        before = labels(page)
        page.mouse.move(400, 400)
        page.mouse.wheel(0, 400)
        settle(page)
        assert labels(page) != before
        page.mouse.wheel(0, -400)
        settle(page)
        assert labels(page) == before
        page.click("[aria-label='Zoom out (−)']")
        settle(page)
        assert len(labels(page)) >= len(before)

    def test_growing_is_animated_only_where_motion_is_welcome(
        self, open_page: Open, reports: Reports
    ) -> None:
        page = open_page(reports["topics"], calm=False)
        page.wait_for_selector(ITEM)
        page.select_option("select[aria-label='Show levels down to']", "0")
        page.wait_for_function("document.querySelectorAll('[role=treeitem].word').length > 3")


class TestSelecting:
    def test_a_click_opens_the_panel(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["network"])
        page.click(f"{ITEM}[aria-level='1'] >> nth=0")
        page.wait_for_selector(f"{PANEL} .code")
        heading = page.text_content(f"{PANEL} h1")
        assert page.get_attribute(f"{ITEM}[aria-selected='true']", "data-node") is not None
        assert page.text_content(f"{ITEM}[aria-selected='true'] .text") == heading
        assert "#unit=" in page.url
        for section in ("Words of the group", "In the trained network", "Most active documents"):
            assert page.is_visible(f"{PANEL} h2:has-text('{section}')")

    def test_the_panel_says_what_the_model_says(self, open_page: Open, reports: Reports) -> None:
        fitted = classifier()
        page = open_page(reports["network"])
        name = fitted.tree_.latent_names[0]
        unit_label(page, name)
        words = page.locator(
            f"{PANEL} section:has(h2:has-text('Words of the group')) .grow bdi, "
            f"{PANEL} section:has(h2:has-text('Words of the group')) bdi.grow"
        )
        shown = set(words.all_text_contents())
        below = {fitted.tree_.names[k] for k in fitted.tree_.children(fitted.tree_.n_observed)}
        assert shown
        assert shown <= below

    def test_links_follow_and_the_back_button_returns(
        self, open_page: Open, reports: Reports, keep: Callable[[Any, str], None]
    ) -> None:
        page = open_page(reports["network"], "#word=orbit")
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('orbit')")
        above = classifier().wiring_
        fed = page.locator(f"{PANEL} section:has(h2:has-text('Feeds')) li")
        column = above.names[0].index("orbit")
        n_fed = int((above.layers[0].indices == column).sum())
        assert fed.count() == n_fed
        assert (
            page.locator(f"{PANEL} h2:has-text('Feeds')")
            .text_content()
            .startswith(f"Feeds {n_fed} unit")
        )
        # the tree's link is solid and stands first, the added ones are dashed
        kinds = [fed.nth(k).locator("svg").get_attribute("class") for k in range(n_fed)]
        assert kinds == ["glyph solid", *["glyph dashed"] * (n_fed - 1)]
        keep(page, "word")
        fed.nth(n_fed - 1).locator("a").click()
        page.wait_for_selector(f"{PANEL} .code")
        assert "#unit=" in page.url
        page.go_back()
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('orbit')")
        page.go_forward()
        page.wait_for_selector(f"{PANEL} .code")
        page.click("[aria-label='Close the details']")
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('Three subjects')")

    def test_groups_of_a_word_lead_up_the_tree(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["topics"], "#word=comet")
        groups = page.locator(f"{PANEL} section:has(h2:has-text('Groups')) li a")
        known = tree()
        node, path = known.names.index("comet"), []
        while known.parent[node] >= 0 and known.level[known.parent[node]] > known.level[node]:
            node = int(known.parent[node])
            path.append(known.names[node])
        addresses = [groups.nth(k).get_attribute("href") for k in range(groups.count())]
        assert addresses == [f"#unit={name}" for name in path]

    def test_added_links_are_drawn(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["network"])
        page.wait_for_selector(ITEM)

        def orange() -> int:
            pixels = imread(BytesIO(page.screenshot(clip=page.locator(".tree").bounding_box())))
            return int((pixels[..., 0] > pixels[..., 2] + 0.35).sum())

        before = orange()  # the legend has a little
        page.evaluate("location.hash = '#word=orbit'")
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('orbit')")
        settle(page)
        assert orange() > before + 60

    def test_classes_lead_to_units_and_colour_the_tree(
        self, open_page: Open, reports: Reports, keep: Callable[[Any, str], None]
    ) -> None:
        page = open_page(reports["network"], "#view=classes&class=space")
        page.wait_for_selector("main h1 bdi:text-is('space')")
        page.click(".class-list >> text=sport")
        page.wait_for_selector("main h1 bdi:text-is('sport')")
        page.click("text=Show in the tree")
        page.wait_for_selector(ITEM)
        assert (
            page.eval_on_selector(
                "select[aria-label='Colour by class']", "s => s.selectedOptions[0].textContent"
            )
            == "sport"
        )
        assert page.is_visible(".scale")
        keep(page, "coloured")
        page.go_back()
        page.click("section:has(h2:text('Raise it')) li a >> nth=0")
        page.wait_for_selector(f"{PANEL} .code")

    def test_along_a_column(
        self, open_page: Open, reports: Reports, keep: Callable[[Any, str], None]
    ) -> None:
        page = open_page(reports["topics"])
        page.click("nav[aria-label=Views] >> text=Subject")
        page.wait_for_selector(".multiple")
        assert page.locator(".multiple").count() == tree().layer_sizes[2]
        page.click(".segments button:text-is('1')")
        assert page.locator(".multiple").count() == tree().layer_sizes[1]
        keep(page, "along")
        page.click(".multiple a >> nth=0")
        page.wait_for_selector(f"{PANEL} h2:has-text('Along subject')")


class TestSearching:
    def test_by_keyboard_alone(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["network"])
        page.wait_for_selector(ITEM)
        page.keyboard.press("/")
        page.keyboard.type("COM")
        options = page.locator("[role=option]")
        assert options.first.locator(".what").text_content() == "comet"
        assert page.get_attribute("#search", "aria-expanded") == "true"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        assert page.get_attribute("#search", "aria-activedescendant") == "result-0"
        page.keyboard.press("Enter")
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('comet')")
        assert not page.is_visible("#search-results")
        settle(page)
        assert active(page) == "comet"
        # the keyboard goes on in the tree
        page.keyboard.press("ArrowLeft")
        settle(page)
        assert active(page) != "comet"

    def test_nothing_found_and_escape(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["network"])
        page.fill("#search", "zzzz")
        assert page.text_content("#search-results") == "Nothing found"
        page.keyboard.press("Escape")
        assert not page.is_visible("#search-results")
        assert page.input_value("#search") == ""

    def test_a_click_chooses(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["network"])
        page.fill("#search", "Z1.0")
        page.click("[role=option] >> nth=0")
        page.wait_for_selector(f"{PANEL} .code:text-is('Z1.0')")


class TestKeyboard:
    def test_moves_through_the_tree(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["topics"])
        page.select_option("select[aria-label='Show levels down to']", "2")
        page.focus("[role=tree]")
        page.keyboard.press("Home")
        settle(page)
        top = labels(page)
        assert active(page) == top[0]
        page.keyboard.press("ArrowRight")  # opens
        page.keyboard.press("ArrowRight")  # goes in
        settle(page)
        inside = active(page)
        assert len(labels(page)) > len(top)
        page.keyboard.press("ArrowLeft")  # back out
        settle(page)
        assert active(page) == top[0]
        page.keyboard.press("ArrowDown")
        settle(page)
        assert active(page) == inside
        page.keyboard.press("Enter")
        page.wait_for_selector(f"{PANEL} .code")
        assert page.text_content(f"{PANEL} h1") == inside
        page.keyboard.press("End")
        settle(page)
        assert active(page) == labels(page)[-1]
        page.keyboard.press("Home")
        page.keyboard.press("ArrowLeft")  # folds
        settle(page)
        assert len(labels(page)) == len(top)
        page.keyboard.press(top[-1][0])  # letters lead to labels
        settle(page)
        assert active(page).startswith(top[-1][0])

    def test_every_control_can_be_reached(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["network"])
        page.wait_for_selector(ITEM)
        reached = set()
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.add(
                page.evaluate(
                    """() => {
                        const at = document.activeElement;
                        return at.getAttribute("role") || at.getAttribute("aria-label") || at.textContent;
                    }"""
                )
            )
        assert {"Skip to the content", "combobox", "tree", "Network", "Zoom in (+)"} <= reached
        assert "Colour by class" in reached

    def test_focus_can_be_seen(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["network"])
        for _ in range(4):
            page.keyboard.press("Tab")
            width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
            assert width == "2px"


class TestScreens:
    @pytest.mark.parametrize("width", [390, 768, 1440, 2200])
    def test_nothing_is_cut_off(
        self, open_page: Open, reports: Reports, width: int, keep: Callable[[Any, str], None]
    ) -> None:
        page = open_page(reports["network"], "#word=orbit", width=width, height=844)
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('orbit')")
        settle(page)
        keep(page, f"width-{width}")
        views = ("classes", "features", "network", "training", "data")
        for address in ("", *(f"#view={view}" for view in views)):
            page.evaluate("address => { location.hash = address }", address)
            settle(page)
            inside = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert inside[0] <= inside[1], address

    def test_a_selected_word_is_in_view_on_a_phone(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["network"], width=390, height=844, has_touch=True)
        page.tap("#search")
        page.keyboard.type("orbit")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('orbit')")
        settle(page)
        item = page.locator(f"{ITEM}[aria-selected='true']").bounding_box()
        stage = page.locator(".stage").bounding_box()
        assert stage["y"] <= item["y"] <= stage["y"] + stage["height"] - item["height"]
        assert item["x"] >= 0
        assert item["x"] + item["width"] <= 390

    def test_the_theme_can_be_changed(
        self, open_page: Open, reports: Reports, keep: Callable[[Any, str], None]
    ) -> None:
        page = open_page(reports["network"], "#word=orbit", dark=True)
        page.wait_for_selector(ITEM)
        background = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(background)
        keep(page, "dark")
        page.click("[aria-label='Switch to light colours']")
        assert page.evaluate(background) != dark
        page.reload()
        page.wait_for_selector("[aria-label='Switch to dark colours']")

    @pytest.mark.parametrize("dark", [False, True])
    def test_text_has_enough_contrast(self, open_page: Open, reports: Reports, dark: bool) -> None:
        page = open_page(reports["network"], "#word=orbit", dark=dark)
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('orbit')")
        addresses = ["", "#unit=Z1.0", "#unit=nobody", "#view=tree&colour=sport"]
        addresses += [f"#view={view}" for view in ("classes", "features", "network", "training")]
        for address in addresses:
            page.evaluate("address => { location.hash = address }", address)
            settle(page)
            for text, ratio in page.evaluate(CONTRAST):
                assert ratio >= 4.5, (address, text, ratio)


# Contrast of every piece of text with the first opaque background behind it, after WCAG 2.
CONTRAST = """() => {
    const channel = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const rgb = text => { const n = text.match(/[\\d.]+/g).map(Number);
        return text.startsWith("color(") ? [...n.slice(-4, -1).map(x => 255 * x), n.at(-1)] : n; };
    const solid = e => { for (; e; e = e.parentElement) {
        const c = rgb(getComputedStyle(e).backgroundColor);
        if (c.length < 4 || c[3] > 0.7) return c; } return [255, 255, 255]; };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const e = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !e.checkVisibility()) continue;
        if (e.closest("script, option, .sr, .skip")) continue;
        const style = getComputedStyle(e);
        const ink = e.closest("svg") ? style.fill : style.color;
        const [a, b] = [light(rgb(ink)), light(solid(e))];
        found.push([walker.currentNode.data, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]);
    }
    return found;
}"""


class TestLarge:
    """5,000 topics over 20,000 words: what the page holds goes by the screen, not by the tree."""

    def test_opens_with_few_elements(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["large"])
        page.wait_for_selector(ITEM)
        assert "5,000topics" in page.text_content(".figures")
        assert page.evaluate("document.querySelectorAll('*').length") < 1000

    def test_all_of_it_can_be_shown_and_walked(
        self, open_page: Open, reports: Reports, keep: Callable[[Any, str], None]
    ) -> None:
        page = open_page(reports["large"])
        page.wait_for_selector(ITEM)
        page.select_option("select[aria-label='Show levels down to']", "0")
        page.wait_for_selector(f"{ITEM}.word")
        assert page.locator(ITEM).count() < 300
        page.focus("[role=tree]")
        page.keyboard.press("End")
        settle(page)
        last = active(page)
        page.keyboard.press("PageUp")
        settle(page)
        assert active(page) != last
        page.keyboard.press("0")  # all 25,000 at once
        settle(page)
        assert page.locator(ITEM).count() < 400
        keep(page, "large")

    def test_search_reaches_any_word(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["large"])
        page.keyboard.press("/")
        page.keyboard.type("x19999")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('x19999')")
        settle(page)
        assert active(page) == "x19999"
        box = page.locator(f"{ITEM}[aria-selected='true']").bounding_box()
        assert 60 < box["y"] < 800


class TestHostileNames:
    @pytest.fixture
    def page(self, open_page: Open, tmp_path: Path) -> Any:
        rows = np.random.default_rng(0).integers(2, size=(40, len(HOSTILE)))
        texts = [HOSTILE[k % len(HOSTILE)] for k in range(40)]
        path = tmp_path / "hostile.html"
        write_report(
            *(path, hostile_tree(), Table.of(rows, names=HOSTILE)),
            texts=texts,
            along=[HOSTILE[k % 3] for k in range(40)],
            along_name="</script><script>alert(3)</script>",
            title="</title><img src=x onerror=alert(4)>",
        )
        return open_page(path)

    def test_are_shown_as_they_are(self, page: Any, keep: Callable[[Any, str], None]) -> None:
        page.select_option("select[aria-label='Show levels down to']", "0")
        settle(page)
        assert set(HOSTILE) <= {text.replace("\ufffd", "\x00") for text in labels(page)}
        assert page.title().startswith("</title><img src=x onerror=alert(4)>")
        assert page.locator("img").count() == 0
        keep(page, "hostile")

    @pytest.mark.parametrize("name", HOSTILE[:7])
    def test_can_be_searched_and_linked(self, page: Any, name: str) -> None:
        page.fill("#search", name)
        page.keyboard.press("Enter")
        page.wait_for_function(
            "name => document.querySelector('aside.panel h1').textContent === name", arg=name
        )
        page.reload()
        page.wait_for_function(
            "name => document.querySelector('aside.panel h1').textContent === name", arg=name
        )

    def test_every_view_and_panel(self, page: Any) -> None:
        for link in page.locator("nav[aria-label=Views] a").all():
            link.click()
            settle(page)
        page.evaluate("location.hash = '#unit=' + encodeURIComponent('<Z1.0>')")
        page.wait_for_selector(f"{PANEL} .code:text-is('<Z1.0>')")
        assert page.locator(f"{PANEL} .quote").count() > 0


def test_the_policy_stops_what_does_not_belong(
    open_page: Open, reports: Reports, tmp_path: Path
) -> None:
    """A program or style slipped into the file afterwards is not run."""
    page_text = reports["topics"].read_text("utf-8")
    meddled = tmp_path / "meddled.html"
    slipped = (
        "<script>document.title = 'broken in'</script><style>body { display: none }</style></body>"
    )
    meddled.write_text(page_text.replace("</body>", slipped), "utf-8")
    context = open_page(reports["topics"]).context
    page = context.new_page()
    page.goto(meddled.as_uri())
    page.wait_for_selector(ITEM)
    assert page.title() != "broken in"
    assert page.is_visible("header.top")


def test_screenshots_are_kept(
    open_page: Open, reports: Reports, keep: Callable[[Any, str], None]
) -> None:
    from tests.browser.conftest import ARTEFACTS

    page = open_page(reports["network"], "#unit=Z1.0", width=1440, height=900)
    page.wait_for_selector(f"{PANEL} .code")
    settle(page)
    keep(page, "network")
    assert re.match(rb"\x89PNG", (ARTEFACTS / "network.png").read_bytes())
