"""Structure learning that was killed and resumed ends with the bytes of a run that never stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_killed_at_random_points(tmp_path: Path) -> None:
    """SIGKILL in any stage, while writing, and from outside at any moment (see killed_tree.py)."""
    command = [sys.executable, "-m", "tests.reliability.killed_tree", str(tmp_path), "7"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert len(report["sizes"]) >= 3  # at least two layers of latents
    assert len(report["trials"]) == 4
    for trial in report["trials"]:
        assert trial["killed"] >= 3  # the last kills may come after the end of the work
        assert trial["same"], trial
        first_layer = f"pairs {report['sizes'][0]}"
        learned_it = [first_layer in stages for stages in trial["stages"]]
        # Once the first layer is finished, no run learns it again.
        assert learned_it == sorted(learned_it, reverse=True), trial
        assert learned_it[0], trial
        assert not learned_it[-1], trial
