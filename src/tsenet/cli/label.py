"""``tsenet label``: labels for texts, given in a browser."""

from __future__ import annotations

import contextlib
import signal
import socket
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from tsenet.cli import _shared as cli
from tsenet.errors import DataError


def label(
    data: cli.Data,
    text: Annotated[str, cli.option("COLUMN", "Column that contains the text.")] = "text",
    target: Annotated[
        str | None, cli.option("COLUMN", "Column of labels that some rows have already.")
    ] = None,
    labels: Annotated[
        Path | None, cli.option("FILE", "File of labels; default: DATA with .labels.jsonl.")
    ] = None,
    embeddings: cli.Embeddings = None,
    encoder: Annotated[
        str | None,
        cli.option(
            "NAME",
            "Sentence encoder that teaches the model: minilm, or a name or folder of sentence-transformers. Its "
            "vectors are written to DATA with .embeddings.npy, for --embeddings the next time.",
        ),
    ] = None,
    port: Annotated[int, cli.option("N", "Port; 0: a free one.", min=0, max=65535)] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    encoding: cli.Encoding = None,
    no_header: cli.NoHeader = False,
    max_size: cli.MaxSize = None,
    jobs: cli.Jobs = None,
    quiet: cli.Quiet = False,
) -> None:
    """Label texts in a browser while a model learns from the labels; nothing leaves this machine.

    The page shows the topics of the texts, proposes texts to label, and says how good the model is. Each label is
    written to the file of labels at once: run the command again to go on. In the end the page writes a csv file of all
    rows, a model and a report next to DATA.
    """
    from tsenet.cli._model_data import read_file
    from tsenet.errors import import_optional, need_torch

    for module in ("uvicorn", "starlette"):
        import_optional(
            module, "tsenet label needs Starlette and uvicorn: pip install starlette uvicorn"
        )
    need_torch("training")
    if str(data) == str(cli.STDOUT):
        raise DataError(
            "labels are kept next to the file that they are for: give the name of a file"
        )

    from tsenet.labelling.documents import Documents
    from tsenet.labelling.exporter import Exporter
    from tsenet.labelling.journal import Journal
    from tsenet.labelling.session import Session

    with cli.open_progress(quiet) as progress:
        file = read_file(data, progress, encoding, no_header, max_size=max_size)
    documents = Documents.of(file.texts(text), None if target is None else file.texts(target))
    if len(documents) < 2:
        raise DataError(f"{data}: column {text!r} has fewer than two different texts")

    vectors_path = embeddings or data.parent / f"{data.name.partition('.')[0]}.embeddings.npy"
    with cli.open_progress(quiet) as progress:
        vectors = cli.read_vectors(embeddings, encoder, file.texts(text), vectors_path, progress)
    if vectors is not None:
        if vectors.ndim != 2 or len(vectors) != file.n_rows:
            shape = "×".join(map(str, vectors.shape))
            raise DataError(
                f"{vectors_path} holds {shape} numbers, not a vector for each of {file.n_rows:,} rows"
            )
        vectors = vectors[documents.first_row]

    path = labels or data.parent / f"{data.name.partition('.')[0]}.labels.jsonl"
    cli.refuse_inputs(path, data)
    session = Session(Journal(path), documents)

    used = None if vectors is None else vectors_path
    exporter = Exporter(file.columns, data, text, target, cli.write_csv, used)
    _serve(session, exporter, vectors, port, browser, jobs)


def _serve(
    session: Any, exporter: Any, vectors: Any, port: int, browser: bool, jobs: int | None
) -> None:
    """Serve the page until Ctrl-C or SIGTERM."""
    import uvicorn

    from tsenet.labelling.server import Service, application
    from tsenet.labelling.workspace import Workspace

    listener = socket.create_server(("127.0.0.1", port))
    port = listener.getsockname()[1]
    workspace = Workspace(session, exporter.source.name, jobs, vectors)
    service = Service(workspace, exporter)
    config = uvicorn.Config(
        application(service, port),
        ws="none",
        lifespan="off",
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )

    class Server(uvicorn.Server):
        """Ends at once: the requests that wait for a change are answered first."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            service.end()
            await super().shutdown(sockets)

    # uvicorn ends in order at these signals, and raises them again for those who were there before.
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, signal.SIG_IGN)

    address = f"http://127.0.0.1:{port}/?token={service.token}"
    typer.echo(
        f"{address}\nlabels: {session.journal.path}\nCtrl-C ends; run the command again to go on"
    )
    if browser:
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(address)

    try:
        Server(config).run(sockets=[listener])
    finally:
        workspace.close()
        for number, handler in before.items():
            signal.signal(number, handler)
