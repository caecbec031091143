"""The example of the digits: what it prints, what it draws, and what it says when it cannot."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image
from sklearn.datasets import load_digits

import tsenet
from examples import digits

NUMBER = r"(-\d+\.\d+)"


def test_the_tree_is_printed_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "folder"
    assert digits.main(["--structure-only", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    (picture,) = out.iterdir()
    assert picture.name == "digits-groups.png"
    assert str(picture) in printed.out
    height, width, _ = image.imread(picture).shape
    assert width > 2 * height > 1000  # the mean image and two levels, side by side
    assert "islands" in printed.err  # the progress bars

    X = load_digits().data
    test = np.arange(len(X)) % 5 == 4
    tree = tsenet.learn_tree(X[~test], max_top=10, random_state=0)
    text = " ".join(printed.out.split())
    assert f"Learned {' – '.join(map(str, tree.layer_sizes))}:" in text
    for level in (1, 2):
        found = re.search(
            rf"Level {level}: (\d+) groups; (\d+)% of .*?group, (\d+)% if pixels are shuffled", text
        )
        assert found
        groups, connected, shuffled = map(int, found.groups())
        assert groups == tree.layer_sizes[level]
        assert connected > 1.5 * shuffled

    likelihoods = re.search(rf"{NUMBER} with the tree, {NUMBER} with independent pixels", text)
    assert likelihoods
    assert float(likelihoods[1]) == pytest.approx(tree.log_likelihood(X[test]).mean(), abs=0.006)
    assert float(likelihoods[2]) < float(likelihoods[1])


def test_the_network_is_trained_and_its_page_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert digits.main(["--out", str(tmp_path)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    right = re.search(r"over these groups: ([\d.]+)% of held-out images", printed)
    assert right
    assert float(right[1]) > 95
    assert "digits.html" in {path.name for path in tmp_path.iterdir()}
