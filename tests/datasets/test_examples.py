"""The examples in the docstrings of ``tsenet.datasets`` run offline, and every public name has one."""

from __future__ import annotations

import socket

import pytest

import tsenet.datasets
from tests.docstrings import modules_of, run_examples, without_example


@pytest.mark.parametrize("module", modules_of("tsenet.datasets"))
def test_examples_run_offline(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*arguments: object, **options: object) -> None:
        raise AssertionError("an example used the network")

    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    assert run_examples(module).failed == 0


def test_every_public_name_has_an_example() -> None:
    assert without_example(tsenet.datasets) == []
