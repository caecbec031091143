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
    corpus: Annotated[
        str, typer.Option(help="Names, separated by commas.")
    ] = "20newsgroups,ag_news",
    method: Annotated[str, typer.Option(help="Only these, separated by commas.")] = "",
    validation: Annotated[
        bool, typer.Option("--validation", help="Hold out training documents, not the test part.")
    ] = False,
) -> None:
    """Topics next to LDA, hLDA, NMF and CorEx: coherence, classes, CPU, memory (TSENET_DATA)."""
    from benchmarks import topics as benchmark

    methods = method.split(",") if method else list(benchmark.METHODS)
    print(benchmark.run(corpus.split(","), methods, validation))


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
