"""The opening pictures of four results pages: bars whose lengths and labels are cells of the page's own tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from benchmarks.bars import Bar, Panel, Picture, figure
from benchmarks.report import PAGES

__all__ = ["PICTURES", "Table", "digest", "draw", "read", "tables"]


@dataclass(frozen=True)
class Table:
    """A Markdown table: its head, and its lines cell by cell without the marks of bold type."""

    head: list[str]
    lines: list[list[str]]

    def line(self, name: str) -> list[str]:
        """The line whose first cell is ``name``."""
        for line in self.lines:
            if line[0] == name:
                return line
        raise SystemExit(f"the picture needs a line {name!r}, which the table no longer has")

    def column(self, name: str) -> list[str]:
        """The cells below a head; an empty one repeats the one above it."""
        cells: list[str] = []
        for line in self.lines:
            cells.append(line[self.head.index(name)] or cells[-1])
        return cells


def tables(text: str) -> dict[str, list[Table]]:
    """The tables of a page, under the last heading or mark of a command (``<!-- name -->``) above each."""
    found: dict[str, list[Table]] = {}
    place, before = "", ""
    for line in text.split("\n"):
        if line.startswith("|"):
            cells = [cell.strip().replace("**", "") for cell in line.strip("|").split("|")]
            if not before.startswith("|"):
                found.setdefault(place, []).append(Table(cells, []))
            elif set("".join(cells)) - set(":-"):  # not the rule below the head
                found[place][-1].lines.append(cells)
        elif line.startswith(("#", "<!--")):
            place = line.strip("#<!-> ")
        before = line
    return found


def _skeleton(page: dict[str, list[Table]]) -> Picture:
    planted = page["planted"][0]
    titles = {
        "structure, CPU s": ("Learning the structure", "CPU seconds"),
        "EM, CPU s": ("EM", "CPU seconds"),
        "peak memory, GB": ("Peak memory", "GB"),
        "ARI, level 1": ("Groups found, level 1", "adjusted Rand index (1: the same grouping)"),
    }
    panels = []
    for name, (title, unit) in titles.items():
        _, java, ours = planted.line(name)
        panels.append(Panel(title, unit, [Bar("tsenet", ours, True), Bar("Java program", java)]))
    return Picture("A planted tree of 1,000 words: tsenet beside the Java program", panels, 2)


def _network(page: dict[str, list[Table]]) -> Picture:
    one_thread, units = page["network"][0], page["Several units per latent"][0]
    fit = page["fit"][0]
    step = []
    for adam in ("default", "fused"):
        step.append(Bar(f"torch's {adam} Adam"))
        for net in ("FNN 512", "FNN 1024-1024", "masked dense"):
            step.append(Bar(net, one_thread.line(f"… {net}, torch's {adam} Adam, takes ×")[-1]))
    other = [Bar("prediction on text")]
    for n in (1, 512):
        cell = one_thread.line(f"inference, batch {n}: FNN 1024-1024 takes ×")[-1]
        other.append(Bar(f"FNN 1024-1024, batch {n}", cell))
    other.append(Bar("training step on a dense table"))
    for net in ("FNN 512×2", "FNN 1024×2"):
        other.append(Bar(net, one_thread.line(f"… {net} takes ×")[-1]))
    more = []
    for line, after in zip(units.lines, units.column("after"), strict=True):
        if line[0].startswith("text"):
            more.append(Bar(line[0].removeprefix("text, ").removesuffix(": step, CPU ms")))
        elif line[0].startswith("… FNN"):
            more.append(Bar(line[0].removeprefix("… ").removesuffix(" takes ×"), after))
    whole = []
    columns = (fit.column(name) for name in ("", "labels", "fit, CPU s", "LR"))
    for corpus, labels, ours, rival in zip(*columns, strict=True):
        whole += [Bar(f"{corpus}, {labels} labels"), Bar("TSE-Net", ours, True)]
        whole.append(Bar("logistic regression", rival))
    times, backbone = (f"CPU time, × the {who}'s (dashed line)" for who in ("TSE-Net", "Backbone"))
    panels = [
        Panel("A training step on text", times, step, 1),
        Panel("A step of a Backbone, k units per latent", backbone, more, 1),
        Panel("Prediction, and a dense table", times, other, 1),
        Panel("A whole fit", "CPU seconds", whole),
    ]
    return Picture("CPU time of a TSE-Net beside dense networks and logistic regression", panels, 2)


def _scale(page: dict[str, list[Table]]) -> Picture:
    runs = page["scale-out"][0]
    rows, ways, cpu = (runs.column(name) for name in ("rows", "way", "CPU"))
    here, worker = (runs.column(name) for name in ("peak here, GB", "peak worker, GB"))
    compared = [k for k, n in enumerate(rows) if n == rows[0]]
    growing = [k for k, way in enumerate(ways) if way == "1 worker"]
    names = {"memory": "in memory", "streamed": "stream of shards"}

    def by_way(cells: list[str]) -> list[Bar]:
        return [Bar(names.get(ways[k], ways[k]), cells[k], ways[k] != "memory") for k in compared]

    growth = [Bar(f"{rows[k]} documents", cpu[k], True) for k in growing]
    memory = []
    for k in growing:
        memory.append(Bar(f"{rows[k]} documents"))
        memory += [Bar("main process", here[k], True), Bar("worker", worker[k], True)]
    panels = [
        Panel(f"{rows[0]} documents: CPU", "CPU seconds", by_way(cpu)),
        Panel(f"{rows[0]} documents: memory", "peak of the main process, GB", by_way(here)),
        Panel("One worker, more documents: CPU", "CPU seconds", growth),
        Panel("One worker, more documents: memory", "peak, GB", memory),
    ]
    return Picture(
        "Structure and expansion: documents that stay on disk beside documents in memory", panels, 2
    )


def _topics(page: dict[str, list[Table]]) -> Picture:
    table = page["topics"][0]
    keys = list(zip(*(table.column(name) for name in ("corpus", "topics", "method")), strict=True))
    shown = {
        "w10 held out": ("Coherence, held out", "NPMI within 10 words"),
        "LR held out": ("Labels, held out", "accuracy of LR"),
        "coverage": ("Coverage", "share of documents"),
        "CPU s": ("Time", "CPU seconds"),
        "MB": ("Peak memory", "MB"),
    }
    panels = []
    for name, (title, unit) in shown.items():
        bars: list[Bar] = []
        last: tuple[str, str] | None = None
        for (corpus, topics, method), cell in zip(keys, table.column(name), strict=True):
            if (corpus, topics) != last:
                bars.append(Bar(f"{corpus}, {topics} topics"))
            bars.append(Bar(method, cell, method == "tsenet"))
            last = (corpus, topics)
        panels.append(Panel(title, unit, bars))
    return Picture("TopicModel (tsenet) beside other topic models", panels, len(panels), True)


PICTURES: dict[str, Callable[[dict[str, list[Table]]], Picture]] = {
    "network": _network,
    "scale": _scale,
    "skeleton": _skeleton,
    "topics": _topics,
}


def read(page: str) -> Picture:
    """What the picture of a page shows, by the page's tables."""
    return PICTURES[page](tables((PAGES / f"{page}.md").read_text("utf-8")))


def draw(page: str) -> None:
    """Draw the picture of a page into docs/results; it names what it shows by :func:`digest`."""
    shown = read(page)
    # Without the name of matplotlib's version bytes depend on the tables alone.
    metadata = {"Software": None, "Description": digest(shown)}
    figure(shown).savefig(PAGES / f"{page}.png", dpi=130, metadata=metadata)


def digest(picture: Picture) -> str:
    """Tells whether a stored picture shows what its page says now, whichever matplotlib drew it."""
    return sha256(repr(picture).encode()).hexdigest()
