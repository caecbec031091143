"""``python -m benchmarks NAME``: each command prints Markdown; ``--write`` also puts it into docs/results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
)
Write = Annotated[bool, typer.Option("--write", help="Also update the page in docs/results.")]


def _show(name: str, text: str, write: bool, page: str = "skeleton.md") -> None:
    print(f"\n## {name}\n\n{text}\n")
    if write:
        from benchmarks import pictures as opening
        from benchmarks.report import write_block

        write_block(page, name, text)
        opening.draw(page.removesuffix(".md"))


@app.callback()
def main(context: typer.Context) -> None:
    """Measure the skeleton: CPU seconds after JIT warm-up, ratios, targets."""
    if context.invoked_subcommand is None:
        list_benchmarks()


@app.command("list")
def list_benchmarks() -> None:
    """Name the benchmarks."""
    for command in app.registered_commands:
        function = command.callback
        assert function is not None
        name = command.name or function.__name__
        if name != "list":
            print(f"{name:12} {(function.__doc__ or '').splitlines()[0]}")


@app.command()
def planted(
    fresh: Annotated[int | None, typer.Option(help="Make the tree from this seed.")] = None,
    trees: Annotated[int, typer.Option(help="With --fresh: so many trees, seed by seed.")] = 1,
    write: Write = False,
) -> None:
    """Planted tree beside the Java program: groups found, log-likelihood, CPU, memory (TSENET_DATA; not --fresh)."""
    from benchmarks import planted as benchmark

    if fresh is None:
        _show("planted", benchmark.given(), write)
    else:
        _show("planted-fresh", benchmark.fresh(fresh, trees), write)


@app.command()
def zipf(write: Write = False) -> None:
    """10,000 words × 70,000 rows, whole skeleton without refinement: CPU and peak memory."""
    from benchmarks import zipf as benchmark

    _show("zipf", benchmark.run(), write)


@app.command()
def scale(
    full: Annotated[
        bool, typer.Option("--full", help="Also 100,000 words × 1,000,000 rows.")
    ] = False,
    write: Write = False,
) -> None:
    """Growth with the numbers of words and rows: CPU by stage, peak memory."""
    from benchmarks import scale as benchmark

    _show("scale", benchmark.run(full), write)


@app.command("scale-out")
def scale_out(
    rows: Annotated[int, typer.Option(help="Documents on which all ways are compared.")] = 200_000,
    sample: Annotated[int, typer.Option(help="Documents from which groups are learned.")] = 100_000,
    growth: Annotated[str, typer.Option(help="Numbers of documents for one worker.")] = (
        "400000,800000"
    ),
    memory: Annotated[str, typer.Option(help="Memory limit of each process.")] = "2GB",
    driver: Annotated[
        str | None, typer.Option(help="Memory limit of this process, if it is another one.")
    ] = None,
    train: Annotated[bool, typer.Option("--train", help="Train an epoch, too.")] = False,
    write: Write = False,
) -> None:
    """Rows beyond memory: in memory, streamed, one and two Dask workers; memory as documents grow."""
    from benchmarks import scale_out as benchmark

    sizes = [int(size) for size in growth.split(",") if size]
    made = benchmark.run(rows, sample, sizes, memory, train, driver)
    _show("scale-out", made, write, "scale.md")


@app.command()
def threads(
    repeats: Annotated[int, typer.Option(help="Best of so many.")] = 3, write: Write = False
) -> None:
    """Speed-up at two threads, phase by phase."""
    from benchmarks import threads as benchmark

    _show("threads", benchmark.run(repeats), write)


@app.command()
def newsgroups(write: Write = False) -> None:
    """20 Newsgroups, 1,000 words: held-out log-likelihood and topic coherence (TSENET_DATA)."""
    from benchmarks import newsgroups as benchmark

    _show("newsgroups", benchmark.run(), write)


@app.command()
def topics(
    corpus: Annotated[
        list[str] | None, typer.Option(help="20newsgroups or ag_news; default: both.")
    ] = None,
    method: Annotated[list[str] | None, typer.Option(help="Only these methods.")] = None,
    validation: Annotated[
        bool, typer.Option("--validation", help="Hold out training documents, not the test part.")
    ] = False,
    write: Write = False,
) -> None:
    """Topics beside LDA, hLDA, PAM, NMF and CorEx: coherence, labels, CPU, memory (TSENET_DATA)."""
    from benchmarks import topics as benchmark

    names = corpus or ["20newsgroups", "ag_news"]
    _show(
        "topics",
        benchmark.run(names, method or list(benchmark.METHODS), validation),
        write,
        "topics.md",
    )


@app.command()
def network(write: Write = False) -> None:
    """Training step, inference and memory of a TSE-Net beside dense networks in torch."""
    from benchmarks import network as benchmark

    _show("network", benchmark.run(), write, "network.md")
    _show("network-growth", benchmark.growth(), write, "network.md")


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
    write: Write = False,
) -> None:
    """Answers on AG's News beside logistic regression: rows per CPU second, one row, file, command (TSENET_DATA)."""
    from benchmarks import predict as benchmark

    _show("predict", benchmark.run(rows), write, "network.md")


@app.command()
def serve(
    rate: Annotated[float, typer.Option(help="Requests per second.")] = 200.0,
    seconds: Annotated[float, typer.Option(help="For so long.")] = 20.0,
    bad: Annotated[int, typer.Option(help="Bad requests afterwards.")] = 10_000,
    write: Write = False,
) -> None:
    """Load test of examples/serve.py on one core: latency, bad requests, memory, threads and files after them."""
    from benchmarks import serve as benchmark

    _show("serve", benchmark.run(rate, seconds, bad), write, "network.md")


@app.command()
def pictures() -> None:
    """Draw the opening pictures of network.md, scale.md, skeleton.md and topics.md from the pages' tables."""
    from benchmarks import pictures as opening

    for page in opening.PICTURES:
        opening.draw(page)
        print(f"docs/results/{page}.png")


if __name__ == "__main__":
    app()
