"""The explorer as its readers use it: by pointer, by keyboard, on any screen, offline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import planted_tree
from tests.explain.report import newswire
from tests.explain.report.corpus import classifier, tree
from tests.explain.report.test_page import HOSTILE, hostile_tree
from tsenet.data.table import Table
from tsenet.explain import every_topic, topic_tree
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


class TestOpening:
    def test_every_view_opens(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["network"])
        for link, heading in (
            ("Classes", "politics"),
            ("Network", "of a dense network’s parameters"),
            ("Training", "3 epochs"),
            ("Data", "Three subjects"),
        ):
            page.click(f"nav[aria-label=Views] >> text={link}")
            page.wait_for_selector(f"main h1:has-text('{heading}')")
        page.go_back()
        page.wait_for_selector("main h1:has-text('3 epochs')")

    @pytest.mark.parametrize(
        ("address", "says"),
        [
            ("#unit=nobody", "“nobody”"),
            ("#%E0%A4%A", "nothing called"),
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


class TestLooseTies:
    """A topic that is loosely tied to its parent."""

    def test_its_line_is_dashed_and_its_panel_says_so(
        self, open_page: Open, tmp_path: Path
    ) -> None:
        # Of the topics with a parent, the first has a tenth of the others' kinship.
        known = tree()
        below = np.flatnonzero(known.parent[known.n_observed :] >= 0)
        kinship = np.full(known.n_latents, 0.5)
        kinship[below[0]] = 0.05
        loose = known.latent_names[below[0]]

        def drawn(values: Any) -> tuple[Any, int]:
            path = tmp_path / "page.html"
            write_report(path, known, kinship=values)
            page = open_page(path)
            page.evaluate(
                """() => {
                    window.dashed = 0;
                    const made = CanvasRenderingContext2D.prototype;
                    const { stroke, bezierCurveTo, beginPath } = made;
                    let curves = 0;
                    made.beginPath = function () { curves = 0; return beginPath.call(this); };
                    made.bezierCurveTo = function (...at) { curves += 1; return bezierCurveTo.apply(this, at); };
                    made.stroke = function () {
                        if (curves && this.getLineDash().length) window.dashed += curves;
                        return stroke.call(this);
                    };
                }"""
            )
            page.evaluate(f"location.hash = '#unit={loose}'")
            page.wait_for_selector(PANEL + " h1")
            settle(page)
            return page, page.evaluate("window.dashed")

        page, n_dashed = drawn(kinship)
        assert n_dashed > 0
        parent = page.text_content(f"{PANEL} .crumbs li:last-child")
        assert page.text_content(f"{PANEL} .note.loose") == f"Loosely tied to {parent}."
        item = page.text_content(f"{ITEM}[aria-selected=true]")
        assert item.endswith(f", loosely tied to {parent}")
        assert page.is_visible(".legend:has-text('loosely tied')")
        page.click("[aria-label='Close the details']")
        assert "loosely tied to the one above" in page.text_content("details.help")

        page, n_dashed = drawn(None)
        assert n_dashed == 0
        assert page.locator(".note.loose, .legend").count() == 0


class TestDocuments:
    """The map of documents."""

    def test_a_document_under_the_pointer_is_read_and_leads_to_its_topic(
        self, open_page: Open, reports: Reports
    ) -> None:
        page = open_page(reports["topics"], "#view=documents", height=1200)
        dots = page.locator(".documents-map .dot")
        documents = page.evaluate(
            "() => JSON.parse(document.getElementById('payload').textContent).documents"
        )
        assert dots.count() == len(documents["of"]) > 100
        dots.nth(7).hover(force=True)
        marked = page.evaluate(
            "() => [...document.querySelectorAll('.dot')].findIndex(dot => dot.matches('.marked'))"
        )
        assert marked >= 0
        assert page.text_content(".told .quote") == documents["texts"][marked]
        page.locator(".documents-map").focus()
        page.keyboard.press("ArrowRight")
        after = documents["texts"][(marked + 1) % dots.count()]
        assert page.text_content(".told .quote") == after
        topic = page.locator(".told .of a bdi").first.text_content()
        page.keyboard.press("Enter")
        page.wait_for_selector(PANEL)
        assert page.text_content(f"{PANEL} h1") == topic

    def test_the_wheel_zooms_and_points_keep_their_size(
        self, open_page: Open, reports: Reports
    ) -> None:
        page = open_page(reports["topics"], "#view=documents", height=1200)
        frame, dot = page.locator(".documents-map"), page.locator(".dot").first
        before = dot.bounding_box()
        frame.hover()
        page.mouse.wheel(0, -600)
        settle(page)
        scale = page.evaluate(
            "() => document.querySelector('.documents-map g').transform.baseVal.consolidate().matrix.a"
        )
        assert scale > 1.2
        assert dot.bounding_box()["width"] == pytest.approx(before["width"], rel=0.05)
        frame.focus()
        page.keyboard.press("0")
        settle(page)
        assert dot.bounding_box()["x"] == pytest.approx(before["x"], abs=1.0)

    def test_a_report_without_documents_has_no_such_view(
        self, open_page: Open, reports: Reports
    ) -> None:
        page = open_page(reports["large"])
        page.wait_for_selector("nav[aria-label=Views]")
        assert page.locator("nav[aria-label=Views] >> text=Documents").count() == 0


class TestSelecting:
    def test_links_follow_and_the_back_button_returns(
        self, open_page: Open, reports: Reports
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
        fed.nth(n_fed - 1).locator("a").click()
        page.wait_for_selector(f"{PANEL} .code")
        assert "#unit=" in page.url
        page.go_back()
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('orbit')")
        page.go_forward()
        page.wait_for_selector(f"{PANEL} .code")
        page.click("[aria-label='Close the details']")
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('Three subjects')")

    def test_classes_lead_to_units_and_colour_the_tree(
        self, open_page: Open, reports: Reports
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
        page.go_back()
        page.click("section:has(h2:text('Raise it')) li a >> nth=0")
        page.wait_for_selector(f"{PANEL} .code")

    def test_along_a_column(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["topics"])
        page.click("nav[aria-label=Views] >> text=Subject")
        page.wait_for_selector(".multiple")
        assert page.locator(".multiple").count() == tree().layer_sizes[2]
        page.click(".segments button:text-is('1')")
        assert page.locator(".multiple").count() == tree().layer_sizes[1]
        page.click(".multiple a >> nth=0")
        page.wait_for_selector(f"{PANEL} h2:has-text('By subject')")
        page.go_back()
        page.click(".segments button:text-is('By subject')")
        assert page.locator(".card-title bdi").all_text_contents() == ["politics", "space", "sport"]


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


class TestScreens:
    @pytest.mark.parametrize("width", [390, 1440])
    def test_nothing_is_cut_off(self, open_page: Open, reports: Reports, width: int) -> None:
        page = open_page(reports["network"], "#word=orbit", width=width, height=844)
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('orbit')")
        settle(page)
        views = ("classes", "network", "training", "data")
        for address in ("", *(f"#view={view}" for view in views)):
            page.evaluate("address => { location.hash = address }", address)
            settle(page)
            inside = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert inside[0] <= inside[1], address

    @pytest.mark.parametrize("dark", [False, True])
    def test_text_has_enough_contrast(self, open_page: Open, reports: Reports, dark: bool) -> None:
        page = open_page(reports["network"], "#word=orbit", dark=dark)
        page.wait_for_selector(f"{PANEL} h1 bdi:text-is('orbit')")
        addresses = ["", "#unit=Z1.0", "#unit=nobody", "#view=tree&colour=sport"]
        addresses += [f"#view={view}" for view in ("classes", "network", "training")]
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

    def test_all_of_it_can_be_shown_and_walked(self, open_page: Open, reports: Reports) -> None:
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

    def test_are_shown_as_they_are(self, page: Any) -> None:
        page.select_option("select[aria-label='Show levels down to']", "0")
        settle(page)
        assert set(HOSTILE) <= {text.replace("\ufffd", "\x00") for text in labels(page)}
        assert page.title().startswith("</title><img src=x onerror=alert(4)>")
        assert page.locator("img").count() == 0

    @pytest.mark.parametrize("name", HOSTILE[:2])
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


# ---- what a reader sees first, where a few words dominate the corpus

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
    def test_map_and_tree_fit_the_window(
        self, open_page: Open, reports: Reports, size: dict[str, int], report: str
    ) -> None:
        page = open_page(reports[report], **size)
        page.wait_for_selector(CELL)
        settle(page)
        n_areas = len(newswire.AREAS)
        cells = page.eval_on_selector_all(CELL, BOXES)
        if size["width"] < 800:
            page.click(".switch >> text=Tree")
            settle(page)
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


class TestOrder:
    def test_the_largest_come_first_or_what_is_asked_for(
        self, open_page: Open, reports: Reports
    ) -> None:
        page = open_page(reports["newswire"])
        page.wait_for_selector(ITEM)

        def top(part: str) -> list[str]:
            settle(page)
            boxes = page.eval_on_selector_all(f"{ITEM}[aria-level='1'] {part}", BOXES)
            return [box[4] for box in sorted(boxes, key=lambda box: box[1])]

        shares = [float(text.removesuffix(" %")) for text in top(".share")]
        assert shares == sorted(shares, reverse=True)
        page.select_option("select[aria-label='Sort']", "name")
        assert top(".text") == sorted(top(".text"))

    def test_topics_without_room_are_shown_on_demand(self, open_page: Open, tmp_path: Path) -> None:
        path = tmp_path / "many.html"
        write_report(path, planted_tree(np.random.default_rng(0), (200, 90)), title="Many")
        page = open_page(path, width=390, height=844)
        page.wait_for_selector(CELL)
        assert page.locator(CELL).count() < 90
        page.click(".more-cell")
        settle(page)
        assert page.locator(CELL).count() == 90
        assert page.locator(".more-cell").count() == 0

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


class TestSearch:
    def test_two_words_find_what_has_both(self, open_page: Open, reports: Reports) -> None:
        page = open_page(reports["newswire"])
        page.fill("#search", "crude oil")
        found = page.locator("[role=option] .what").all_text_contents()
        known = topic_tree(newswire.tree(), newswire.table())
        topics = {topic.title: topic for topic in every_topic(known)}
        assert {"crude", "oil"} <= {word.word for word in topics[found[0]].words}
        assert found[-2:] == ["oil", "crude"]
        page.fill("#search", "oil coffee")  # of different areas: no topic holds both
        found = page.locator("[role=option] .what").all_text_contents()
        assert found == ["oil", "coffee"]
        page.fill("#search", "opec reactor")  # of one area
        found = page.locator("[role=option] .what").all_text_contents()
        assert "crude" in found[0].split(", ")


class TestClassPage:
    def test_words_speak_directly_and_tails_are_folded(
        self, open_page: Open, reports: Reports
    ) -> None:
        page = open_page(
            reports["newswire-network"], "#view=classes&class=energy", width=1440, height=900
        )
        direct = page.locator(".direct")
        words = direct.locator("section:has(h2:text('For it')) li .two-lines bdi:first-child")
        assert words.count() == 12
        assert set(words.all_text_contents()[:5]) <= set(newswire.words_of("energy"))
        tail = direct.locator(".tail >> nth=0").text_content()
        assert "more words: " in tail
        assert tail.endswith("of the sum.")
        direct.locator("button.more >> nth=0").click()
        assert words.count() > 12


class TestWords:
    def test_words_of_a_topic_are_marked_in_its_documents(
        self, open_page: Open, reports: Reports
    ) -> None:
        page = open_page(reports["newswire"], "#unit=Z1.0")
        page.wait_for_selector(f"{PANEL} .quote")
        words = page.locator(f"{PANEL} .feature bdi").all_text_contents()
        for quote in page.locator(f"{PANEL} .quote").all():
            marked = quote.locator("mark.listed").all_text_contents()
            assert marked
            assert {word.lower() for word in marked} <= set(words)


class TestList:
    def test_sorted_filtered_and_saved(
        self, open_page: Open, reports: Reports, tmp_path: Path
    ) -> None:
        page = open_page(reports["newswire"], "#view=list")
        tree = newswire.tree()
        rows = page.locator("table.units tbody tr")
        assert rows.count() == min(100, tree.n_latents)
        page.click(".segments button:has-text('top')")
        assert rows.count() == tree.layer_sizes[-1]
        shares = [
            float(text.removesuffix(" %"))
            for text in rows.locator("td.num:nth-child(3)").all_text_contents()
        ]
        assert shares == sorted(shares, reverse=True)
        page.click(".sorter:text-is('Topic')")
        names = rows.locator(".two-lines bdi:first-child").all_text_contents()
        assert names == sorted(names)
        with page.expect_download() as download:
            page.click("text=Download as CSV")
        download.value.save_as(tmp_path / "topics.csv")
        frame = pd.read_csv(tmp_path / "topics.csv", encoding="utf-8-sig")
        assert set(frame["topic"]) == set(tree.latent_names)
        assert frame["share"].between(0, 1).all()


class TestCharts:
    def test_labels_do_not_overprint(
        self, open_page: Open, reports: Reports, size: dict[str, int]
    ) -> None:
        page = open_page(reports["newswire-network"], "#view=training", **size)
        page.wait_for_selector(".chart svg")
        for chart in page.locator(".chart").all():
            texts = chart.locator("text, figcaption h2, figcaption li").evaluate_all(BOXES)
            assert len(texts) > 4
            assert overlapping(texts) == []
            heights = [box[3] - box[1] for box in texts]
            assert min(heights) > 9  # large enough to read
