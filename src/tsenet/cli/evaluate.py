"""``tsenet evaluate``: how good the predictions of a model are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from tsenet.cli import _options as options
from tsenet.cli._console import open_progress, print_result
from tsenet.cli._options import option
from tsenet.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["evaluate"]

Scores = dict[str, float]

# More classes than this make no matrix to read; longer names are cut in tables.
_MOST_COLUMNS = 20
_WIDEST = 24


def evaluate(
    model: options.Model,
    data: options.Data,
    target: Annotated[
        list[str] | None, option("COLUMN", "Column of the truth; default: as in the model.")
    ] = None,
    unlabeled: options.Unlabeled = None,
    encoding: options.Encoding = None,
    no_header: options.NoHeader = False,
    jobs: options.Jobs = None,
    config: options.Config = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare predictions with the truth and print how good they are; rows without a truth are left out.

    Prints accuracy and log loss, and for each class precision, recall, F1 and AUC, and the confusion matrix; for
    numbers R2, RMSE and MAE.
    """
    from tsenet.cli._model_data import has_target, load_model, model_input, read_file, truth_of

    fitted = load_model(model, jobs)
    names = target or (fitted.source_ or {}).get("targets")
    if not names:
        raise DataError(f"{model} does not say which column holds the truth: give --target")
    with open_progress(quiet) as progress:
        file = read_file(data, progress, encoding, no_header)
        truth = truth_of(fitted, file, names, unlabeled)
        X = model_input(fitted, file)
    known = has_target(truth)
    truth, predicted = truth[known], fitted.predict(X)[known]
    fields: dict[str, Any] = {"rows": int(known.sum()), "unlabelled": int((~known).sum())}
    tables: list[str] = []
    if not hasattr(fitted, "classes_"):
        scores, of_targets = _number_scores(truth, predicted, names)
    elif truth.ndim == 2:
        scores, of_targets = _label_scores(truth, predicted, fitted.predict_proba(X)[known], names)
    else:
        classes, shares = fitted.classes_.tolist(), fitted.predict_proba(X)[known]
        fields["unknown"] = sum(value not in classes for value in truth)
        scores, of_classes, matrix = _class_scores(truth, predicted, shares, classes)
        labels, counts = matrix.columns.tolist(), matrix.to_numpy().tolist()
        fields |= {"classes": of_classes, "confusion_matrix": {"classes": labels, "counts": counts}}
        tables += [_shown("class", of_classes), _shown_matrix(matrix)]
    if truth.ndim == 2:
        fields["targets"] = of_targets
        tables += [_shown("target", of_targets)]
    lines = [
        f"{name:<10} {fields[name]:,}"
        for name in ("rows", "unlabelled", "unknown")
        if fields.get(name)
    ]
    lines += [f"{name:<10} {value:.4f}" for name, value in scores.items()]
    fields |= {name.replace(" ", "_"): value for name, value in scores.items()}
    print_result(as_json, fields, *lines, *(f"\n{table}" for table in tables))


def _class_scores(
    truth: NDArray[Any], predicted: NDArray[Any], shares: NDArray[Any], classes: list[Any]
) -> tuple[Scores, dict[str, Scores], pd.DataFrame]:
    """Scores of all rows, scores of each class, and the confusion matrix with the true classes in rows."""
    import numpy as np
    import pandas as pd
    from sklearn import metrics

    true, answers = np.array(list(map(str, truth))), np.array(list(map(str, predicted)))
    labels = list(map(str, classes))
    unknown = sorted(set(true.tolist()) - set(labels))
    share_of = dict(zip(labels, shares.T, strict=True))
    scores = {"accuracy": float((true == answers).mean())}
    if not unknown:
        of_truth = shares[np.arange(len(true)), [labels.index(label) for label in true]]
        scores["log loss"] = float(-np.log(np.maximum(of_truth, np.finfo(float).eps)).mean())
    labels += unknown
    of_classes = {
        label: _binary_scores(
            true == label, answers == label, share_of.get(label, 0 * shares[:, 0])
        )
        for label in labels
    }
    counts = metrics.confusion_matrix(true, answers, labels=labels)
    return scores, of_classes, pd.DataFrame(counts, index=labels, columns=labels)


def _label_scores(
    truth: NDArray[Any], predicted: NDArray[Any], shares: NDArray[Any], names: list[str]
) -> tuple[Scores, dict[str, Scores]]:
    """Scores of all known labels, and of each target on the rows in which it is known."""
    import numpy as np

    known = ~np.isnan(truth)
    of_targets = {
        name: _binary_scores(truth[rows, k] == 1, predicted[rows, k] == 1, shares[rows, k])
        for k, (name, rows) in enumerate(zip(names, known.T, strict=True))
    }
    areas = [scores["AUC"] for scores in of_targets.values() if not np.isnan(scores["AUC"])]
    scores = {"accuracy": float((predicted == truth)[known].mean())}
    return {**scores, **({"mean AUC": float(np.mean(areas))} if areas else {})}, of_targets


def _binary_scores(true: NDArray[Any], answers: NDArray[Any], shares: NDArray[Any]) -> Scores:
    """Scores of one class against all others; AUC is NaN if all rows are on one side."""
    from sklearn import metrics

    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        true, answers, average="binary", zero_division=0
    )
    both = 0 < true.sum() < true.size
    area = float(metrics.roc_auc_score(true, shares)) if both else float("nan")
    scores = {"precision": float(precision), "recall": float(recall), "F1": float(f1), "AUC": area}
    return {**scores, "rows": int(true.sum())}


def _number_scores(
    truth: NDArray[Any], predicted: NDArray[Any], names: list[str]
) -> tuple[Scores, dict[str, Scores]]:
    """Mean scores of the targets, and those of each on the rows in which it is known."""
    import numpy as np
    import pandas as pd
    from sklearn import metrics

    of_targets = {}
    columns = zip(truth.reshape(len(truth), -1).T, predicted.reshape(len(truth), -1).T, strict=True)
    for name, (true, answers) in zip(names, columns, strict=True):
        known = ~np.isnan(true)
        pair = true[known], answers[known]
        of_targets[name] = {
            "R2": float(metrics.r2_score(*pair)) if known.sum() > 1 else float("nan"),
            "RMSE": float(metrics.root_mean_squared_error(*pair)) if known.any() else float("nan"),
            "MAE": float(metrics.mean_absolute_error(*pair)) if known.any() else float("nan"),
            "rows": int(known.sum()),
        }
    means = pd.DataFrame(of_targets).T.mean().drop("rows").to_dict()
    return means, of_targets


def _shown(head: str, scores: dict[str, Scores]) -> str:
    """A table to read, with a line for each class or target."""
    import pandas as pd

    table = pd.DataFrame(list(scores.values()), index=list(map(_cut, scores)))
    return str(table.rename_axis(columns=head).to_string(float_format="{:.4f}".format, na_rep="-"))


def _shown_matrix(matrix: pd.DataFrame) -> str:
    """The confusion matrix, or where to find it if it is too wide."""
    if len(matrix) > _MOST_COLUMNS:
        return f"confusion matrix of {len(matrix)} classes: see --json"
    title = "confusion matrix (rows: true class, columns: predicted class)"
    return f"{title}\n{matrix.rename(_cut).rename(columns=_cut).to_string()}"


def _cut(name: str) -> str:
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 1]}…"
