"""The README's picture: a tree of topics, the network on it, and the class that each topic's unit votes for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, Stroke

__all__ = ["draw", "fit"]

CLASSES = ("world", "sports", "business", "science")
N_ROWS, N_LABELS = 12_000, 400
N_TOPICS = 60  # of the lowest level
N_ABOVE, N_BELOW, N_WORDS = (
    4,
    3,
    4,
)  # shown: topics above, topics below each of them, words of a topic
#: Okabe and Ito's colours, one a class; the others are of text, of links of the tree and of added links.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
INK, TREE, ADDED = "#26323c", "#4c5a66", "#c3cad0"
WORDS, BELOW, ABOVE, OUTPUT = 2.3, 3.6, 6.6, 9.6  # columns of the picture

Place = tuple[float, float]


def fit(rows: Any) -> tuple[Any, Any, Any]:
    """Learn topics without labels and a network on them with a few; return topics, described units and the network.

    Parameters
    ----------
    rows : reproduce.data.Rows
        Of AG's News.
    """
    import tsenet
    from tsenet.explain import describe_units

    drawn = np.random.default_rng(0).permutation(len(rows.X))[:N_ROWS]
    texts = [rows.X[i] for i in drawn]
    labels = np.array(CLASSES, object)[np.asarray(rows.y)[drawn].astype(int) - 1]
    labels[N_LABELS:] = None

    topics = tsenet.TopicModel(n_topics=N_TOPICS, random_state=0).fit(texts)
    network = tsenet.TSENetClassifier.informed(skeleton=topics, random_state=0)
    network.fit(texts, labels)
    return topics, describe_units(network, texts), network


def draw(topics: Any, units: Any, network: Any) -> Figure:
    """Draw the largest topics with their words, the links of the tree and the added ones, and the votes."""
    table = topics.topics_.set_index("id")  # a unit has its topic's label as its name
    votes = {unit.name: np.array(unit.classes) for unit in units.units if unit.classes is not None}
    shown = {}
    words: dict[str, list[str]] = {}
    for above in table[table["level"] == 2].nlargest(N_ABOVE, "share").itertuples():
        below = table[table["parent"] == above.Index].nlargest(N_BELOW, "share")
        shown[str(above.label)] = below["label"].tolist()
        for topic in below.itertuples():
            words[str(topic.label)] = [word for word, _ in topic.words[:N_WORDS]]
    places = _places(shown)
    n_rows = len(places) - N_ABOVE
    best = {name: int(votes[name].argmax()) for name in places}
    # classes stand in the order of the units that vote for them, so that few lines cross
    voters = {k: [places[name][1] for name in places if best[name] == k] for k in range(4)}
    order = sorted(voters, key=lambda k: -float(np.mean(voters[k] or [0])))
    heights = np.linspace(n_rows - 2, 1, len(order))
    outputs = {k: (OUTPUT, float(height)) for k, height in zip(order, heights, strict=True)}

    figure = Figure(figsize=(11.5, 6), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(-0.2, OUTPUT + 1.2), ylim=(-1.2, n_rows + 0.4))
    axes.axis("off")
    _draw_links(axes, places, words, shown, network, units)
    strongest = {
        lowest: max(votes[name].max() for name in places if (name in words) == lowest)
        for lowest in (True, False)
    }
    for name, place in places.items():
        share = votes[name].max() / strongest[name in words]
        style = {"color": COLOURS[best[name]], "linewidth": 0.6 + 4 * share}
        _line(axes, place, outputs[best[name]], **style, alpha=0.35 if name in words else 0.7)
    for name, place in places.items():
        size = 11 if name in words else 17
        axes.plot(*place, "o", markersize=size, color=COLOURS[best[name]], zorder=4)
        if name in words:
            _write(axes, (WORDS, place[1]), ", ".join(words[name]), ha="right")
        else:
            _write(axes, (place[0], place[1] + 0.62), name, ha="center", weight="bold")
    for k, place in outputs.items():
        axes.plot(*place, "o", markersize=19, color=COLOURS[k], zorder=4)
        style = {"color": COLOURS[k], "weight": "bold", "size": 12}
        _write(axes, (place[0] + 0.28, place[1]), units.class_names[k], **style)
    _draw_heads(axes, n_rows, network)
    return figure


def _places(shown: Mapping[str, list[str]]) -> dict[str, Place]:
    """Where each topic stands: those below in rows, those above in the middle of theirs."""
    heights = iter(range(sum(map(len, shown.values())) - 1, -1, -1))
    places: dict[str, Place] = {}
    for above, below in shown.items():
        places |= {name: (BELOW, float(next(heights))) for name in below}
        places[above] = (ABOVE, float(np.mean([places[name][1] for name in below])))
    return places


def _draw_links(
    axes: Axes,
    places: Mapping[str, Place],
    words: Mapping[str, list[str]],
    shown: Mapping[str, list[str]],
    network: Any,
    units: Any,
) -> None:
    """Draw what each unit reads: the words or topics of its own in the tree, and those that expansion added."""
    links = [
        set(zip(layer.upper_ends().tolist(), layer.indices.tolist(), strict=True))
        for layer in network.wiring_.layers
    ]
    number = {unit.name: k for level in (1, 2) for k, unit in enumerate(units.level(level))}
    column = {name: k for k, name in enumerate(network.vectorizer_.get_feature_names_out())}

    def link(start: Place, end: Place, own: bool) -> None:
        style = {"color": TREE, "linewidth": 1.4} if own else {"color": ADDED, "linewidth": 1}
        _line(axes, start, end, **style, zorder=2 if own else 1)

    for below, place in places.items():
        if below not in words:
            continue
        start = (WORDS + 0.08, place[1])
        for other in words:
            read = [(number[other], column[word]) in links[0] for word in words[below]]
            if other == below or any(read):
                link(start, places[other], other == below)
        for above, own in shown.items():
            if below in own or (number[above], number[below]) in links[1]:
                link(place, places[above], below in own)


def _write(axes: Axes, place: Place, text: str, **style: Any) -> None:
    outline = [Stroke(linewidth=3, foreground="white"), Normal()]
    look = {"va": "center", "color": INK, "size": 10.5, "path_effects": outline, "zorder": 5}
    axes.text(*place, text, **{**look, **style})


def _line(axes: Axes, start: Place, end: Place, **style: Any) -> None:
    """Draw a line that leaves and arrives level."""
    share = np.linspace(0, 1, 50)
    height = start[1] + (end[1] - start[1]) * share**2 * (3 - 2 * share)
    axes.plot(
        start[0] + (end[0] - start[0]) * share,
        height,
        solid_capstyle="round",
        **{"zorder": 1, **style},
    )


def _draw_heads(axes: Axes, n_rows: int, network: Any) -> None:
    """Say what each column is, and how many units it has, and explain the lines."""
    n_words, n_below, n_above = network.wiring_.layer_sizes
    heads = {
        WORDS - 1: f"{n_words:,} words",
        BELOW: f"{n_below} topics\n= {n_below} units",
        ABOVE: f"{n_above} topics above\n= {n_above} units",
        OUTPUT + 0.2: "classes",
    }
    for x, text in heads.items():
        _write(axes, (x, n_rows + 0.1), text, ha="center", weight="bold", size=11)
    keys = {
        "tree of topics, learned without labels": {"color": TREE, "linewidth": 1.4},
        "links added by expansion": {"color": ADDED, "linewidth": 1},
        f"what a unit votes for, from {N_LABELS} labels": {"color": COLOURS[0], "linewidth": 4},
    }
    handles = [Line2D([], [], label=label, **style) for label, style in keys.items()]
    axes.legend(handles=handles, loc="lower center", ncols=3, frameon=False, fontsize=10.5)
