"""A folder of shards as input of :func:`tsenet.learn_tree` and :func:`tsenet.expand`."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRule
from tsenet.data.limits import bytes_of, memory_here
from tsenet.data.places import Place
from tsenet.data.rows import BinaryRows
from tsenet.data.shards import Partition, ShardFolder, open_shards
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.expansion.expand import tree_parents
from tsenet.progress import Progress
from tsenet.scale import tasks
from tsenet.scale.documents import drawn_documents
from tsenet.scale.executor import Executor, InProcess, Reduction
from tsenet.scale.from_dask import is_collection, write_collection
from tsenet.scale.paired import CountedLayers
from tsenet.scale.pairs import pairs_in_sample, pairs_in_shards
from tsenet.scale.pieces import ShardPieces
from tsenet.scale.plan import Plan
from tsenet.scale.report import Report, Spent
from tsenet.scale.tasks import Chosen, Cut, Model, Source, Summary
from tsenet.skeleton.inference import children_first
from tsenet.skeleton.information import PairCounter, PairInformation
from tsenet.skeleton.passes import LengthSums, Pieces, RowsOutsideMemory
from tsenet.skeleton.tree import LatentTree

__all__ = ["Shards"]

logger = logging.getLogger("tsenet")


class Shards(RowsOutsideMemory):
    """A folder of shards, and where to work on it; give it instead of a table.

    Rows are read a partition at a time: in this process, on workers started here, or on any Dask cluster. The results
    are the same bits in all cases, and the same as from a table in memory.

    Parameters
    ----------
    folder : path, URL, ShardFolder, or Dask array or dataframe
        A folder made by ``tsenet shard``, :func:`tsenet.data.write_shards` or
        :class:`~tsenet.data.ShardWriter`. Workers on other machines must be able to open it. A Dask array (N, V) of
        numbers or of scipy's CSR blocks, or a Dask dataframe of numbers, is written as shards first.
    client : distributed.Client or str or None, default=None
        The cluster to work on, or the address of its scheduler. None works here.
    n_workers : int or None, default=None
        Start this many worker processes on this machine; None starts none.
    memory_limit : int, str or None, default=None
        Most memory of this process, and of each worker that ``n_workers`` starts: bytes, or ``"2GB"``. None: 60 % of
        the machine, shared among the workers. Sizes of tasks follow from it; what cannot fit is refused.
    n_jobs : int or None, default=None
        Threads of this process; None or −1 for all cores.
    scratch : path, URL or None, default=None
        Folder for the shards of a Dask collection, which workers must be able to open; it is kept. None: a temporary
        one on this machine, removed by :meth:`close`.

    Attributes
    ----------
    plan : Plan
        Sizes of the tasks.
    report : Report
        What the passes took so far: seconds, bytes moved and memory of each phase. ``print(shards.report)`` shows a
        table.

    Raises
    ------
    DataError
        If the folder is not a finished folder of shards.
    TooLargeError
        If a partition does not fit into the memory of a task.
    ClusterError
        If the cluster does not answer, or has no workers.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> import tsenet
    >>> from tsenet.data import write_shards
    >>> from tsenet.scale import Shards
    >>> rng = np.random.default_rng(0)
    >>> topic = np.repeat(rng.random((500, 3)) < 0.4, 4, axis=1)
    >>> X = sp.csr_array(rng.random((500, 12)) < np.where(topic, 0.8, 0.05))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_shards(folder, X, rows_per_group=100)
    ...     with Shards(folder, memory_limit="1GB") as shards:
    ...         tree = tsenet.learn_tree(shards, max_top=3, random_state=0)
    >>> tree.layer_sizes
    (12, 3)
    >>> bool((tree.cpt == tsenet.learn_tree(X, max_top=3, random_state=0).cpt).all())
    True
    """

    def __init__(
        self,
        folder: Any,
        *,
        client: Any = None,
        n_workers: int | None = None,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        scratch: str | os.PathLike[str] | None = None,
    ) -> None:
        if client is not None and n_workers is not None:
            raise ValueError("give client or n_workers, not both: n_workers starts a new cluster")
        if n_workers is not None and n_workers < 1:
            raise ValueError(f"n_workers must be at least 1, not {n_workers}")
        if scratch is not None and not is_collection(folder):
            raise ValueError("scratch is for Dask collections: shards are there already")
        if not is_collection(folder):
            self.folder = folder if isinstance(folder, ShardFolder) else open_shards(folder)
        limit = bytes_of(memory_limit)
        usual = int(0.6 * memory_here() / (1 + (n_workers or 0)))
        self._executor: Executor
        if client is None and n_workers is None:
            self._executor = InProcess(limit or usual)
        else:
            from tsenet.scale.cluster import OnCluster

            self._executor = OnCluster(client, n_workers, limit or usual)
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        try:
            if is_collection(folder):
                self.folder = self._written(folder, scratch)
            self.plan = Plan.of(self.folder, self._executor, limit or usual)
        except BaseException:
            self.close()
            raise
        self._n_jobs = n_jobs
        self._task_jobs = 1 if self._executor.is_distributed else n_jobs
        self._progress = Progress()
        self.report = Report()
        self._rule: BinaryRule | None = None
        self._summary: Summary | None = None

    # ---- what it is

    @property
    def rule(self) -> BinaryRule:
        """How the columns become binary variables; thresholds of dense columns are found in a pass over all rows."""
        if self._rule is None:
            self._rule = self._learn_rule()
        return self._rule

    @property
    def is_sparse(self) -> bool:
        """Whether rows are documents."""
        return self.folder.is_sparse

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return self.folder.n_rows

    def __repr__(self) -> str:
        where = f"{self.plan.n_slots} workers" if self._executor.is_distributed else "this process"
        return f"Shards({self.folder!r}, {where})"

    def close(self) -> None:
        """Stop the workers that were started here, and close a connection that was opened here."""
        self._executor.close()
        if self._scratch is not None:
            self._scratch.cleanup()

    def __enter__(self) -> Shards:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ---- documents

    def drawn_documents(self, seed: Any, progress: Progress) -> Table:
        """Up to 20,000 documents, drawn at random, in memory: from them topics are described."""
        return drawn_documents(self.folder, seed, progress)

    # ---- passes of learn_tree

    def prepare(self, structure_samples: int | None, progress: Progress) -> None:
        """Show the plan, and refuse what does not fit, before any work."""
        self._progress = progress
        if self.n_rows < 2:
            raise DataError(f"at least two rows are needed to learn from, got {self.n_rows}")
        logger.info("plan:\n%s", self.plan.describe(structure_samples))

    def structure_rows(self, asked: int | None) -> int | None:
        """How many rows to learn groups from: those asked for; else all (None), or as many as fit the memory."""
        if asked is not None:
            return asked
        fits = self.plan.structure_rows()
        return None if fits == self.n_rows else fits

    def lengths(self) -> LengthSums:
        """How many variables are on in the rows."""
        return self._sums().lengths

    def counts(self) -> NDArray[np.int64]:
        """In how many rows each variable is on: (V,)."""
        return self._sums().counts

    def _sums(self) -> Summary:
        if self._summary is None:
            spans = self.plan.spans()
            fold = Reduction(tasks.summarize, spans, (self.source(),), tasks.add_summaries)
            (self._summary,) = self._run("counts", [fold])
        return self._summary

    def source(self, rule: BinaryRule | None = None) -> Source:
        """The folder as workers see it, binary by a rule (default: the folder's own)."""
        rule = self.rule if rule is None else rule
        plain = self.is_sparse and not rule.thresholds.any()
        return Source(self.folder, None if plain else rule)

    def take(self, numbers: NDArray[np.int64] | None, rule: BinaryRule | None = None) -> BinaryRows:
        """Some rows, ascending (None: all), in memory; binary by a rule (default: the folder's own)."""
        return self.gather(None, self.chosen(numbers, self.plan.spans()), rule)

    def chosen(
        self, numbers: NDArray[np.int64] | None, spans: Sequence[tuple[Partition, ...]]
    ) -> list[Chosen]:
        """Which rows of each span are among some rows, ascending; None: all. Spans without any are left out."""
        if numbers is None:
            return [Chosen(span, None) for span in spans]
        wanted = []
        for span in spans:
            start, stop = span[0].start, span[-1].start + span[-1].n_rows
            first, last = np.searchsorted(numbers, [start, stop])
            if first < last:
                bits = np.zeros(stop - start, bool)
                bits[numbers[first:last] - start] = True
                wanted.append(Chosen(span, np.packbits(bits)))
        return wanted

    def gather(
        self, cut: Cut | None, wanted: Sequence[Chosen], rule: BinaryRule | None = None
    ) -> BinaryRows:
        """Rows, or their pieces, in memory."""
        arguments = (self.source(rule), cut)
        folds = [Reduction(tasks.take_rows, [chosen], arguments) for chosen in wanted]
        return BinaryRows.concatenate(self._run("rows of the structure sample", folds))

    def pieces(self, size: int | None, key: int) -> Pieces:
        """All rows, long ones cut."""
        if size is None or self._sums().longest <= size:
            return ShardPieces(self, None, [part.n_rows for part in self.folder.partitions])
        cut = Cut(size, key, self.counts() == self.n_rows)
        folds = [
            Reduction(tasks.count_pieces, [span], (self.source(), cut))
            for span in self.plan.spans()
        ]
        counted = [n for found in self._run("pieces", folds) for n in found]
        return ShardPieces(self, cut, counted)

    def information(
        self,
        counter: PairCounter,
        chosen: NDArray[np.int64] | None,
        cut: tuple[int | None, int],
        n_partners: int,
        workers: Workers,
        progress: Progress,
    ) -> PairInformation:
        """Each variable's best partners, counted by the workers; without workers, in memory."""
        if not self._executor.is_distributed:
            return super().information(counter, chosen, cut, n_partners, workers, progress)
        n_rows, n_variables = counter.rows.shape
        n_partners = min(n_partners, n_variables)
        if self.plan.sends_sample(counter, n_partners):
            folds = pairs_in_sample(self.plan, counter, n_partners)
        else:
            folds = pairs_in_shards(self, counter, chosen, cut, n_partners)
        found = list(self._run("pairs", folds))
        partners = np.concatenate([part for part, _ in found])
        gain = np.concatenate([part for _, part in found])
        partners[~counter.varies] = -1
        gain[~counter.varies] = 0.0
        return PairInformation(n_rows, partners, gain)

    # ---- passes with a finished tree

    def log_likelihood(self, tree: LatentTree) -> NDArray[np.float64]:
        """Exact ln P(x) of every row: (N,)."""
        arguments = (self._source_of(tree), _model(tree), self._task_jobs)
        folds = [Reduction(tasks.log_likelihood, [span], arguments) for span in self.plan.spans()]
        return np.concatenate(list(self._run("log-likelihood", folds)))

    def posteriors(self, tree: LatentTree) -> Iterator[NDArray[np.float64]]:
        """P(z=1|x) of every latent in every row, as blocks of rows; the blocks follow each other."""
        arguments = (self._source_of(tree), _model(tree), self._task_jobs)
        folds = (Reduction(tasks.posteriors, [part], arguments) for part in self.folder.partitions)
        for blocks in self._run("posteriors", folds, len(self.folder.partitions)):
            yield from blocks

    def paired_layers(self, tree: LatentTree, progress: Progress) -> Iterator[CountedLayers]:
        """For each level of a tree, from the first up, the counts that its expansion needs."""
        self._progress = progress
        model, source = _model(tree), self._source_of(tree)
        jobs = self.plan.unit_tiles(tree.layer_sizes)
        # Counts are large: few tasks, so that few of them are added among workers.
        spans = self.plan.spans(max(4, self.plan.n_slots))
        logger.info(
            "plan: expansion in %d passes of %d tasks over %d partitions",
            *(len(jobs), len(spans), len(self.folder.partitions)),
        )
        folds = [
            Reduction(
                tasks.count_layers,
                spans,
                (source, model, tuple(job), self._task_jobs),
                tasks.add_counts,
            )
            for job in jobs
        ]
        parents = [tree_parents(tree, level) for level in range(1, tree.n_levels + 1)]
        if len(jobs) > 1:  # the counts come while links are chosen, which has progress of its own
            counted = self._run_quietly("counts of units", folds)
        else:
            counted = iter(list(self._run("counts of units", folds)))
        return CountedLayers.of_jobs(jobs, counted, parents, self.n_rows)

    def _source_of(self, tree: LatentTree) -> Source:
        tree.rule.check_columns(self.folder.read(self.folder.partitions[0]).table)
        return self.source(tree.rule)

    # ---- how

    def _written(self, collection: Any, scratch: str | os.PathLike[str] | None) -> ShardFolder:
        """The shards of a Dask collection, in ``scratch`` or in a folder that :meth:`close` removes."""
        client = getattr(self._executor, "client", None)
        if scratch is not None:
            return write_collection(collection, Place.of(scratch), client)
        self._scratch = tempfile.TemporaryDirectory(prefix="tsenet-")
        if client is not None and not all(client.run(os.path.isdir, self._scratch.name).values()):
            raise DataError(
                f"the workers do not see {self._scratch.name}, where the rows would be written as shards: give a "
                "folder or URL that all machines can open as Shards(…, scratch=…)"
            )
        return write_collection(collection, Place.of(self._scratch.name), client)

    def _learn_rule(self) -> BinaryRule:
        folder = self.folder
        thresholds = np.zeros(folder.n_columns)
        presence = np.ones(folder.n_columns, bool)
        if not folder.is_sparse:
            numeric = np.array([levels is None for levels in folder.levels])
            columns = np.flatnonzero(numeric)
            tiles = [columns[a:b] for a, b in self.plan.column_tiles()]
            tiles = [tile for tile in tiles if tile.size]
            folds = [Reduction(tasks.thresholds_of, [tile], (folder,)) for tile in tiles]
            for tile, found in zip(tiles, self._run("thresholds", folds), strict=True):
                thresholds[tile], presence[tile] = found
            thresholds[~numeric], presence[~numeric] = np.nan, False
        return BinaryRule(folder.names, thresholds, presence, folder.levels, folder.named)

    def _run(
        self, stage: str, folds: Iterable[Reduction], n_items: int | None = None
    ) -> Iterator[Any]:
        """Run folds as a stage with progress."""
        if isinstance(folds, list):
            n_items = sum(len(fold.items) for fold in folds)
        self._progress.start(stage, n_items)
        with self.report.phase(stage) as spent:
            yield from self._executor.run(folds, self._progress, spent)
        self._progress.finish()

    def _run_quietly(self, stage: str, folds: Iterable[Reduction]) -> Iterator[Any]:
        """Run folds while another stage shows its progress; only the wait for results counts as time."""
        results = self._executor.run(folds, Progress(), waited := Spent())
        done = object()
        while True:
            before = replace(waited)
            with self.report.phase(stage) as spent:
                result = next(results, done)
                spent.add(waited.since(before))
            if result is done:
                return
            yield result

    def fetch(
        self, cut: Cut | None, wanted: Sequence[tuple[Partition, NDArray[np.int64]]]
    ) -> BinaryRows:
        """Some pieces of some partitions, by their numbers within each, in memory."""
        size = max(1, -(-len(wanted) // (4 * self.plan.n_slots)))
        if not self._executor.is_distributed:
            size = 1
        groups = [wanted[k : k + size] for k in range(0, len(wanted), size)]
        arguments = (self.source(), cut)
        folds = [Reduction(tasks.take_pieces, [group], arguments) for group in groups]
        return BinaryRows.concatenate(self._run("rows of stepwise EM", folds))


def _model(tree: LatentTree) -> Model:
    top = tree.layer(tree.n_levels).start if tree.n_levels else tree.n_nodes
    return Model(tree.parent, tree.cpt, children_first(tree.parent, top), tree.layer_sizes)
