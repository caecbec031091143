"""The paper's own numbers, shown next to ours; rivals have the names of :mod:`reproduce.rivals`.

Zhourong Chen, Xiaopeng Li, Nevin L. Zhang: Learning Sparse Deep Feedforward Networks via Tree Skeleton Expansion,
arXiv:1803.06120 (2018), tables 3 and 4.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["INTERPRETABILITY", "PAPER_SHAPES", "PUBLISHED", "TABLE3", "PaperFigure"]


class PaperFigure(NamedTuple):
    """A figure of table 3: accuracy, or area under the curve, its deviation over three runs, and the parameters."""

    score: float
    sd: float
    n_parameters: float


#: The paper's name of a data set of :mod:`reproduce.data`; of Sogou's news other texts are at hand.
PUBLISHED = {
    "paper-ag_news": "ag_news",
    "paper-dbpedia": "dbpedia",
    "paper-yelp": "yelp_review_full",
    "paper-yahoo": "yahoo_answers",
}

#: The dense shapes that the paper's numbers of parameters imply, where no other was chosen.
PAPER_SHAPES = {
    "paper-ag_news": "2048x3",
    "paper-dbpedia": "1024x2-conic",
    "paper-yelp": "512x2",
    "paper-yahoo": "512x2",
    "paper-sogou_c": "1024x4",
}

#: Table 3 by data set and method. The pruned networks have as many parameters as the TSE-Nets.
TABLE3: dict[str, dict[str, PaperFigure]] = {
    "tox21": {
        "fnn": PaperFigure(0.8010, 0.0017, 1.64e6),
        "tsenet-paper": PaperFigure(0.8150, 0.0038, 338e3),
        "backbone-paper": PaperFigure(0.7839, 0.0076, 103e3),
        "pruned@tsenet-paper": PaperFigure(0.7998, 0.0034, 338e3),
    },
    "yelp_review_full": {
        "fnn": PaperFigure(0.5913, 0.0014, 5.38e6),
        "tsenet-paper": PaperFigure(0.5914, 0.0006, 1.73e6),
        "backbone-paper": PaperFigure(0.5863, 0.0013, 613e3),
        "pruned@tsenet-paper": PaperFigure(0.5912, 0.0001, 1.73e6),
    },
    "dbpedia": {
        "fnn": PaperFigure(0.9799, 0.0004, 10.36e6),
        "tsenet-paper": PaperFigure(0.9811, 0.0003, 1.78e6),
        "backbone-paper": PaperFigure(0.9791, 0.0004, 651e3),
        "pruned@tsenet-paper": PaperFigure(0.9811, 0.0002, 1.78e6),
    },
    "sogou_news": {
        "fnn": PaperFigure(0.9612, 0.0006, 13.39e6),
        "tsenet-paper": PaperFigure(0.9609, 0.0006, 1.84e6),
        "backbone-paper": PaperFigure(0.9567, 0.0004, 712e3),
        "pruned@tsenet-paper": PaperFigure(0.9620, 0.0006, 1.84e6),
    },
    "yahoo_answers": {
        "fnn": PaperFigure(0.7184, 0.0007, 5.39e6),
        "tsenet-paper": PaperFigure(0.7142, 0.0006, 1.69e6),
        "backbone-paper": PaperFigure(0.6995, 0.0008, 582e3),
        "pruned@tsenet-paper": PaperFigure(0.7174, 0.0005, 1.69e6),
    },
    "ag_news": {
        "fnn": PaperFigure(0.9161, 0.0001, 28.88e6),
        "tsenet-paper": PaperFigure(0.9139, 0.0003, 1.81e6),
        "backbone-paper": PaperFigure(0.9133, 0.0003, 678e3),
        "pruned@tsenet-paper": PaperFigure(0.9149, 0.0009, 1.81e6),
    },
}

#: Table 4: mean cosine of the word vectors of the units' top ten words.
INTERPRETABILITY: dict[str, dict[str, float]] = {
    "yelp_review_full": {"tsenet-paper": 0.1632, "fnn": 0.1117, "pruned@tsenet-paper": 0.1000},
    "dbpedia": {"tsenet-paper": 0.0609, "fnn": 0.0497, "pruned@tsenet-paper": 0.0553},
    "yahoo_answers": {"tsenet-paper": 0.1729, "fnn": 0.1632, "pruned@tsenet-paper": 0.1553},
    "ag_news": {"tsenet-paper": 0.0531, "fnn": 0.0595, "pruned@tsenet-paper": 0.0561},
}
