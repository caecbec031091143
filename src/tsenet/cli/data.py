"""``tsenet data``: which data sets there are, getting their files, and checking these."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tsenet.cli._console import PlainErrors, shown_progress
from tsenet.cli._options import AsJson, Debug, Quiet
from tsenet.cli._results import say

if TYPE_CHECKING:
    from tsenet.datasets import Check

__all__ = ["app"]

_WIDE = 160
_TITLES_FIT = 110

app = typer.Typer(
    name="data",
    cls=PlainErrors,
    help="Known data sets: list them, fetch their files, verify these.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_sets(as_json: AsJson = False, debug: Debug = False) -> None:
    """List the data sets, and whether their files are available here."""
    from tsenet.datasets import is_available
    from tsenet.datasets.catalog import CATALOG

    if as_json:
        sets = [
            {
                "name": entry.name,
                "title": entry.title,
                "train": entry.n_train,
                "test": entry.n_test,
                "features": entry.features,
                "available": is_available(entry.name),
                "licence": entry.licence,
            }
            for entry in CATALOG.values()
        ]
        return say(True, {"sets": sets})
    from rich.console import Console
    from rich.table import Table

    # a file or another program gets whole lines; on a terminal, cells are folded to its width
    console = Console(width=None if sys.stdout.isatty() else _WIDE, markup=False, highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    columns = ["name", "rows", "features", "available", "licence", "title"]
    if console.width < _TITLES_FIT:
        columns.remove("title")
    for column in columns:
        table.add_column(column, no_wrap=column not in ("licence", "title"))
    for entry in CATALOG.values():
        cells = {
            "name": entry.name,
            "rows": f"{entry.n_train:,} + {entry.n_test:,}",
            "features": entry.features,
            "available": "yes" if is_available(entry.name) else "no",
            "licence": entry.licence,
            "title": entry.title,
        }
        table.add_row(*(cells[column] for column in columns))
    console.print(table)
    typer.echo(
        "\nRows: official training + test. tox21/NR-AR and the like are its labels one by one.\n"
        f"Looked in {_places()}."
    )


@app.command()
def fetch(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME", help="A name that tsenet data list shows.")
    ],
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Download the official files of data sets into the cache.

    Files that are there already are only checked.
    """
    from tsenet.datasets import entry_of
    from tsenet.datasets import fetch as fetch_files

    wanted = dict.fromkeys(entry_of(name).name for name in names)  # an unknown name stops it all
    fetched = {}
    for entry in map(entry_of, wanted):
        if not as_json:
            typer.echo(f"{entry.title}: licence: {entry.licence}\n  please cite: {entry.citation}")
        with shown_progress(quiet) as progress:
            files = fetch_files(entry.name, progress=progress)
        fetched[entry.name] = {"licence": entry.licence, "files": list(map(str, files))}
        if as_json:
            continue
        for path in files:
            unknown = "" if entry.known_digest(path.name) else "  (no published digest known)"
            typer.echo(f"  {path}{unknown}")
        if not files:
            typer.echo("  needs no files")
    if as_json:
        say(True, fetched)


@app.command()
def verify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Default: all whose files are here.")
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Check files against their published digests.

    A file without a published digest is compared with what it was when first seen. The exit code is 1 if a file
    differs, is damaged or is missing.
    """
    from tsenet.datasets import verify as verify_files
    from tsenet.datasets.catalog import CATALOG, entry_of

    wanted = [entry_of(name).name for name in names] if names else list(CATALOG)
    all_good = True
    found, lines = {}, []
    for name in dict.fromkeys(wanted):
        checks = verify_files(name)
        found[name] = [{"path": check.path, "status": check.status} for check in checks]
        for check in checks:
            lines.append(f"{check.status:<12} {check.path}{_meaning(check)}")
            all_good = all_good and check.good
        if not checks and names:
            needs = CATALOG[name].kind != "bundled"
            lines.append(f"{name}: {'no files found' if needs else 'needs no files'}")
            all_good = all_good and not needs
    if not lines:
        lines.append(f"nothing to check: no files found in {_places()}")
    say(as_json, {"good": all_good, "sets": found}, *lines)
    if not all_good:
        raise typer.Exit(1)


def _meaning(check: Check) -> str:
    """What a status means, in a few words."""
    return {
        "official": "",
        "as recorded": "  (no published digest; unchanged since first seen)",
        "recorded": f"  (no published digest; recorded now: {check.digest})",
        "differs": f"  (not the official file: it has {check.digest})",
        "changed": f"  (no longer what was first seen: it has {check.digest})",
        "damaged": "  (cannot be read)",
    }[check.status]


def _places() -> str:
    from tsenet.datasets.cache import cache_folder

    given = os.environ.get("TSENET_DATA")
    data = f"TSENET_DATA ({given})" if given else "TSENET_DATA (not set)"
    return f"{data} and the cache ({cache_folder()})"
