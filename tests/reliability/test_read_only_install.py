"""The package works where numba can write no cache: a read-only install and no writable home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import tsenet
from tests.builders import one_latent_rows

PACKAGE = Path(tsenet.__file__).parent

PROGRAM = """
import json, sys
import numpy as np
import tsenet
rows = np.array(json.load(sys.stdin), float)
tree = tsenet.learn_tree(rows, max_top=2, refine_steps=2, random_state=0, n_jobs=2)
print(json.dumps({
    "file": tsenet.__file__,
    "tree": repr(tree),
    "cpt": tree.cpt.tolist(),
    "log_likelihood": tree.log_likelihood(rows).tolist(),
    "posterior": tree.posterior(rows).tolist(),
}))
"""


def files_below(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}


def test_learning_needs_no_writable_place(tmp_path: Path) -> None:
    """Root ignores permissions, so folders are made unwritable by files in their place."""
    install = tmp_path / "install"
    shutil.copytree(PACKAGE, install / "tsenet", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in install.rglob("*.py")}:
        (folder / "__pycache__").write_text("not a folder")
    home = tmp_path / "home"
    home.write_text("not a folder")
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")},
        "HOME": str(home / "user"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PYTHONPATH": str(install),
    }
    rows = one_latent_rows(np.random.default_rng(0), 120, [4, 4, 4, 4])
    before = files_below(tmp_path)

    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        input=json.dumps(rows.astype(int).tolist()),
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    answer = json.loads(finished.stdout)
    assert Path(answer["file"]).is_relative_to(install)
    assert files_below(tmp_path) == before  # nothing was written
    here = tsenet.learn_tree(rows.astype(float), max_top=2, refine_steps=2, random_state=0)
    assert answer["tree"] == repr(here)
    np.testing.assert_allclose(answer["cpt"], here.cpt, rtol=1e-9)
    np.testing.assert_allclose(answer["log_likelihood"], here.log_likelihood(rows), rtol=1e-9)
    np.testing.assert_allclose(answer["posterior"], here.posterior(rows), rtol=1e-6, atol=1e-12)
