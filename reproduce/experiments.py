"""What is measured: data sets × rivals × numbers of labels × seeds, as declarations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from reproduce.data import TOX21_LABELS, Part
from reproduce.grid import BEST, ranking_cells, resolved, weighting_of
from reproduce.networks import GRID
from reproduce.runs import RUNS, Cell, read_runs

__all__ = ["EXPERIMENTS", "QUICK", "Experiment", "quick"]

Labels = tuple[int | None, ...]
HEADLINE_SEEDS = 10


@dataclass(frozen=True)
class Experiment:
    """A block of cells that belong to one table.

    Attributes
    ----------
    title : str
    data, rivals : tuple of str
        Names of :data:`reproduce.data.DATA` and :data:`reproduce.rivals.RIVALS`. A rival whose size another one
        follows (``fnn-sized@tsenet-paper``) comes after it.
    labels : tuple of int or None
        Numbers of labels; None for all.
    n_seeds : int
    headline : tuple of str
        Rivals whose differences from the reference are the page's main comparisons: they have ten seeds.
    headline_labels : tuple of int or None
        The numbers of labels of these comparisons.
    part : {"test", "validation"}
    measure : {"score", "interpretability", "pixels"}
    reference : str
        The rival that the others are compared with.
    shapes : tuple of str
        Dense shapes among which ``best`` in the name of a rival is chosen (:mod:`reproduce.grid`).
    """

    title: str
    data: tuple[str, ...]
    rivals: tuple[str, ...]
    labels: Labels = (None,)
    n_seeds: int = 3
    headline: tuple[str, ...] = ()
    headline_labels: Labels = ()
    part: Part = "test"
    measure: str = "score"
    reference: str = "tsenet"
    shapes: tuple[str, ...] = GRID

    @property
    def dense(self) -> str:
        """The dense network among the rivals."""
        return next(rival for rival in self.rivals if rival.startswith("fnn"))

    def with_rows(self, n_rows: int) -> Experiment:
        """Fit to this many of the training rows."""
        return replace(self, data=tuple(f"{name}@{n_rows}" for name in self.data))

    def all_cells(self, path: Path = RUNS) -> Iterator[Cell]:
        """Yield the cells, with dense shapes ranked and chosen as soon as the runs they follow from are stored."""
        for data in self.data:
            one = replace(self, data=(data,))
            for weighting in sorted({weighting_of(name) for name in self.rivals if BEST in name}):
                yield from ranking_cells(data, weighting, path, self.shapes)
            runs = read_runs(path)
            for cell in one.cells():
                name = resolved(cell.rival, data, runs)
                if name is not None:
                    yield replace(cell, rival=name)

    def cells(self) -> Iterator[Cell]:
        """Yield the cells as declared; those of one fold follow each other."""
        n_headline = max(HEADLINE_SEEDS, self.n_seeds) if self.headline else self.n_seeds
        for data in self.data:
            for seed in range(n_headline):
                main = seed >= self.n_seeds
                for rival in self.headline if main else self.rivals:
                    for labels in self.headline_labels if main else self.labels:
                        yield Cell(data, rival, labels, seed, self.part, self.measure)


TEXT = ("ag_news", "20newsgroups", "stackoverflow", "dbpedia", "subj")
TABLES = ("dna", "spam", "satellite", "sonar", "vowel", "acsf1", "tecator", "ames")
IMAGES = ("digits", "mnist")
PAPER_TEXT = ("paper-ag_news", "paper-dbpedia", "paper-yelp", "paper-yahoo", "paper-sogou_c")
#: As many rows of the two large sets as three seeds take in an hour; all rows: `--data paper-ag_news,paper-dbpedia`.
PAPER_PARTS = tuple(
    f"{name}@12000" if name in ("paper-ag_news", "paper-dbpedia") else name for name in PAPER_TEXT
)
CURVE_ROWS = ("@2500", "@12000", "")
LINEAR = ("logistic", "linear-svc", "complement-nb")
FAMILY = ("tsenet", "tsenet-random", "backbone", "backbone-random")
PAPER = ("tsenet-paper", "tsenet-paper-random", "backbone-paper", "backbone-paper-random")
LINK_RULES = ("context", "balanced")
WIRINGS = ("k-means", "pivot", "shuffle", "random")
SKELETON_ROWS = {
    **dict.fromkeys(("stackoverflow", "dbpedia", "20newsgroups", "ag_news", "paper-yahoo"), 6_000),
    **dict.fromkeys(("subj", "imdb", "paper-yelp"), 5_000),
}
INFORMED_ROWS = {  # sets without stop words, as informed() reads texts
    **dict.fromkeys(("paper-ag_news", "paper-dbpedia", "paper-yahoo"), 6_000),
    **dict.fromkeys(("paper-stackoverflow", "paper-20newsgroups"), 6_000),
    **dict.fromkeys(("paper-yelp", "paper-subj"), 5_000),
}
DENSITIES = (0.005, 0.02, 0.05)
SIZES = (20_000, 100_000)
SIZED = ("fnn-sized", "pruned", "set", "rigl")
SMALL = ("tsenet", "tsenet-random", "fnn-sized", "rigl")
HEADLINE = ("tsenet", "teacher", "em-bayes", "logistic", "minilm", "tsenet-minilm")


EXPERIMENTS: dict[str, Experiment] = {
    "few-labels": Experiment(
        "Text with few labels",
        TEXT,
        (
            *(*FAMILY, "teacher", "em-bayes", "self-training", "svd", "ppmi", *LINEAR),
            *("minilm", "tsenet-minilm"),
        ),
        labels=(100, 400),
        headline=HEADLINE,
        headline_labels=(100,),
    ),
    "fewest-labels": Experiment(
        "Text with one label or a few for each class",
        tuple(f"{data}@6000" for data in ("stackoverflow", "dbpedia", "ag_news", "subj", "imdb")),
        ("tsenet", "logistic", "linear-svc"),
        labels=(20, 50),
        part="validation",
    ),
    "all-labels": Experiment(
        "Text with all labels", TEXT, (*FAMILY, "teacher", "em-bayes", *LINEAR)
    ),
    "tables": Experiment(
        "Tables and images",
        (*TABLES, *IMAGES),
        (*FAMILY, "linear", "mlp", "boosting", "forest", "fnn-512"),
    ),
    "table3": Experiment(
        "Table 3 of the paper: counts for every network",
        PAPER_PARTS,
        (
            *PAPER,
            "fnn:best:weighting=counts",
            "pruned:best:weighting=counts:rounds=1@tsenet-paper",
            "pruned:best:weighting=counts@tsenet-paper",
            "tsenet-informed",
            "tsenet-informed:link_rule=random",
            "tsenet:weighting=counts",
            "tsenet-random:weighting=counts",
            "logistic:weighting=counts",
        ),
        reference="tsenet-paper",
    ),
    "table3-tfidf": Experiment(
        "Table 3 of the paper: tf-idf for every network",
        PAPER_PARTS,
        (
            "tsenet-paper:weighting=tfidf",
            "backbone-paper:weighting=tfidf",
            "fnn:best",
            "pruned:best:rounds=1@tsenet-paper:weighting=tfidf",
            "tsenet-informed:weighting=tfidf",
            "tsenet",
            "tsenet-random",
            "logistic",
        ),
        reference="tsenet-paper:weighting=tfidf",
    ),
    "paper-links": Experiment(
        "Why random links do as well with the paper's recipe",
        ("ag_news",),
        (
            *PAPER,
            *("backbone-paper:link_rule=balanced", "backbone-paper:density=0.005"),
            *("backbone-paper:link_rule=balanced:density=0.005", "backbone-paper-random:density=0.005"),
        ),
        reference="backbone-paper",
    ),
    "tox21": Experiment(
        "Tox21 in Table 3, one network for each task",
        tuple(f"tox21/{label}" for label in TOX21_LABELS),
        # `fnn` chose two layers on each of the twelve tasks; `fnn:best` ranks the grid for each: 252 fits
        (*PAPER[:3], "fnn", "pruned:512x2:rounds=1@tsenet-paper"),
        reference="tsenet-paper",
    ),
    "curves": Experiment(
        "Accuracy by the number of rows",
        tuple(f"paper-{data}{rows}" for data in ("ag_news", "dbpedia") for rows in CURVE_ROWS),
        (*PAPER, "tsenet-informed", "fnn:512x1:weighting=counts"),
        reference="tsenet-paper",
    ),
    "curves-labels": Experiment(
        "Accuracy by the number of labels, with the structure of all rows",
        ("paper-ag_news@12000", "paper-yahoo"),
        (*PAPER, "tsenet-informed", "tsenet-informed:link_rule=random", "fnn:512x1:weighting=counts"),
        labels=(100, 1_000, None),
        reference="tsenet-paper",
    ),
    "transfer": Experiment(
        "One structure for several tasks: its links and weights come from the rows alone",
        ("20newsgroups", "20newsgroups/subjects", *(f"tox21/{label}" for label in TOX21_LABELS)),
        (
            *("tsenet-informed", "tsenet-informed:link_rule=random"),
            *("tsenet-paper", "tsenet-paper-random", "fnn:512x1:weighting=counts"),
        ),
        labels=(1_000,),
        reference="tsenet-informed",
    ),
    "controls": Experiment(
        "What the links of the Backbone are worth",
        ("stackoverflow", "20newsgroups", "dbpedia"),
        (
            "backbone:link_rule=tree",
            *(f"backbone:link_rule={rule}:density={d}" for d in DENSITIES for rule in LINK_RULES),
            *(f"backbone-{wiring}:density={d}" for d in DENSITIES for wiring in WIRINGS),
        ),
        labels=(100,),
        reference="backbone:link_rule=context:density=0.02",
    ),
    "ablations": Experiment(
        "The default with one thing at a time as in the paper",
        ("stackoverflow",),
        (
            "tsenet",
            "tsenet:weighting=counts",
            "tsenet:correlation_test=False",
            "tsenet:structure_samples=10000",
            "tsenet:ties=any",
            "tsenet:link_rule=top-k",
            "tsenet:density=0.05",
            "tsenet:units_per_latent=1",
            "tsenet:skip_units=100",
            "tsenet:linear_skip=False",
            "tsenet:dropout=0.5",
            "tsenet:init=random",
            "tsenet-paper",
        ),
        part="validation",
    ),
    "skeletons": Experiment(
        "The tree that the network grows from",
        tuple(f"{data}@{n}" for data, n in SKELETON_ROWS.items()),
        ("tsenet:skeleton=hlta", "tsenet:skeleton=topics"),
        labels=(100, 400),
        part="validation",
        reference="tsenet:skeleton=hlta",
    ),
    "mechanisms": Experiment(
        "What each mechanism of the default adds where labels are few",
        tuple(f"{data}@{n}" for data, n in SKELETON_ROWS.items()),
        (
            "tsenet",
            "teacher",
            "tsenet:recipe=no-teacher",
            "tsenet:recipe=no-directions",
            "tsenet:recipe=log-odds:units_per_latent=1",
            "tsenet:link_rule=balanced",
            "tsenet:linear_skip=False",
            "tsenet:units_per_latent=1",
            "tsenet:skeleton=topics",
            "tsenet:skeleton=topics:recipe=log-odds:units_per_latent=1",
        ),
        labels=(100, 400),
        part="validation",
    ),
    "mechanisms-tables": Experiment(
        "What principal directions add on tables",
        ("sonar", "vowel", "dna", "spam", "digits", "acsf1", "satellite"),
        ("tsenet", "tsenet:recipe=no-directions"),
        part="validation",
    ),
    "informed": Experiment(
        "The network that starts as P(h|x), against random links, random weights and a dense network",
        tuple(f"{data}@{n}" for data, n in INFORMED_ROWS.items()),
        (
            "tsenet-informed",
            "tsenet-informed:link_rule=random",
            "tsenet-informed:link_rule=random:init=random",
            "fnn:512x1:weighting=counts",
            "fnn:512x1:weighting=counts:held_out=0.2:patience=20:max_epochs=300",
        ),
        labels=(100, 1_000, None),
        part="validation",
        reference="tsenet-informed",
    ),
    "small-networks": Experiment(
        "Accuracy against parameters",
        ("ag_news",),
        (
            "logistic",
            *(
                f"{rival}@{size}"
                for rival in SMALL
                for size in SIZES
            ),
        ),
        reference="logistic",
    ),
    "table4": Experiment(
        "Table 4 of the paper",
        PAPER_PARTS[:4],  # Sogou's words have no vectors
        (
            *(*PAPER, "fnn:best:weighting=counts", "tsenet-informed"),
            "pruned:best:weighting=counts:rounds=1@tsenet-paper",
        ),
        measure="interpretability",
        reference="tsenet-paper",
    ),
    "mnist": Experiment("Groups of pixels", ("mnist",), ("tree",), measure="pixels"),
}  # fmt: skip

#: What `--quick` measures instead: minutes on one core, and the same code.
QUICK: dict[str, Experiment] = {
    "table3": replace(EXPERIMENTS["table3"], data=("paper-ag_news@1500",)),
    "tox21": replace(
        EXPERIMENTS["tox21"],
        data=("tox21/NR-AR@1500", "tox21/SR-p53@1500"),
        rivals=(
            "tsenet-paper",
            "backbone-paper",
            "fnn:512x1",
            "pruned:512x1:rounds=1@tsenet-paper",
        ),
    ),
    "table4": replace(EXPERIMENTS["table4"], data=("paper-ag_news@1500",)),
    "curves": replace(
        EXPERIMENTS["curves"], data=("paper-ag_news@500", "paper-ag_news@1500"), rivals=PAPER
    ),
    "mnist": replace(EXPERIMENTS["mnist"], data=("mnist@1000",)),
}


def quick(name: str) -> Experiment:
    """Return the small form of an experiment: few rows, one seed, three dense shapes."""
    return replace(QUICK[name], n_seeds=1, shapes=("512x1", "512x2", "512x2-conic"))
