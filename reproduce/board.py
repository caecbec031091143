"""The board that the scoreboard's results make: its tables, its picture, and its figures by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from reproduce import figures, render
from reproduce.runs import Result
from reproduce.scoreboard_methods import SuiteMethod
from reproduce.stats import PairedComparison, compare, spread, standing
from reproduce.suite import SUITE, SuiteEntry

__all__ = ["TIE", "TITLES", "Board", "Setting"]

TIE = 0.5  # points
TITLES = {"text": "Text", "table": "Tables", "image": "Images"}
_LEARNED = ("default", "backbone")  # each has a control over random links


@dataclass(frozen=True)
class Setting:
    """A row of the scoreboard: a data set with a number of labels."""

    entry: SuiteEntry
    n_labels: int | None

    @property
    def title(self) -> str:
        """As in the table."""
        return f"{self.entry.name} {'all' if self.n_labels is None else self.n_labels}"


class Board:
    """Results by setting and method, and the tables made of them."""

    def __init__(self) -> None:
        self._results: dict[tuple[Setting, str], list[Result]] = {}
        self._methods: dict[str, SuiteMethod] = {}

    def add(self, setting: Setting, method: SuiteMethod, result: Result) -> None:
        """Take in a result."""
        self._methods[method.name] = method
        self._results.setdefault((setting, method.name), []).append(result)

    def scores(self, setting: Setting, method: str) -> list[float]:
        """Scores over the seeds, those of diverged runs left out."""
        results = self._results.get((setting, method), [])
        each = (r.validation if r.test is None else r.test for r in results)
        return [100 * score for score in each if score is not None]

    def mean(self, setting: Setting, method: str) -> float | None:
        """Mean score; a negative R² counts as 0."""
        scores = self.scores(setting, method)
        return float(np.mean(np.maximum(scores, 0.0))) if scores else None

    def differences(self, first: str, second: str, settings: Iterable[Setting]) -> list[float]:
        """Means of the first method minus those of the second, or of the best rival, where both are there."""
        found = []
        for setting in settings:
            ours = self.mean(setting, first)
            names = self._rivals() if second == "best rival" else [second]
            theirs = [m for m in (self.mean(setting, name) for name in names) if m is not None]
            if ours is not None and theirs:
                found.append(ours - max(theirs))
        return found

    def tables(self, kind: str, title: str) -> list[str]:
        """The tables of one kind of data; none without results."""
        settings = [s for s in self._settings() if s.entry.kind == kind]
        names = [n for n in self._methods if any(self.scores(s, n) for s in settings)]
        if not names:
            return []
        head = ["data set, labels", *(self._methods[name].title for name in names)]
        body = [[s.title, *(self._shown(s, name) for name in names)] for s in settings]
        full = [s for s in settings if all(self.scores(s, name) for name in names)]
        if full:
            means = [np.mean([self.mean(s, name) or 0.0 for s in full]) for name in names]
            body.append([f"mean of {len(full)}", *(f"{mean:.2f}" for mean in means)])
        cost = [[s.title, *(self._cost(s, name) for name in names)] for s in settings]
        return [
            f"## {title}",
            render.markdown_table(head, body),
            *self._controls(settings),
            *self._comparison(settings, names),
            "Parameters and CPU seconds (a star: the structure, learned once for each seed, is left out):",
            render.markdown_table(head, cost),
        ]

    def values(self) -> dict[str, str]:
        """Figures by name, for texts: ``board:subj@400/backbone`` is a mean in percent.

        With ``:p`` and ``:is`` at the end, how it is beside random links.
        """
        values: dict[str, str] = {}
        for setting, name in self._results:
            key = f"board:{setting.entry.name}@{setting.n_labels or 'all'}/{name}"
            found = spread(self.scores(setting, name))
            values[key] = "–" if found is None else f"{found.mean:.1f}"
            against = self.against_random(setting, name)
            if against is not None:
                values[f"{key}:p"] = render.p_in_text(against.p)
                values[f"{key}:is"] = standing(against.difference, against.p)
        return values | self._summary()

    def _summary(self) -> dict[str, str]:
        """Over the settings of a kind: mean difference from random links and from the best rival, and standings."""
        values: dict[str, str] = {}
        for kind in TITLES:
            settings = [s for s in self._settings() if s.entry.kind == kind]
            for name in _LEARNED:
                found = [self.against_random(s, name) for s in settings]
                known = [one for one in found if one is not None]
                if not known:
                    continue
                key = f"board:{kind}/{name}"
                outcomes = Counter(standing(one.difference, one.p) for one in known)
                mean = float(np.mean([one.difference for one in known]))
                values[f"{key}:mean"] = render.difference(mean, "accuracy")
                for outcome in ("ahead of", "level with", "behind"):
                    values[f"{key}:{outcome.split()[0]}"] = f"{outcomes[outcome]} of {len(known)}"
                rival = self._versus(self.differences(name, "best rival", settings))
                values[f"{key}:rival"] = rival
                for count in dict.fromkeys(s.n_labels for s in settings):
                    alike = [s for s in settings if s.n_labels == count]
                    for second in ("best rival", "start"):
                        leads = self.differences(name, second, alike)
                        place = f"board:{kind}@{count or 'all'}/{name}:{second.split()[-1]}"
                        values[place] = f"{np.mean(leads):+.1f}".replace("-", "−") if leads else "–"
        return values

    def picture(self) -> dict[str, list[figures.Dot]]:
        """Dots for each setting of text, else of all data, with learned and random links: these, and the best rival."""
        panels: dict[str, list[figures.Dot]] = {}
        every = self._settings()
        for setting in [s for s in every if s.entry.kind == "text"] or every:
            if all(self.against_random(setting, name) is None for name in _LEARNED):
                continue
            own = [n for name in _LEARNED for n in (name, f"{name}-random")]
            rivals = [n for n in self._rivals() if self.scores(setting, n)]
            best = max(rivals, key=lambda n: self.mean(setting, n) or 0.0, default=None)
            found = [
                (n, spread(self.scores(setting, n))) for n in (*own, *([best] if best else []))
            ]
            panels[setting.title] = [
                figures.Dot(self._methods[n].title, score.mean, score.sd, kind=_kind(n))
                for n, score in found
                if score is not None
            ]
        return panels

    def against_random(self, setting: Setting, name: str) -> PairedComparison | None:
        """A method minus the same over random links, on test rows; None without both."""
        pair = [self._results.get((setting, n), []) for n in (name, f"{name}-random")]
        return compare(*pair) if all(pair) else None

    def _controls(self, settings: Sequence[Setting]) -> list[str]:
        """Learned minus random links in each setting, with p-values: none without test rows."""
        body = []
        for setting in settings:
            found = [self.against_random(setting, name) for name in _LEARNED]
            if any(found):
                body.append([setting.title, *map(_difference, found)])
        head = ["learned minus random links (p)", "TSE-Net", "Backbone"]
        return [render.markdown_table(head, body)] if body else []

    def csv(self) -> tuple[render.Row, list[render.Row]]:
        """Every setting and method as a row."""
        head = (
            "dataset", "n_labels", "method", "seeds", "mean", "sd", "n_parameters", "cpu_seconds",
        )  # fmt: skip
        rows: list[render.Row] = []
        for (setting, name), results in self._results.items():
            found = spread(self.scores(setting, name))
            rows.append(
                [
                    setting.entry.name,
                    "all" if setting.n_labels is None else setting.n_labels,
                    name,
                    0 if found is None else found.n,
                    "" if found is None else f"{found.mean:.4f}",
                    "" if found is None or found.sd is None else f"{found.sd:.4f}",
                    round(np.mean([r.n_parameters for r in results])),
                    f"{np.mean([r.cpu_seconds for r in results]):.2f}",
                ]
            )
        return head, rows

    def _settings(self) -> list[Setting]:
        places = {name: k for k, name in enumerate(SUITE)}
        every = {setting for setting, _ in self._results}
        return sorted(
            every,
            key=lambda s: (places.get(s.entry.name, -1), s.entry.name, s.n_labels or np.inf),
        )

    def _rivals(self) -> list[str]:
        return [name for name, method in self._methods.items() if not method.own]

    def _pairs(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Which methods are compared: own ones with their controls, with each other, and with the rivals."""
        own = [n for n in names if self._methods[n].own]
        controls = [(n, f"{n}-random") for n in own if f"{n}-random" in names]
        others = [("backbone", "default"), ("default", "start")]
        rivals = ["best rival", *(n for n in names if n not in own)]
        learned = [n for n in own if n.split(":")[0] in _LEARNED]
        varied = [(n, n.split(":")[0]) for n in own if ":" in n and n.split(":")[0] in names]
        return [
            *controls,
            *(pair for pair in others if set(pair) <= set(names)),
            *varied,
            *((n, rival) for n in learned for rival in rivals),
        ]

    def _comparison(self, settings: Sequence[Setting], names: Sequence[str]) -> list[str]:
        counts = list(dict.fromkeys(s.n_labels for s in settings))
        groups: list[tuple[str, list[Setting]]] = [("all settings", list(settings))]
        if len(counts) > 1:
            groups += [
                (
                    "all labels" if n is None else f"{n} labels",
                    [s for s in settings if s.n_labels == n],
                )
                for n in sorted(counts, key=lambda n: n or np.inf)
            ]
        body = []
        for first, second in self._pairs(names):
            cells = [self._versus(self.differences(first, second, own)) for _, own in groups]
            if cells[0] != "–":
                body.append([f"{first} − {second}", *cells])
        if not body:
            return []
        head = ["mean difference (worst; wins/ties/losses)", *(title for title, _ in groups)]
        return [render.markdown_table(head, body)]

    def _versus(self, differences: Sequence[float]) -> str:
        if not differences:
            return "–"
        wins = sum(d >= TIE for d in differences)
        losses = sum(d <= -TIE for d in differences)
        ties = len(differences) - wins - losses
        text = f"{np.mean(differences):+.2f} ({min(differences):+.1f}; {wins}/{ties}/{losses})"
        return text.replace("-", "−")

    def _shown(self, setting: Setting, name: str) -> str:
        found = spread(self.scores(setting, name))
        if found is None:
            return "–"
        return f"{found.mean:.1f}" + ("" if found.sd is None else f" ± {found.sd:.1f}")

    def _cost(self, setting: Setting, name: str) -> str:
        results = self._results.get((setting, name))
        if not results:
            return "–"
        seconds = np.mean([r.cpu_seconds for r in results])
        star = "*" if any(r.extra.get("structure") == "shared" for r in results) else ""
        size = render.counted(float(np.mean([r.n_parameters for r in results])))
        return f"{size}, {seconds:.1f} s{star}"


def _difference(found: PairedComparison | None) -> str:
    if found is None:
        return "–"
    return f"{render.difference(found.difference, 'accuracy')} ({render.p_value(found.p)})"


def _kind(name: str) -> figures.Kind:
    if name in _LEARNED:
        return "learned wiring"
    return "random wiring" if name.removesuffix("-random") in _LEARNED else "others"
