"""The opening pictures of results pages show the pages' own tables; the conclusions below them say no more."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from benchmarks import __main__ as commands
from benchmarks import pictures, report, topics
from benchmarks.bars import Bar, Picture, number

NUMBER = re.compile(r"−?(?:\d[\d,]*)?\.?\d+")  # a hyphen is no sign: FNN 1024-1024


def page_text(page: str) -> str:
    return (report.PAGES / f"{page}.md").read_text("utf-8")


def cells_of(text: str) -> list[str]:
    lines = [line for line in text.split("\n") if line.startswith("|")]
    return [cell.strip(" *") for line in lines for cell in line.split("|")]


def numbers_in(text: str) -> set[float]:
    return {number(found) for found in NUMBER.findall(text)}


def drawn(picture: Picture) -> list[Bar]:
    return [bar for panel in picture.panels for bar in panel.bars if bar.cell]


def description(path: Path) -> str:
    with Image.open(path) as image:
        return str(image.info["Description"])


@pytest.mark.parametrize("page", pictures.PICTURES)
def test_every_number_drawn_is_a_cell_of_the_page(page: str) -> None:
    bars = drawn(pictures.read(page))
    assert len(bars) >= 8
    assert {bar.cell for bar in bars} <= set(cells_of(page_text(page)))


@pytest.mark.parametrize("page", pictures.PICTURES)
def test_the_stored_picture_shows_the_tables_of_today(page: str) -> None:
    """After a change of the page or of a picture: python -m benchmarks pictures."""
    assert description(report.PAGES / f"{page}.png") == pictures.digest(pictures.read(page))


@pytest.mark.parametrize("page", pictures.PICTURES)
def test_a_page_opens_with_title_picture_and_conclusion(page: str) -> None:
    title, picture, conclusion = page_text(page).split("\n\n")[:3]
    assert re.fullmatch("# .+", title)
    assert re.fullmatch(rf"!\[.+\]\({page}\.png\)", picture)
    assert len(re.findall(r"\.(?=\s|$)", conclusion)) <= 2  # sentences
    assert conclusion[0].isalnum()


@pytest.mark.parametrize("page", pictures.PICTURES)
def test_the_conclusion_has_its_numbers_from_the_tables(page: str) -> None:
    text = page_text(page)
    said = numbers_in(text.split("\n\n")[2])
    assert len(said) >= 8
    assert said <= numbers_in("\n".join(cells_of(text)))


def test_bars_stand_for_the_right_cells() -> None:
    """Each bar beside the line of the page that its name means, found by another way than the pictures'."""
    page = page_text("skeleton")
    structure = re.search(r"^\| structure, CPU s +\| (\S+) +\| +(\S+) \|", page, re.MULTILINE)
    assert structure is not None
    shown = pictures.read("skeleton").panels[0].bars
    assert [bar.cell for bar in shown] == [structure[2], structure[1]]

    line = r"^\| … FNN 512, torch's fused Adam, takes × +\| +\| +(\S+) \|"
    fused = re.search(line, page_text("network"), re.MULTILINE)
    assert fused is not None
    step = pictures.read("network").panels[0].bars
    assert step[[bar.name for bar in step].index("torch's fused Adam") + 1] == Bar(
        "FNN 512", fused[1]
    )

    streamed = re.search(r"^\| 1,000,000 \| streamed .*$", page_text("scale"), re.MULTILINE)
    assert streamed is not None
    cells = [cell.strip() for cell in streamed[0].strip("|").split("|")]
    cpu, memory = (panel.bars[1] for panel in pictures.read("scale").panels[:2])
    assert cpu == Bar("stream of shards", cells[4], ours=True)
    assert memory == Bar("stream of shards", cells[11], ours=True)


def test_tables_are_read_as_they_stand() -> None:
    one = "| a | b |\n|---|--:|\n| k | **1** |\n| | −2 |\n"
    text = f"# A\n\n<!-- x -->\n{one}\n| c |\n|---|\n| 3 |\n<!-- /x -->\n## B\n| d |\n|---|"
    found = pictures.tables(text)
    first, second = found["x"]
    assert (first.column("a"), first.column("b")) == (["k", "k"], ["1", "−2"])
    assert second.lines == [["3"]]
    assert found["B"][0].head == ["d"]
    with pytest.raises(SystemExit, match="needs a line 'z'"):
        first.line("z")
    assert number("−1,234.5") == -1234.5


def test_the_topics_command_writes_what_its_picture_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(job: str, **settings: Any) -> dict[str, float]:
        score = settings["n_topics"] / 1000 * (1 if settings["method"] == "NMF" else -1)
        return dict.fromkeys(topics.COLUMNS, score) | {"topics": settings["n_topics"]}

    monkeypatch.setattr(topics, "in_own_process", measured)
    made = topics.run(["20newsgroups", "ag_news"], ["tsenet", "NMF"], validation=False)
    picture = pictures.PICTURES["topics"](pictures.tables(f"<!-- topics -->\n{made}"))
    assert list(picture.panels[0].bars[:6]) == [
        *(Bar("20 Newsgroups, 25 topics"), Bar("tsenet", "−0.025", ours=True), Bar("NMF", "0.025")),
        *(Bar("20 Newsgroups, 150 topics"), Bar("tsenet", "−0.150", ours=True)),
        Bar("NMF", "0.150"),
    ]
    assert picture.panels[0].bars[6] == Bar("AG's News, 25 topics")


def test_writing_a_table_draws_the_picture_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(report.PAGES / "skeleton.md", tmp_path)
    for module in (report, pictures):
        monkeypatch.setattr(module, "PAGES", tmp_path)
    names = ("ARI, level 1", "structure, CPU s", "EM, CPU s", "peak memory, GB")
    rows = [report.Figure(name, k + 0.5, compared="7") for k, name in enumerate(names)]
    commands._show("planted", report.figures(rows), write=True)
    assert "0.50" in capsys.readouterr().out
    shown = pictures.read("skeleton")
    assert [bar.cell for bar in drawn(shown)] == [
        "1.50",
        "7",
        "2.50",
        "7",
        "3.50",
        "7",
        "0.50",
        "7",
    ]
    assert description(tmp_path / "skeleton.png") == pictures.digest(shown)
