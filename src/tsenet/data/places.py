"""Folders on the local disk or behind a URL: reading files, and writing them whole."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsenet._system.atomic import atomic_write
from tsenet.errors import DataError, MissingDependencyError

__all__ = ["Place"]


@dataclass(frozen=True)
class Place:
    """A folder, given as a path or as a URL such as ``s3://bucket/folder``.

    URLs that pyarrow does not know go to fsspec, if it is installed.

    Parameters
    ----------
    url : str
        A path, or a URL with ``://``.

    Examples
    --------
    >>> import tempfile
    >>> from tsenet.data.places import Place
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Place(folder)
    ...     place.write("note.txt", b"hello")
    ...     place.names(), place.read("note.txt")
    (['note.txt'], b'hello')
    """

    url: str

    @classmethod
    def of(cls, url: str | os.PathLike[str] | Place) -> Place:
        """Return a place for a path or a URL."""
        return url if isinstance(url, Place) else cls(os.fspath(url))

    @property
    def is_local(self) -> bool:
        """Whether the folder is given as a path."""
        return "://" not in self.url

    def path(self, name: str) -> str:
        """Return the path or URL of a file of the folder, as messages show it."""
        return str(Path(self.url) / name) if self.is_local else f"{self.url.rstrip('/')}/{name}"

    def open(self, name: str) -> Any:
        """Open a file for reading at any position, as pyarrow's readers need it.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        """
        system, folder = self._system()
        return system.open_input_file(f"{folder}/{name}")

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        with self.open(name) as file:
            return bytes(file.read())

    def write(self, name: str, content: Any) -> None:
        """Write a file of the folder, which is made if needed; on a local disk it is never there in part."""
        if self.is_local:
            Path(self.url).mkdir(parents=True, exist_ok=True)
            with atomic_write(Path(self.url) / name) as file:
                file.write(content)
            return
        system, folder = self._system()
        system.create_dir(folder, recursive=True)
        with system.open_output_stream(f"{folder}/{name}") as file:
            file.write(content)

    def names(self) -> list[str]:
        """Return the names of the files in the folder, sorted; none if there is no folder."""
        from pyarrow.fs import FileSelector

        system, folder = self._system()
        found = system.get_file_info(FileSelector(folder, allow_not_found=True))
        return sorted(entry.base_name for entry in found if entry.is_file)

    def _system(self) -> tuple[Any, str]:
        """The file system of pyarrow, and the folder's path in it."""
        try:
            import pyarrow
            from pyarrow import fs
        except ImportError as error:
            raise MissingDependencyError(
                "shard folders need pyarrow: pip install tsenet[text]"
            ) from error
        if self.is_local:
            return fs.LocalFileSystem(), os.path.abspath(self.url)
        try:
            system, path = fs.FileSystem.from_uri(self.url)
        except pyarrow.ArrowInvalid:
            system, path = self._other_system()
        return system, path.rstrip("/")

    def _other_system(self) -> tuple[Any, str]:
        try:
            import fsspec
        except ImportError as error:
            raise MissingDependencyError(f"{self.url} needs fsspec: pip install fsspec") from error
        from pyarrow.fs import FSSpecHandler, PyFileSystem

        try:
            system, path = fsspec.core.url_to_fs(self.url)
        except (ValueError, ImportError) as error:
            raise DataError(f"{self.url} cannot be opened: {error}") from error
        return PyFileSystem(FSSpecHandler(system)), str(path)
