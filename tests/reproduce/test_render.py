"""Markdown, CSV and PNG: what is in them, and that they are written whole."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from matplotlib.image import imread

from reproduce import figures, render
from reproduce.cells import Cell, Measured
from reproduce.runs import Result, Run
from reproduce.stats import Spread


def measured(tests: list[float | None], version: str = "1") -> Measured:
    cell = Cell("e", "digits", "fnn", "FNN", "fnn", {"dropout": 0.5}, (({}, {}),))
    finals = tuple(
        (
            Run("e", "digits", "fnn", {}, seed),
            Result(0.5, test, 1_000, 3_600.0, 1.0, {"tsenet": version}),
        )
        for seed, test in enumerate(tests)
    )
    tried = (({"hidden": [8, 8]}, 0.75), ({"hidden": [4]}, None), ({"hidden": [2]}, 0.25))
    return Measured(cell, {"hidden": [8, 8]}, tried, finals)


@pytest.mark.parametrize(
    ("found", "metric", "text"),
    [
        (Spread(0.91614, 0.00012, 3), "accuracy", "91.61 % ± 0.01"),
        (Spread(0.80101, 0.00171, 3), "auc", "0.8010 ± 0.0017"),
        (Spread(0.5, None, 1), "accuracy", "50.00 %"),
        (None, "auc", "–"),
    ],
)
def test_scores_read_as_in_the_paper(found: Spread | None, metric: str, text: str) -> None:
    assert render.shown(found, metric) == text


def test_small_forms() -> None:
    assert render.counted(338_123) == "338 K"
    assert render.counted(123) == "0.1 K"
    assert render.counted(1_730_000) == "1.73 M"
    assert render.counted(None) == "–"
    assert render.difference(-0.0123, "accuracy") == "−1.23"
    assert render.difference(0.0123, "auc") == "+0.0123"
    assert render.p_value(0.0004) == "< 0.001"
    assert render.p_value(0.0412) == "0.041"
    assert render.p_value(None) == "–"
    assert render.told({"hidden": [8, 8], "dropout": 0.2}) == "dropout 0.2, hidden 8-8"
    assert render.told({"start": {"a": 1}}) == "defaults"


def test_tables_line_up() -> None:
    text = render.markdown_table(["method", "n"], [["a|b", 1], ["long name", 22]])
    assert text.splitlines() == [
        "| method    |   n |",
        "| --------- | --: |",
        "| a\\|b      |   1 |",
        "| long name |  22 |",
    ]


def test_what_was_chosen_is_told() -> None:
    text = render.chosen_table([measured([0.5])])
    assert "| digits   | FNN    |          3 | hidden 8-8 |     0.7500 | 0.2500 |" in text
    assert "Nothing was chosen" in render.chosen_table([Measured(measured([0.5]).cell)])


def test_the_origin_is_told() -> None:
    both = [measured([0.5, None]), measured([0.5], version="2")]
    text = render.provenance(both, "python -m reproduce table3", {"dbpedia": "no file"})
    assert "`python -m reproduce table3`" in text
    assert "3 final runs" in text
    assert "6 runs to choose" in text
    assert "3.00 CPU hours" in text
    assert "1 final runs diverged" in text
    assert "Versions: tsenet 1 (2 runs)" in text
    assert "Versions: tsenet 2 (1 runs)" in text
    assert "Left out: dbpedia: no file" in text


def test_a_report_becomes_files(tmp_path: Path) -> None:
    points = [figures.Point(10, 0.5, 0.1), figures.Point(100, 0.9, None)]
    panels = {"digits": [figures.Curve("FNN", points, 0), figures.Curve("LR", points[:1], 1)]}
    report = render.ExperimentReport(
        "table",
        "A title",
        ("text", render.markdown_table(["a"], [[1]])),
        {"": (["a", "b"], [[1, "x,y"]]), "-runs": render.runs_csv([measured([0.5])])},
        {"": figures.curves(panels, "x", "y"), "-bars": figures.bars(BARS, "millions")},
    )
    paths = render.write(report, tmp_path / "new")
    assert [path.name for path in paths] == [
        "table.md",
        "table.png",
        "table-bars.png",
        "table.csv",
        "table-runs.csv",
    ]
    page = paths[0].read_text("utf-8")
    assert page.startswith(
        "# A title\n\n![A title](table.png)\n\n![A title](table-bars.png)\n\ntext\n"
    )
    assert "![A title](table.png)" in page
    assert list(csv.reader(io.StringIO(paths[3].read_text("utf-8")))) == [["a", "b"], ["1", "x,y"]]
    runs = list(csv.DictReader(io.StringIO(paths[4].read_text("utf-8"))))
    assert runs[0]["test"] == "0.500000"
    assert runs[0]["chosen"] == '{"hidden": [8, 8]}'
    for path in paths[1:3]:
        assert imread(path).std() > 0.01  # something is drawn
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(
        path.name for path in paths
    )


BARS = {"Tox21": {"FNN": {"a": 2.0, "b": 1.0}, "TSE-Net": {"a": 0.5}}, "text": {"FNN": {"c": 1.0}}}


def test_pictures_depend_on_the_figures_alone(tmp_path: Path) -> None:
    for name in ("one", "two"):
        report = render.ExperimentReport(name, "t", (), {}, {"": figures.bars(BARS, "y")})
        render.write(report, tmp_path)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_a_curve_shows_its_points_in_order_with_a_band() -> None:
    points = [figures.Point(100, 0.9, 0.05), figures.Point(10, 0.5, 0.1)]
    figure = figures.curves({"digits": [figures.Curve("FNN", points, 0)]}, "labels", "accuracy")
    (axes,) = figure.axes
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [10, 100]  # type: ignore[union-attr]
    assert line.get_ydata().tolist() == [0.5, 0.9]  # type: ignore[union-attr]
    assert axes.get_xscale() == "log"
    (band,) = axes.collections
    low, high = band.get_paths()[0].get_extents().y0, band.get_paths()[0].get_extents().y1
    assert (low, high) == pytest.approx((0.4, 0.95))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["FNN"]


def test_dots_stand_beside_the_papers() -> None:
    own = [figures.Dot("FNN", 0.9, 0.1, 0.95), figures.Dot("LR", 0.8)]
    figure = figures.dots({"digits": own, "ag_news": own[:1]}, "score")
    first, second = figure.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["FNN", "LR"]
    hollow = [line for line in first.lines if line.get_marker() == "D"]
    assert [line.get_xdata()[0] for line in hollow] == [0.95]  # type: ignore[index]
    assert second.get_title() == "ag_news"
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"others", "the paper's"}


def test_many_panels_stand_in_rows_of_four() -> None:
    panels = {str(k): [figures.Dot("FNN", 0.9)] for k in range(6)}
    figure = figures.dots(panels, "score")
    assert [axes.get_title() for axes in figure.axes] == list("012345")
    assert len({round(axes.get_subplotspec().rowspan.start) for axes in figure.axes}) == 2  # type: ignore[union-attr]


def test_twelve_curves_all_look_different() -> None:
    own = [figures.Curve(str(k), [figures.Point(1, 1), figures.Point(2, 2)], k) for k in range(12)]
    (axes,) = figures.curves({"digits": own}, "x", "y").axes
    looks = {
        (line.get_color(), line.get_marker(), line.get_markerfacecolor()) for line in axes.lines
    }
    assert len(looks) == 12


def test_the_lead_follows_the_conclusion() -> None:
    report = render.ExperimentReport(
        "r", "T", ("details",), values={"x": "1 %"}, lead=("| table |",)
    )
    assert report.markdown == "# T\n\n| table |\n\ndetails\n"
    noted = report.with_notes("It is {x}.\nSo.\n\nMore, {y}.\n\n<!-- tables -->\n\nOld.\n")
    assert (
        noted.markdown
        == "# T\n\nIt is 1 %.\nSo.\n\n| table |\n\nMore, *not run*.\n\ndetails\n\nOld.\n"
    )
