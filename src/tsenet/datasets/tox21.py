"""Tox21: twelve toxic effects of chemical compounds, from DeepTox's feature files or from the structures alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.columns import count_of
from tsenet.data.files import read_data
from tsenet.data.scaling import Scaling
from tsenet.data.table import Table
from tsenet.datasets.cache import Arrays, cached, pack_strings, sha256_of, unpack_strings
from tsenet.datasets.catalog import TOX21_LABELS, Entry
from tsenet.datasets.chemistry import describe_cached
from tsenet.datasets.dataset import DataCard, Dataset, Part
from tsenet.datasets.deeptox import read_deeptox
from tsenet.datasets.places import Found
from tsenet.datasets.split import hold_out, occurs_in
from tsenet.errors import DataError
from tsenet.progress import Progress

__all__ = ["load_tox21", "one_label"]

# Substructures in a smaller share of the training compounds are left out, as in the paper.
_LEAST_SHARE = 0.05
# Descriptors are clipped to these quantiles of the training compounds, because some have extreme outliers.
_TAILS = (0.005, 0.995)
_RECIPE = 1
_SETS = ("training", "validation", "test")


@dataclass(frozen=True, eq=False)
class _Compounds:
    """Compounds before scaling.

    Attributes
    ----------
    values : ndarray of float64, shape (N, V)
        Finite features, selected by the training compounds.
    names : tuple of str, length V
        Names of the features.
    labels : ndarray of float64, shape (N, 12)
        0 or 1, NaN where not measured.
    keys : list of bytes or None, length N
        Equal for equal compounds.
    sets : ndarray of str, length N
        "training", "validation" or "test".
    smiles : tuple of str or None
        The structures, if known.
    recipe : str
        How the features were made.
    notes : tuple of str
        For the card.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...]
    labels: NDArray[np.float64]
    keys: list[bytes | None]
    sets: NDArray[np.str_]
    smiles: tuple[str, ...] | None
    recipe: str
    notes: tuple[str, ...]


def load_tox21(entry: Entry, found: Found, progress: Progress) -> Dataset:
    """Load all twelve labels; NaN where a compound was not measured."""
    if "tox21.csv" in found:
        compounds = _from_structures(found, entry, progress)
    else:
        compounds = _from_deeptox(found, entry, progress)
    rows = [compounds.sets == name for name in _SETS]
    learned = Scaling.learn(Table.of(compounds.values[rows[0]]))
    parts = []
    for chosen in rows:
        scaled = learned.apply(Table.of(compounds.values[chosen])) if chosen.any() else None
        smiles = compounds.smiles
        parts.append(
            Part(
                np.empty((0, len(compounds.names)), np.float32)
                if scaled is None
                else scaled.values,
                compounds.labels[chosen],
                None if smiles is None else tuple(smiles[i] for i in np.flatnonzero(chosen)),
            )
        )
    in_training = occurs_in(
        [key for key, test in zip(compounds.keys, rows[2], strict=True) if test],
        [key for key, test in zip(compounds.keys, rows[2], strict=True) if not test],
    )
    card = DataCard(
        entry.source,
        entry.licence,
        entry.citation,
        recipe=f"{compounds.recipe}; mean 0 and deviation 1 over the training compounds",
        n_train=len(parts[0]),
        n_validation=len(parts[1]),
        n_test=len(parts[2]),
        in_training=in_training,
        notes=compounds.notes,
    )
    return Dataset(
        entry.name, entry.title, "labels", parts[0], parts[1], parts[2],
        compounds.names, TOX21_LABELS, card,
    )  # fmt: skip


def one_label(dataset: Dataset, label: str) -> Dataset:
    """Return one label as two classes, without the compounds that were not measured."""
    column = dataset.class_names.index(label)
    known = {name: ~np.isnan(part.y[:, column]) for name, part in dataset.parts.items()}
    parts = {}
    for name, part in dataset.parts.items():
        kept = part.rows(known[name])
        parts[name] = replace(kept, y=kept.y[:, column].astype(np.int64))
    card = replace(
        dataset.card,
        n_train=len(parts["train"]),
        n_validation=len(parts["validation"]),
        n_test=len(parts["test"]),
        in_training=dataset.card.in_training[known["test"]],
        notes=(*dataset.card.notes, "Duplicates count compounds in training, measured or not."),
    )
    return Dataset(
        f"{dataset.name}/{label}", f"{dataset.title}: {label}", "classes",
        parts["train"], parts["validation"], parts["test"],
        dataset.feature_names, ("inactive", "active"), card,
    )  # fmt: skip


# ---- from structures


def _from_structures(found: Found, entry: Entry, progress: Progress) -> _Compounds:
    """Compute features with RDKit from the SMILES in tox21.csv, whose column ``set`` has the official split."""
    path = found["tox21.csv"]
    columns = {name.replace(".", "-"): values for name, values in read_data(path).columns.items()}
    missing = [name for name in ("smiles", "set", *TOX21_LABELS) if name not in columns]
    if missing:
        raise DataError(f"{path} has no columns {', '.join(missing)}")
    wrong = sorted(set(columns["set"]) - set(_SETS))
    if wrong:
        raise DataError(f"{path}: column 'set' holds {wrong[0]!r}, expected {', '.join(_SETS)}")
    labels = np.array([[_label(v) for v in columns[name]] for name in TOX21_LABELS]).T
    sound, descriptors, bits, names = describe_cached(columns["smiles"], progress)
    rows = np.flatnonzero(sound)
    sets, notes = _with_validation(np.array(columns["set"])[rows], entry, labels[rows])
    train = sets == "training"
    clipped, kept = _clip_tails(descriptors[rows], train)
    bits = bits[rows]
    common = _common(bits, train)
    everywhere = bits[np.flatnonzero(train)][:, common].sum(axis=0) == np.count_nonzero(train)
    common = common[~everywhere]
    chosen = [*kept, *(descriptors.shape[1] + common)]
    n_failed = int(np.count_nonzero(~sound))
    if n_failed:
        notes += (f"{count_of(n_failed, 'molecule')} that RDKit cannot read left out.",)
    identity = columns.get("inchikey", columns["smiles"])
    return _Compounds(
        values=np.hstack([clipped, bits[:, common].toarray().astype(np.float64)]),
        names=tuple(names[column] for column in chosen),
        labels=labels[rows],
        keys=[str(identity[int(row)]).encode() for row in rows],
        sets=sets,
        smiles=tuple(columns["smiles"][int(row)] for row in rows),
        recipe=(
            f"{len(kept)} RDKit descriptors, cut at the quantiles {_TAILS[0]} and {_TAILS[1]}, and "
            f"{len(common):,} substructures (Morgan, atom pairs, torsions, MACCS) present in at least "
            "5 % of the training compounds"
        ),
        notes=notes,
    )


def _clip_tails(
    dense: NDArray[np.float64], train: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return dense features, filled and clipped, that vary among the training rows; and their columns."""
    filled = _fill(dense, train)
    low, high = np.quantile(filled[train], _TAILS, axis=0)
    columns = np.flatnonzero(high > low)
    return np.clip(filled, low, high)[:, columns], columns


def _fill(dense: NDArray[np.float64], train: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Replace missing and infinite numbers by the median of the training rows, or by 0 without one."""
    filled = dense.copy()
    known = np.isfinite(dense)
    for column in np.flatnonzero(~known.all(axis=0)):
        given = dense[train & known[:, column], column]
        filled[~known[:, column], column] = np.median(given) if given.size else 0.0
    return filled


def _common(bits: Any, train: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the columns that are not zero in at least 5 % of the training rows."""
    rows = bits[np.flatnonzero(train)]
    present = np.bincount(rows.indices[rows.data != 0], minlength=bits.shape[1])
    return np.flatnonzero(present >= _LEAST_SHARE * rows.shape[0])


def _with_validation(
    sets: NDArray[np.str_], entry: Entry, labels: NDArray[np.float64]
) -> tuple[NDArray[np.str_], tuple[str, ...]]:
    """Draw the validation set from the training set, if there is no official one."""
    if (sets == "validation").any():
        return sets, (
            "Validation: the challenge's own leaderboard set, not the paper's random 500.",
        )
    train = np.flatnonzero(sets == "training")
    n_held = entry.n_validation if len(train) == entry.n_train else max(1, len(train) // 10)
    drawn = sets.astype("<U10")
    drawn[train[hold_out(labels[train], n_held or 1)]] = "validation"
    return drawn, (f"Validation: {n_held} compounds drawn from the training set.",)


def _label(value: Any) -> float:
    return float(value) if value not in ("", "NA", None) else float("nan")


# ---- from DeepTox's features


def _from_deeptox(found: Found, entry: Entry, progress: Progress) -> _Compounds:
    """Read the features of the paper: all dense ones, and the sparse ones of at least 5 % of the compounds."""

    def build() -> Arrays:
        progress.start("reading DeepTox's features", None)
        read = read_deeptox(found)
        n_test = len(read.ids) - read.n_train
        sets = np.array(["training"] * read.n_train + ["test"] * n_test, dtype="<U10")
        for row, name in enumerate(read.ids[: read.n_train]):
            if read.compounds.get(name, {}).get("set") == "validation":
                sets[row] = "validation"
        sets, notes = _with_validation(sets, entry, read.labels)
        train = sets == "training"
        common = _common(read.sparse, train)
        dense = _fill(read.dense, train)
        values = np.hstack([dense, read.sparse[:, common].toarray().astype(np.float64)])
        chosen = [*range(dense.shape[1]), *(dense.shape[1] + common)]
        keys = [read.compounds.get(name, {}).get("inchikey", "") for name in read.ids]
        progress.finish(f"{len(read.ids):,} compounds, {values.shape[1]:,} features")
        return {
            "values": values,
            "labels": read.labels,
            "n_dense": np.array(dense.shape[1]),
            **pack_strings("sets", sets.tolist()),
            **pack_strings("names", [read.names[column] for column in chosen]),
            **pack_strings("keys", keys),
            **pack_strings("notes", notes),
        }

    files = {name: sha256_of(path) for name, path in found.paths.items()}
    arrays = cached("deeptox", {"recipe": _RECIPE, "files": files}, build)
    values = arrays["values"]
    names = unpack_strings("names", arrays)
    # without InChIKeys, compounds with equal features count as equal
    keys: list[bytes | None] = [
        key.encode() if key else row.tobytes()
        for key, row in zip(unpack_strings("keys", arrays), values, strict=True)
    ]
    n_dense = int(arrays["n_dense"])
    return _Compounds(
        values=values,
        names=names,
        labels=arrays["labels"],
        keys=keys,
        sets=np.array(unpack_strings("sets", arrays)),
        smiles=None,
        recipe=(
            f"DeepTox's {n_dense:,} dense features and {len(names) - n_dense:,} sparse features present "
            "in at least 5 % of the training compounds"
        ),
        notes=unpack_strings("notes", arrays),
    )
