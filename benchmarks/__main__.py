"""``python -m benchmarks NAME``: each command prints Markdown tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.command()
def fit(
    against: Annotated[
        Path | None, typer.Option(help="Another checkout; without it, logistic regression.")
    ] = None,
    only: Annotated[str, typer.Option(help="Cases, separated by commas.")] = "",
    repeats: Annotated[int, typer.Option(help="Fits of each side; the median counts.")] = 3,
) -> None:
    """CPU seconds of default fits next to logistic regression or another checkout (TSENET_DATA)."""
    from benchmarks import fit as benchmark

    print(benchmark.run(against, [name for name in only.split(",") if name], repeats))


@app.command()
def predict(
    rows: Annotated[int, typer.Option(help="Rows to fit on, and as many to predict.")] = 20_000,
) -> None:
    """Predictions on AG's News next to logistic regression: rows per CPU second, one row, file, command."""
    from benchmarks import predict as benchmark

    print(benchmark.run(rows))


@app.command()
def skeleton(
    what: Annotated[str, typer.Argument(help="planted, fresh or growth; default: all.")] = "",
) -> None:
    """Planted trees next to the Java program (TSENET_DATA), fresh ones, growth with words and rows."""
    from benchmarks import skeleton as benchmark

    parts = {"planted": benchmark.planted, "fresh": benchmark.fresh, "growth": benchmark.growth}
    for name in [what] if what else parts:
        print(f"\n## {name}\n\n{parts[name]()}", flush=True)


@app.command()
def topics(
    corpus: Annotated[str, typer.Option(help="Names, separated by commas; default: all.")] = "",
    model: Annotated[str, typer.Option(help="Models, separated by semicolons; default: all.")] = "",
    levels: Annotated[
        str, typer.Option(help="Such as 10,50,200; default: those that TopicModel chooses.")
    ] = "",
    top_words: Annotated[int, typer.Option(help="Words of a topic that count.")] = 10,
    stability: Annotated[
        bool, typer.Option("--stability", help="Also compare models of two random nine tenths.")
    ] = False,
    pairs: Annotated[int, typer.Option(help="Print random parents and children to read.")] = 0,
    final: Annotated[
        bool, typer.Option("--final", help="Score on the test documents, not on training ones.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write the scores to this csv file.")] = None,
) -> None:
    """Hierarchies of topics next to LDA, NMF, BERTopic, KeyNMF and hLDA (TSENET_DATA)."""
    from benchmarks import topics as benchmark

    scores = benchmark.run(
        corpus.split(",") if corpus else benchmark.CORPORA,
        model.split(";") if model else list(benchmark.METHODS),
        [int(size) for size in levels.split(",")] if levels else None,
        top_words, final, stability, pairs,
    )  # fmt: skip
    if out is not None:
        scores.round(4).to_csv(out, index=False)


@app.command()
def scale(
    rows: Annotated[int, typer.Option(help="Documents.")] = 200_000,
    sample: Annotated[int, typer.Option(help="Documents from which groups are learned.")] = 100_000,
    memory: Annotated[str, typer.Option(help="Memory limit of each process.")] = "2GB",
) -> None:
    """Rows beyond memory: in memory, streamed, one and two Dask workers."""
    from benchmarks import scale as benchmark

    print(benchmark.run(rows, sample, memory))


@app.command()
def serve(
    rate: Annotated[float, typer.Option(help="Requests per second.")] = 200.0,
    seconds: Annotated[float, typer.Option(help="Duration.")] = 20.0,
    bad: Annotated[int, typer.Option(help="Bad requests afterwards.")] = 10_000,
) -> None:
    """Load test of examples/serve.py on one core: latency, bad requests, memory, threads and files after them."""
    from benchmarks import serve as benchmark

    print(benchmark.run(rate, seconds, bad))


if __name__ == "__main__":
    app()
