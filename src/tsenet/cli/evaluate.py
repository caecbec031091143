"""``tsenet evaluate``: how good the predictions of a model are."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tsenet.cli import _options as shared
from tsenet.cli._console import shown_progress
from tsenet.cli._results import by_key, say
from tsenet.errors import DataError

__all__ = ["evaluate"]


def evaluate(
    model: shared.Model,
    data: shared.Data,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of the truth; default: as in the model."),
    ] = None,
    unlabeled: shared.Unlabeled = None,
    encoding: shared.Encoding = None,
    no_header: shared.NoHeader = False,
    jobs: shared.Jobs = None,
    config: shared.Config = None,
    as_json: shared.AsJson = False,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Compare predictions with the truth and print how good they are; rows without a truth are left out.

    Prints accuracy and log loss, and for each class precision, recall, F1 and AUC, and the confusion matrix; for
    numbers R2, RMSE and MAE.
    """
    import numpy as np

    from tsenet.cli._model_data import (
        Wanted,
        load_model,
        model_rows,
        read_rows,
        truth_of,
    )
    from tsenet.cli._scores import (
        scores_by_class,
        scores_by_target,
        scores_of,
        shown_confusion,
        shown_scores,
    )

    fitted = load_model(model, jobs)
    names = target or (fitted.source_ or {}).get("targets")
    if not names:
        raise DataError(f"{model} does not say which column holds the truth: give --target")
    with shown_progress(quiet) as progress:
        file = read_rows(data, progress, encoding, no_header)
        truth = truth_of(fitted, file, names, unlabeled)
        known = np.flatnonzero(Wanted(truth, hasattr(fitted, "classes_")).known)
        table = model_rows(fitted, file).take(known)
    scores = scores_of(fitted, table, truth[known])
    counts = {"rows": known.size, "unlabelled": len(truth) - known.size}
    if hasattr(fitted, "classes_") and truth.ndim == 1:
        classes = set(fitted.classes_.tolist())
        counts["unknown"] = sum(value not in classes for value in truth[known])
    width = 10
    lines = [f"{name:<{width}} {count:,}" for name, count in counts.items() if count]
    lines += [f"{name:<{width}} {value:.4f}" for name, value in scores.items()]
    fields: dict[str, Any] = {**counts, **by_key(scores)}
    if truth.ndim == 2:
        fields["targets"] = scores_by_target(fitted, table, truth[known], names)
        lines += ["", *shown_scores("target", fields["targets"])]
    elif hasattr(fitted, "classes_"):
        fields["classes"], labels, matrix = scores_by_class(fitted, table, truth[known])
        fields["confusion_matrix"] = {"classes": labels, "counts": matrix.tolist()}
        lines += [
            "",
            *shown_scores("class", fields["classes"]),
            "",
            *shown_confusion(labels, matrix),
        ]
    say(as_json, fields, *lines)
