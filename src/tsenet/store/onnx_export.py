"""Export of a fitted classifier or regressor to ONNX, which runs without Python.

The graph reads rows as a user has them, or texts, and gives answers: counts of words, scaling, tf-idf, missing values
and the way back to classes or values are inside. All of it is float32, since many runtimes know no double. Activations
are (units, rows), so that the links of a unit are rows to gather. A sparse layer is one product of small matrices: for
each latent, its weights times the units that it is linked to. Latents with about as many links go together; missing
links have weight 0.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet._system.atomic import atomic_write
from tsenet.errors import DataError, MissingDependencyError

if TYPE_CHECKING:
    from tsenet.data.binary import BinaryRule
    from tsenet.data.scaling import Scaling
    from tsenet.network.predictor import Predictor
    from tsenet.network.topology import Block
    from tsenet.training.targets import Targets

# Versions of 2022: every runtime in use reads them.
_OPSET = 17
_IR = 8
_OF_TEXTS = {"ai.onnx.ml": 2, "com.microsoft": 1}  # further sets of operators, for texts
# A sparse layer is written as a dense one if it has at most this many weights, or more than this share of all links:
# one product is then faster than its gathers.
_MAX_DENSE_WEIGHTS = 1 << 14
_MAX_SPARSE_SHARE = 0.25
_MAX_FILE_BYTES = 2**31 - 2**20  # protobuf has no larger message

Floats = NDArray[np.floating[Any]]


def write_onnx(model: Any, path: str | os.PathLike[str], *, texts: bool = False) -> None:
    """Write a fitted classifier or regressor as an ONNX model, atomically.

    Parameters
    ----------
    model : TSENetClassifier or TSENetRegressor
        Fitted.
    path : path
        File to write, usually ``something.onnx``. An existing file is replaced at the end, in one step.
    texts : bool, default=False
        Whether the ONNX model reads texts and counts their words itself. Only for models that were fitted on texts; it
        runs in onnxruntime, since ONNX has no operator that splits texts at punctuation. See the Notes.

    Raises
    ------
    MissingDependencyError
        If onnx is not installed: ``pip install onnx``.
    DataError
        If the network has numbers that float32 cannot hold. With ``texts``: if the model reads no texts, or splits them
        by a Python function, a segmenter, or rules of a script that no operator has.

    Warns
    -----
    UserWarning
        With ``texts``: if a few words of the model are out of reach of the operators, such as emoji.

    Notes
    -----
    The input ``X`` is (N, V) float32: the table's columns with their own values, NaN where one is missing; counts of
    words for a model of texts. A column of categories is one column of 0 and 1 for each of its levels. The metadata
    entry ``columns`` names them all, in order.

    With ``texts`` the input ``X`` is (N,) strings. HTML is not removed, accents are not composed and signs of one
    meaning stay different (Unicode NFKC), letters outside of ASCII are lower case, capital, or capital at the start of
    a word: prepare other texts beforehand.

    A classifier's outputs are ``label`` and ``probabilities`` (N, C), a regressor's ``values``. The metadata entry
    ``classes`` has the classes in the order of the probabilities.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import onnx
    >>> from sklearn.datasets import load_iris
    >>> from tsenet import TSENetClassifier
    >>> from tsenet.store import write_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TSENetClassifier(max_epochs=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_onnx(model, Path(folder, "iris.onnx"))
    ...     graph = onnx.load(Path(folder, "iris.onnx")).graph
    >>> [output.name for output in graph.output]
    ['label', 'probabilities']
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingDependencyError("to_onnx needs onnx: pip install onnx") from error

    from tsenet.network.compact import drop_unused

    if model.reads_embeddings_:
        raise DataError("an ONNX model reads no embeddings: fit without inputs='both'")
    if model.scaling_.n_beside:
        raise DataError(
            "an ONNX model reads a table, and this one reads a text with columns beside it (text=): save it instead"
        )
    if texts and model.vectorizer_ is None:
        raise DataError("the model was fitted on a table: its ONNX model reads no texts (texts)")
    graph = Graph(onnx)
    rule: BinaryRule = model.binary_rule_
    columns = "X"
    if texts:
        from tsenet.store.onnx_texts import word_counts

        columns = word_counts(graph, "X", model.vectorizer_, rule.names_in)
    rows = _scaled(graph, columns, model.scaling_, rule.sources)
    outputs = _network(graph, drop_unused(model.net_).predictor(), rows)
    answers = _answers(graph, model.targets_, outputs)
    proto = graph.model(None if texts else rule.n_variables, answers)
    metadata = {
        "targets": model.targets_.to_parts()[0]["kind"],
        "columns": json.dumps(rule.input_names, ensure_ascii=False),
    }
    if hasattr(model.targets_, "classes"):
        metadata["classes"] = json.dumps(model.targets_.classes.tolist(), ensure_ascii=False)

    onnx.helper.set_model_props(proto, metadata)
    if proto.ByteSize() > _MAX_FILE_BYTES:
        raise DataError(f"an ONNX file cannot hold the {proto.ByteSize():,} bytes of this network")
    onnx.checker.check_model(proto)
    with atomic_write(path) as file:
        file.write(proto.SerializeToString())


class Graph:
    """An ONNX graph in the making; values are known by their names."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._number = count()

    def constant(self, array: Any) -> str:
        """A constant; numbers that are not integers become float32."""
        array = np.asarray(array)
        if array.dtype.kind == "f":
            array = _float32(array)
        elif array.dtype.kind == "U":
            array = array.astype(object)
        name = f"c{next(self._number)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def node(self, operator: str, *inputs: str, name: str | None = None, **options: Any) -> str:
        """The output of a new node."""
        output = name or f"n{next(self._number)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **options))
        return output

    def nodes_of(self, operator: str, n_outputs: int, *inputs: str, **options: Any) -> list[str]:
        """The outputs of a new node that has several."""
        outputs = [f"n{next(self._number)}" for _ in range(n_outputs)]
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, outputs, **options))
        return outputs

    def model(self, n_columns: int | None, outputs: Sequence[tuple[str, Any, list[Any]]]) -> Any:
        """The whole model, of texts if there are no columns; ``outputs``: their names, types and shapes."""
        from tsenet import __version__

        helper = self.onnx.helper
        kinds = self.onnx.TensorProto
        kind, shape = (
            (kinds.STRING, ["N"]) if n_columns is None else (kinds.FLOAT, ["N", n_columns])
        )
        input_info = helper.make_tensor_value_info("X", kind, shape)
        others = _OF_TEXTS if n_columns is None else {}
        versions = {"": _OPSET, **others}
        output_infos = [helper.make_tensor_value_info(*output) for output in outputs]
        graph = helper.make_graph(self.nodes, "tsenet", [input_info], output_infos, self.constants)
        return helper.make_model(
            graph,
            producer_name="tsenet",
            producer_version=__version__,
            opset_imports=[helper.make_opsetid(*each) for each in versions.items()],
            ir_version=_IR,
        )


def _scaled(graph: Graph, columns: str, scaling: Scaling, sources: NDArray[np.int64]) -> str:
    """Columns (N, V) as the network reads them, one row a column: (D, N). ``sources``: column of each input."""
    scale = scaling.scale if scaling.scale.size == 1 else scaling.scale[sources]
    if scaling.counts:
        rows = _weighted(graph, _known(graph, columns), scale, scaling.length)
    elif scaling.centres:
        shift = scaling.shift[sources]
        near = _float32(shift)  # what it leaves of the shift is subtracted after scaling
        centred = graph.node("Sub", columns, graph.constant(near))
        scaled = graph.node("Mul", centred, graph.constant(scale))
        rest = graph.constant((shift - near) * scale)
        rows = _known(graph, graph.node("Sub", scaled, rest))
    else:
        rows = _known(graph, graph.node("Mul", columns, graph.constant(scale)))

    if scaling.limit.size:
        most = scaling.limit if scaling.limit.size == 1 else scaling.limit[sources]
        bound = np.minimum(most, np.finfo(np.float32).max)
        rows = graph.node("Min", rows, graph.constant(bound))
        rows = graph.node("Max", rows, graph.constant(-bound))

    return graph.node("Transpose", rows, perm=[1, 0])


def _known(graph: Graph, rows: str) -> str:
    """Rows with 0 where a value is missing."""
    return graph.node("Where", graph.node("IsNaN", rows), graph.constant(np.float32(0)), rows)


def _weighted(graph: Graph, counts: str, scale: Floats, length: float) -> str:
    """Counts as `Scaling` weighs them: (1 + ln count) · scale, each row scaled to a length."""
    # 1 + ln count, and a count below 1 itself: min(count, 1) + ln max(count, 1)
    one = graph.constant(np.float32(1))
    logarithm = graph.node("Log", graph.node("Max", counts, one))
    up_to_one = graph.node("Min", counts, one)
    damped = graph.node("Add", up_to_one, logarithm)
    weighted = graph.node("Mul", damped, graph.constant(scale))

    # Each row divided by its length.
    squares = graph.node("Mul", weighted, weighted)
    total = graph.node("ReduceSum", squares, graph.constant(np.array([1])), keepdims=1)
    tiny = graph.constant(np.float32(np.finfo(np.float32).tiny))  # for rows without a word
    present = graph.node("Sqrt", graph.node("Max", total, tiny))
    whole = graph.node("Mul", weighted, graph.constant(np.float32(length)))
    return graph.node("Div", whole, present)


def _network(graph: Graph, net: Predictor, rows: str) -> str:
    """Raw outputs (C, N) of scaled rows (D, N)."""
    topology = net.topology
    activation = topology.options.activation.capitalize()  # Relu, Tanh or Sigmoid
    layers = [rows]
    for layer in range(1, topology.n_layers + 1):
        by_block = [_block(graph, net, block, layers) for block in topology.blocks_into(layer)]
        sums = by_block[0]
        if (
            layer == topology.n_layers
        ):  # the outputs: the feature layer's, and those of the linear skip
            for linear_skip in by_block[1:]:
                sums = graph.node("Add", sums, linear_skip)
            layers.append(sums)
            continue

        if len(by_block) > 1:
            sums = graph.node("Concat", *by_block, axis=0)
        layers.append(graph.node(activation, sums))
    return layers[-1]


def _block(graph: Graph, net: Predictor, block: Block, layers: Sequence[str]) -> str:
    """What a block adds to the units that it feeds: (units, N)."""
    weight = net.arrays[block.weight]
    below = layers[block.below]
    product = _dense if block.sparse is None else _sparse
    added = product(graph, block, weight, below)
    if block.bias is None:
        return added
    return graph.node("Add", added, graph.constant(net.arrays[block.bias][:, None]))


def _dense(graph: Graph, block: Block, weight: NDArray[Any], below: str) -> str:
    """The weights of a block, as a dense matrix, applied to (D, N): (S, N)."""
    matrix = block.matrix(weight)
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return graph.node("MatMul", graph.constant(dense.T), below)


def _sparse(graph: Graph, block: Block, weight: NDArray[Any], lower: str) -> str:
    """The weights of a sparse block applied to (D, N): (U, N)."""
    links = block.links
    start, input_of, weight_of = links.by_latent
    degree = np.diff(start)  # links of each latent, (L,)
    # Latents go together by their number of links, rounded up to a power of two.
    width = np.left_shift(1, np.ceil(np.log2(np.maximum(degree, 1))).astype(np.int64))

    n_dense = links.n_inputs * links.n_units
    n_sparse = int(width.sum()) * links.k
    is_small = not degree.any() or n_dense <= _MAX_DENSE_WEIGHTS
    if is_small or n_sparse > _MAX_SPARSE_SHARE * n_dense:
        return _dense(graph, block, weight, lower)

    weight = weight.reshape(-1, links.k)
    order = []
    products = []
    for size in np.unique(width):
        latents = np.flatnonzero(width == size)  # (n,)
        place = np.arange(size)
        is_link = place < degree[latents][:, None]  # (n, size)
        link = np.where(is_link, start[latents][:, None] + place, 0)
        inputs = np.where(is_link, input_of[link], 0).astype(np.int32)
        values = np.where(is_link[..., None], weight[weight_of[link]], 0)  # (n, size, k)
        matrices = graph.constant(values.transpose(0, 2, 1))  # (n, k, size)
        gathered = graph.node("Gather", lower, graph.constant(inputs), axis=0)  # (n, size, N)
        products.append(graph.node("MatMul", matrices, gathered))  # (n, k, N)
        order.append(latents)

    # Back into the order of the latents, (L, k, N), and one row for each unit.
    back = np.argsort(np.concatenate(order)).astype(np.int32)
    by_width = graph.node("Concat", *products, axis=0)
    by_latent = graph.node("Gather", by_width, graph.constant(back), axis=0)
    return graph.node("Reshape", by_latent, graph.constant(np.array([links.n_units, -1])))


def _answers(graph: Graph, targets: Targets, outputs: str) -> list[tuple[str, Any, list[Any]]]:
    """Answers from raw outputs (C, N); returns their names, types and shapes."""
    from tsenet.training.targets import ClassTargets, RegressionTargets

    kinds = graph.onnx.TensorProto
    by_row = graph.node("Transpose", outputs, perm=[1, 0])  # (N, C)
    n_targets = targets.n_targets

    if isinstance(targets, RegressionTargets):
        scaled = graph.node("Mul", by_row, graph.constant(targets.output_scale))
        shift = graph.constant(targets.output_shift)
        if not targets.one_target:
            graph.node("Add", scaled, shift, name="values")
            return [("values", kinds.FLOAT, ["N", n_targets])]
        column = graph.node("Add", scaled, shift)
        graph.node("Reshape", column, graph.constant(np.array([-1])), name="values")
        return [("values", kinds.FLOAT, ["N"])]

    if not isinstance(targets, ClassTargets):
        holds = graph.node("Greater", by_row, graph.constant(np.float32(0)))
        graph.node("Cast", holds, name="label", to=kinds.INT64)
        graph.node("Sigmoid", by_row, name="probabilities")
        shape = ["N", n_targets]
        return [("label", kinds.INT64, shape), ("probabilities", kinds.FLOAT, shape)]

    if targets.classes.size == 2:
        both = graph.node("Concat", graph.node("Neg", by_row), by_row, axis=1)
        graph.node("Sigmoid", both, name="probabilities")
        flat = graph.node("Reshape", by_row, graph.constant(np.array([-1])))
        second = graph.node("Greater", flat, graph.constant(np.float32(0)))
        number = graph.node("Cast", second, to=kinds.INT64)
    else:
        graph.node("Softmax", by_row, name="probabilities", axis=1)
        number = graph.node("ArgMax", by_row, axis=1, keepdims=0)

    classes = np.array(targets.classes.tolist())
    if classes.dtype.kind == "u":
        classes = classes.astype(np.int64)

    graph.node("Gather", graph.constant(classes), number, name="label", axis=0)
    kind = {"b": kinds.BOOL, "i": kinds.INT64, "f": kinds.FLOAT, "U": kinds.STRING}
    return [
        ("label", kind[classes.dtype.kind], ["N"]),
        ("probabilities", kinds.FLOAT, ["N", targets.classes.size]),
    ]


def _float32(array: Any) -> NDArray[np.float32]:
    """The numbers in float32.

    Raises
    ------
    DataError
        If one of them is too large or too small for it.
    """
    with np.errstate(over="ignore", under="ignore"):
        narrow = np.asarray(array, np.float32)
    if not np.isfinite(narrow).all() or ((narrow == 0) & (np.abs(array) > 1e-30)).any():
        raise DataError(
            "ONNX models read float32, which cannot hold some numbers of this model: "
            "fit it on columns and targets in other units"
        )
    return narrow
