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
_MAX_CLASSES_SHOWN = 20


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

    vectors = cli.read_array(embeddings)
    is_labelled = has_target(truth)
    truth = truth[is_labelled]
    predicted = fitted.predict(X, vectors)[is_labelled]

    fields: dict[str, Any] = {
        "rows": int(is_labelled.sum()),
        "unlabelled": int((~is_labelled).sum()),
    }
    tables: dict[str, pd.DataFrame] = {}
    if not hasattr(fitted, "classes_"):
        of_targets = _number_scores(truth, predicted, names)
        scores = of_targets.drop(columns="rows").mean().to_dict()
        if truth.ndim == 2:
            tables["targets"] = of_targets
    else:
        probabilities = fitted.predict_proba(X, vectors)[is_labelled]
        if truth.ndim == 2:
            tables["targets"] = _binary_scores(truth, predicted, probabilities, names)
            is_right = (predicted == truth)[~np.isnan(truth)]
            scores = {"accuracy": is_right.mean(), "mean AUC": tables["targets"]["AUC"].mean()}
        else:
            classes = list(map(str, fitted.classes_))
            scores, tables = _class_scores(
                truth.astype(str), predicted.astype(str), probabilities, classes
            )
            fields["unknown"] = int(tables["classes"]["rows"][len(classes) :].sum())

    lines = [f"{name:<10} {count:,}" for name, count in fields.items() if count]
    lines += [f"{name:<10} {value:.4f}" for name, value in scores.items()]
    lines += [f"\n{_shown(name, table)}" for name, table in tables.items()]
    results = scores | {name: table.to_dict("index") for name, table in tables.items()}
    fields |= {name.replace(" ", "_"): result for name, result in results.items()}
    cli.print_result(as_json, fields, *lines)


def _class_scores(
    true: NDArray[Any], answers: NDArray[Any], probabilities: NDArray[Any], classes: list[str]
) -> tuple[dict[str, float], dict[str, pd.DataFrame]]:
    """Scores of all rows, scores of each class, and the confusion matrix with the true classes in rows."""
    import numpy as np
    import pandas as pd

    unknown = sorted(set(true.tolist()) - set(classes))
    labels = [*classes, *unknown]

    scores = {"accuracy": float((true == answers).mean())}
    if not unknown:
        column = [classes.index(label) for label in true]
        of_truth = probabilities[np.arange(len(true)), column]  # (N,)
        scores["log loss"] = float(-np.log(np.maximum(of_truth, np.finfo(float).eps)).mean())

    # One column for each label, also for those that the model does not know: it gives them no chance.
    is_true = (true[:, None] == labels).astype(float)
    is_answer = answers[:, None] == labels
    probabilities = np.pad(probabilities, ((0, 0), (0, len(unknown))))
    matrix = pd.crosstab(true, answers).reindex(index=labels, columns=labels, fill_value=0)
    return scores, {
        "classes": _binary_scores(is_true, is_answer, probabilities, labels),
        "confusion matrix": matrix.rename_axis(index=None, columns=None),
    }


def _binary_scores(
    truth: NDArray[Any], predicted: NDArray[Any], probabilities: NDArray[Any], names: list[str]
) -> pd.DataFrame:
    """Scores of each column on the rows where it is not NaN; AUC is NaN if all of these are on one side."""
    import numpy as np
    import pandas as pd
    from sklearn import metrics

    rows = {}
    for k, name in enumerate(names):
        is_labelled = ~np.isnan(truth[:, k])
        is_true = truth[is_labelled, k] == 1
        is_answer = predicted[is_labelled, k] == 1
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(
            is_true, is_answer, average="binary", zero_division=0
        )
        auc = float("nan")
        if 0 < is_true.sum() < is_true.size:
            auc = metrics.roc_auc_score(is_true, probabilities[is_labelled, k])

        rows[name] = {
            "precision": precision,
            "recall": recall,
            "F1": f1,
            "AUC": auc,
            "rows": is_true.sum(),
        }

    return pd.DataFrame(rows).T.astype({"rows": int})


def _number_scores(truth: NDArray[Any], predicted: NDArray[Any], names: list[str]) -> pd.DataFrame:
    """Scores of each target on the rows in which it is known."""
    import pandas as pd
    from sklearn import metrics

    rows = {}
    truth = truth.reshape(len(truth), -1)  # (N, T)
    predicted = predicted.reshape(len(truth), -1)
    for k, name in enumerate(names):
        is_known = pd.notna(truth[:, k])
        if is_known.sum() < 2:  # R2 needs two
            continue
        true = truth[is_known, k]
        answers = predicted[is_known, k]
        rows[name] = {
            "R2": metrics.r2_score(true, answers),
            "RMSE": metrics.root_mean_squared_error(true, answers),
            "MAE": metrics.mean_absolute_error(true, answers),
            "rows": true.size,
        }

    return pd.DataFrame(rows).T.astype({"rows": int})


def _shown(title: str, table: pd.DataFrame) -> str:
    """A table to read; a confusion matrix that is too wide is only in the JSON."""
    if title == "confusion matrix":
        if len(table) > _MAX_CLASSES_SHOWN:
            return f"confusion matrix of {len(table)} classes: see --json"
        head = "confusion matrix (rows: true class, columns: predicted class)\n"
        return head + str(table.to_string())
    return str(table.rename_axis(columns=title).to_string(float_format="{:.4f}".format, na_rep="-"))
