"""Start the processes of one command with torch's elastic launcher: ``python -m tsenet.cli._launch``.

Usage: ``python -m tsenet.cli._launch PROCESSES RESTARTS ARGUMENT…``; the arguments are those of ``tsenet``. It runs in
a process of its own because the launcher takes over the handling of signals. It ends, with all processes that it
started, when its standard input does: with the process that started it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import uuid

__all__ = ["main"]


def main(n_processes: int, n_restarts: int, arguments: list[str]) -> int:
    """Run the processes to their end; return the code to leave with."""
    # Without it a restart sometimes finds the addresses of the processes before: see docs/adr/0019.
    os.environ.setdefault("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, _n_cores() // n_processes)))
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    threading.Thread(target=_end_with_parent, daemon=True).start()
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=n_processes,
        run_id=str(uuid.uuid4()),
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",  # any free port
        max_restarts=n_restarts,
        monitor_interval=0.1,
    )
    try:
        elastic_launch(config, sys.executable)("-m", "tsenet", *arguments)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode < 0:
            name = signal.Signals(-failure.exitcode).name
            sys.stderr.write(f"process {rank} of {n_processes} was ended by {name}\n")
        return 1
    except SignalException as error:
        return 128 + int(error.sigval)
    return 0


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end_with_parent() -> None:
    """Wait for the end of standard input; then end this process, and the launcher its own."""
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
