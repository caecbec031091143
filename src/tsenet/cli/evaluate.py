"""``tsenet evaluate``: how good the predictions of a model are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tsenet.cli import _shared as cli
from tsenet.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

# More classes than this make no matrix to read.
_MOST_COLUMNS = 20


def evaluate(
    context: typer.Context,
    model: cli.Model,
    data: cli.Data,
    target: Annotated[
        list[str] | None, cli.option("COLUMN", "Column of true values; default: the target of fit.")
    ] = None,
    unlabeled: cli.Unlabeled = None,
    embeddings: cli.Embeddings = None,
    encoding: cli.Encoding = None,
    no_header: cli.NoHeader = False,
    max_size: cli.MaxSize = None,
    jobs: cli.Jobs = None,
    config: cli.Config = None,
    as_json: cli.AsJson = False,
    quiet: cli.Quiet = False,
) -> None:
    """Score a model's predictions against true values.

    Prints accuracy and log loss, precision, recall, F1 and AUC of each class, and the confusion matrix; for numbers,
    R2, RMSE and MAE. Rows without a true value are left out.
    """
    import numpy as np

    from tsenet.cli._model_data import has_target, load_model, model_input, read_file, truth_of

    cli.check_order(context, model, data)
    fitted = load_model(model, jobs)
    names = target or (fitted.source_ or {}).get("targets")
    if not names:
        raise DataError(
            f"{model} does not record which column holds the true values: give --target"
        )
    with cli.open_progress(quiet) as progress:
        file = read_file(data, progress, encoding, no_header, max_size=max_size)
        truth = truth_of(fitted, file, names, unlabeled)
        X = model_input(fitted, file)
    known, vectors = has_target(truth), cli.read_array(embeddings)
    truth, predicted = truth[known], fitted.predict(X, vectors)[known]
    fields: dict[str, Any] = {"rows": int(known.sum()), "unlabelled": int((~known).sum())}
    tables: dict[str, pd.DataFrame] = {}
    if not hasattr(fitted, "classes_"):
        tables["targets"] = _number_scores(truth, predicted, names)
        scores = tables["targets"].drop(columns="rows").mean().to_dict()
    elif truth.ndim == 2:
        tables["targets"] = _binary_scores(
            truth, predicted, fitted.predict_proba(X, vectors)[known], names
        )
        right = (predicted == truth)[~np.isnan(truth)]
        scores = {"accuracy": right.mean(), "mean AUC": tables["targets"]["AUC"].mean()}
    else:
        classes, shares = list(map(str, fitted.classes_)), fitted.predict_proba(X, vectors)[known]
        scores, tables = _class_scores(truth.astype(str), predicted.astype(str), shares, classes)
        fields["unknown"] = int(tables["classes"]["rows"][len(classes) :].sum())
    if truth.ndim == 1:
        tables.pop("targets", None)
    lines = [f"{name:<10} {count:,}" for name, count in fields.items() if count]
    lines += [f"{name:<10} {value:.4f}" for name, value in scores.items()]
    lines += [f"\n{_shown(name, table)}" for name, table in tables.items()]
    fields |= {name.replace(" ", "_"): value for name, value in scores.items()}
    fields |= {name.replace(" ", "_"): table.to_dict("index") for name, table in tables.items()}
    cli.print_result(as_json, fields, *lines)


def _class_scores(
    true: NDArray[Any], answers: NDArray[Any], shares: NDArray[Any], classes: list[str]
) -> tuple[dict[str, float], dict[str, pd.DataFrame]]:
    """Scores of all rows, scores of each class, and the confusion matrix with the true classes in rows."""
    import numpy as np
    import pandas as pd

    unknown = sorted(set(true.tolist()) - set(classes))
    every = [*classes, *unknown]
    scores = {"accuracy": float((true == answers).mean())}
    if not unknown:
        of_truth = shares[np.arange(len(true)), [classes.index(label) for label in true]]
        scores["log loss"] = float(-np.log(np.maximum(of_truth, np.finfo(float).eps)).mean())
    is_true, is_answer = (names[:, None] == every for names in (true, answers))
    shares = np.pad(shares, ((0, 0), (0, len(unknown))))
    matrix = pd.crosstab(true, answers).reindex(index=every, columns=every, fill_value=0)
    return scores, {
        "classes": _binary_scores(is_true * 1.0, is_answer, shares, every),
        "confusion matrix": matrix.rename_axis(index=None, columns=None),
    }


def _binary_scores(
    truth: NDArray[Any], predicted: NDArray[Any], shares: NDArray[Any], names: list[str]
) -> pd.DataFrame:
    """Scores of each column on the rows where it is not NaN; AUC is NaN if all of these are on one side."""
    import numpy as np
    import pandas as pd
    from sklearn import metrics

    rows = {}
    for k, name in enumerate(names):
        known = ~np.isnan(truth[:, k])
        true, answer = truth[known, k] == 1, predicted[known, k] == 1
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(
            true, answer, average="binary", zero_division=0
        )
        both = 0 < true.sum() < true.size
        area = metrics.roc_auc_score(true, shares[known, k]) if both else float("nan")
        rows[name] = {"precision": precision, "recall": recall, "F1": f1, "AUC": area}
        rows[name]["rows"] = true.sum()
    return pd.DataFrame(rows).T.astype({"rows": int})


def _number_scores(truth: NDArray[Any], predicted: NDArray[Any], names: list[str]) -> pd.DataFrame:
    """Scores of each target on the rows in which it is known."""
    import pandas as pd
    from sklearn import metrics

    rows = {}
    pairs = zip(truth.reshape(len(truth), -1).T, predicted.reshape(len(truth), -1).T, strict=True)
    for name, (true, answers) in zip(names, pairs, strict=True):
        known = pd.notna(true)
        pair = true[known], answers[known]
        if known.sum() > 1:
            rows[name] = {
                "R2": metrics.r2_score(*pair),
                "RMSE": metrics.root_mean_squared_error(*pair),
                "MAE": metrics.mean_absolute_error(*pair),
                "rows": known.sum(),
            }
    return pd.DataFrame(rows).T.astype({"rows": int})


def _shown(title: str, table: pd.DataFrame) -> str:
    """A table to read; a confusion matrix that is too wide is only in the JSON."""
    if title == "confusion matrix":
        if len(table) > _MOST_COLUMNS:
            return f"confusion matrix of {len(table)} classes: see --json"
        head = "confusion matrix (rows: true class, columns: predicted class)\n"
        return head + str(table.to_string())
    return str(table.rename_axis(columns=title).to_string(float_format="{:.4f}".format, na_rep="-"))
