"""``python -m benchmarks NAME``: each command prints Markdown tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks import fit, mixed, predict, scale, serve, skeleton
from benchmarks import topics as benchmark

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help=__doc__,
    result_callback=lambda text: print(text or "", flush=True),
)
for module in (fit, mixed, predict, skeleton, scale, serve):
    app.command(module.__name__.rpartition(".")[2])(module.run)


@app.command()
def topics(
    corpus: Annotated[
        str,
        typer.Option(
            help="Names, separated by commas, or ag_news@4000 for fewer documents; default: all."
        ),
    ] = "",
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
    scores = benchmark.run(
        corpus.split(",") if corpus else benchmark.CORPORA,
        model.split(";") if model else list(benchmark.METHODS),
        [int(size) for size in levels.split(",")] if levels else None,
        top_words,
        final,
        stability,
        pairs,
    )
    if out is not None:
        scores.round(4).to_csv(out, index=False)


@app.command()
def outliers(
    corpus: Annotated[str, typer.Option(help="Names, separated by commas; default: all.")] = "",
    documents: Annotated[int, typer.Option(help="Documents of a fit.")] = 5_000,
    final: Annotated[
        bool, typer.Option("--final", help="Ask for the test documents, not for training ones.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write the shares to this csv file.")] = None,
) -> None:
    """Share of documents of this and of other corpora that fit no topic of a model (TSENET_DATA)."""
    names = corpus.split(",") if corpus else benchmark.TEXT_CORPORA
    shares = benchmark.outliers(names, documents, final=final)
    if out is not None:
        shares.round(4).to_csv(out, index=False)


if __name__ == "__main__":
    app()
