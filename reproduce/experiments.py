"""What is measured: data sets × rivals × numbers of labels × seeds, as declarations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reproduce.data import TOX21_LABELS, Part
from reproduce.runs import Cell

__all__ = ["EXPERIMENTS", "Experiment"]

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

    def cells(self) -> Iterator[Cell]:
        """Yield the cells; those of one fold follow each other."""
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
LINEAR = ("logistic", "linear-svc", "complement-nb")
FAMILY = ("tsenet", "tsenet-random", "backbone", "backbone-random")
PAPER = ("tsenet-paper", "tsenet-paper-random", "backbone-paper", "backbone-paper-random")
LINK_RULES = ("context", "balanced")
WIRINGS = ("k-means", "pivot", "shuffle", "random")
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
    "all-labels": Experiment(
        "Text with all labels", TEXT, (*FAMILY, "teacher", "em-bayes", *LINEAR)
    ),
    "tables": Experiment(
        "Tables and images",
        (*TABLES, *IMAGES),
        (*FAMILY, "linear", "mlp", "boosting", "forest", "fnn-512"),
    ),
    "table3": Experiment(
        "Table 3 of the paper",
        ("ag_news", "dbpedia"),
        (
            *(*PAPER, "tsenet-paper:weighting=tfidf", "fnn"),
            *(*(f"{rival}@tsenet-paper" for rival in SIZED), "logistic", "tsenet", "tsenet-random"),
        ),
        reference="tsenet-paper",
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
    "tox21-tasks": Experiment(
        "Tox21, one network for each task",
        tuple(f"tox21/{label}" for label in TOX21_LABELS),
        ("tsenet-paper", "tsenet-paper-random", "backbone-paper", "fnn"),
        reference="tsenet-paper",
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
    "interpretability": Experiment(
        "Table 4 of the paper",
        ("ag_news", "dbpedia"),
        (
            *("tsenet-paper", "tsenet-paper-random", "fnn", "pruned@tsenet-paper"),
            *("tsenet", "tsenet-random", "tsenet:init=random", "nmf"),
        ),
        measure="interpretability",
        reference="tsenet-paper",
    ),
    "pixels": Experiment("Groups of pixels", ("mnist",), ("tree",), measure="pixels"),
}  # fmt: skip
