"""`TSENet`: backbone, skip paths and feature layer over a wiring, as an ordinary torch module (paper §5)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tsenet.expansion.wiring import Wiring
from tsenet.network.initial_weights import draw_weights
from tsenet.network.predictor import Predictor
from tsenet.network.sparse_linear import (
    Batch,
    DropoutMask,
    SparseBatch,
    SparseLinear,
    activated,
    step_generator,
)
from tsenet.network.topology import Activation, NetworkOptions, Topology

if TYPE_CHECKING:
    import pandas


class DenseGroup(nn.Module):
    """A narrow fully connected group of S feature units over the D units of one layer: weight (D, S).

    For a sparse batch it reads only the rows of its weight whose columns occur in the batch. Weights are 0 until
    `tsenet.network.initial_weights` sets them.
    """

    def __init__(self, n_inputs: int, n_units: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_inputs, n_units))
        self.bias = nn.Parameter(torch.zeros(n_units))

    def forward(self, x: Batch) -> torch.Tensor:
        """Return (S, B) for sparse rows or dense ones (D, B)."""
        if isinstance(x, SparseBatch):
            return _linear(x, self.weight) + self.bias[:, None]
        return torch.addmm(self.bias[:, None], self.weight.t(), x)


def _linear(x: Batch, weight: torch.Tensor) -> torch.Tensor:
    """A weight (D, S) times sparse rows or dense ones (D, B): (S, B)."""
    return x.times(weight).t() if isinstance(x, SparseBatch) else weight.t() @ x


class TSENet(nn.Module):
    """Tree skeleton expansion network: a sparse deep network over a learned wiring, as an ordinary torch module.

    Each latent of the wiring is one unit, or several, that read its links (the *backbone*). The feature layer has one
    fully connected group that reads the top level and, for the input and each level below the top, a narrow *skip*
    group. The outputs read the feature layer. Use it where you want your own training loop; otherwise
    `TSENetClassifier` and `TSENetRegressor` build and train one.

    Parameters
    ----------
    wiring : Wiring
        Links of L levels over D inputs, from `tsenet.expand`.
    n_outputs : int
        Number of outputs C. Outputs are raw values, without softmax.
    skip_units : int, default=100
        Width of each skip group. 0 leaves the skip paths out: the paper's Backbone.
    feature_units : int, default=100
        Width of the group that reads the top level. Raise it if the top level is wide.
    dropout : float, default=0.5
        Rate after each non-linearity, in training mode. Lower it for narrow layers or many rows.
    linear_skip : bool, default=False
        Whether the outputs also read the input directly, by weights that start at 0. Logistic regression is then a
        special case of the network (wide and deep).
    seed : int or None, default=0
        Of the initial weights, which are drawn uniformly by He's rule. None leaves all weights at 0, for networks whose
        weights are set or loaded next.
    units_per_latent : int, default=1
        Number of units k of each latent. A link between latents is then a block of k × k weights, a link from an input
        k weights. Raise it if the wiring has few latents, or to let a latent tell more than one thing.
    skip_dropout : float, default=0.0
        Share of the training steps in which all skip groups give 0, so that the backbone learns to do without them.
    activation : {"relu", "tanh", "sigmoid"}, default="relu"
        The non-linearity of all hidden units.
    skip_input : bool, default=True
        Whether a skip group reads the input. Without it all that the outputs learn passes through latents, and the
        feature layer reads every level: set it to False if the top level has few latents.

    Attributes
    ----------
    wiring : Wiring
        The links between latents.
    layer_sizes : tuple of int
        Number of units in each layer, the inputs first. Unit j of latent u is number u·k + j of its layer.
    layers : ModuleList of SparseLinear
        The backbone, from the input up.
    skips : ModuleDict
        Skip groups by the layer that they read, ``"0"`` for the input; empty if ``skip_units=0``.
    top, output : Module
        The group that reads the top level, and the outputs.
    linear_skip : Parameter or None
        Weights (D, C) from the input to the outputs; None without them.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> import tsenet
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat(rng.random((300, 4)) < 0.4, 3, axis=1) & (rng.random((300, 12)) < 0.8)
    >>> tree = tsenet.learn_tree(rows, random_state=0)
    >>> wiring = tsenet.expand(tree, rows)
    >>> net = tsenet.TSENet(wiring, n_outputs=2, skip_units=4, feature_units=8).eval()
    >>> net(torch.from_numpy(rows.astype(np.float32))).shape
    torch.Size([300, 2])
    """

    def __init__(
        self,
        wiring: Wiring,
        n_outputs: int,
        *,
        skip_units: int = 100,
        feature_units: int = 100,
        dropout: float = 0.5,
        linear_skip: bool = False,
        seed: int | None = 0,
        units_per_latent: int = 1,
        skip_dropout: float = 0.0,
        activation: Activation = "relu",
        skip_input: bool = True,
    ) -> None:
        super().__init__()
        self.options = NetworkOptions(
            skip_units,
            feature_units,
            dropout,
            linear_skip,
            units_per_latent,
            skip_dropout,
            activation,
            skip_input,
        )
        self.topology = Topology(wiring, n_outputs, self.options)
        self.wiring = wiring
        self.units_per_latent = units_per_latent
        self.layer_sizes = tuple(self.topology.layer_sizes[:-2])
        self.dropout = dropout
        self._generator: np.random.Generator | None = None

        self.layers: Any = nn.ModuleList()
        self.skips: Any = nn.ModuleDict()
        self.top: DenseGroup
        self.output: DenseGroup
        self.linear_skip: nn.Parameter | None
        self.register_parameter("linear_skip", None)

        for block in self.topology.blocks:
            group, _, number = block.name.partition(".")
            if block.sparse is not None:
                self.layers.append(SparseLinear(block.links, activation))
            elif group == "skips":
                self.skips[number] = DenseGroup(block.n_inputs, block.n_units)
            elif group == "linear_skip":
                self.linear_skip = nn.Parameter(torch.zeros(block.weight_shape))
            else:
                self.add_module(group, DenseGroup(block.n_inputs, block.n_units))

        if seed is not None:
            draw_weights(self, seed)

    @classmethod
    def of(
        cls, wiring: Wiring, n_outputs: int, options: NetworkOptions, seed: int | None = None
    ) -> TSENet:
        """A network of some options; without a seed its weights are 0."""
        return cls(wiring, n_outputs, **options.to_dict(), seed=seed)

    @classmethod
    def of_arrays(
        cls, wiring: Wiring, options: NetworkOptions, arrays: dict[str, NDArray[np.float32]]
    ) -> TSENet:
        """A network in evaluation mode that has these parameters, by name, as its memory."""
        n_outputs = arrays["output.bias"].size
        with torch.device("meta"):  # shapes without memory
            net = cls.of(wiring, n_outputs, options)
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        net.load_state_dict(tensors, assign=True)
        return net.eval()

    def begin_step(self, seed: int, step: int) -> None:
        """Choose all dropout masks of the next forward pass in training mode.

        Without it they follow torch's own random numbers.
        """
        self._generator = step_generator(seed, step)

    def forward(self, x: Batch) -> torch.Tensor:
        """Raw outputs (B, C) of a dense batch (B, D) or a sparse one."""
        *_, outputs = self.activations(x)
        return outputs

    def activations(self, x: Batch) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
        """Activations (B, units) of each level and of the feature layer, and raw outputs (B, C)."""
        drawn = self._dropout()
        below = x if isinstance(x, SparseBatch) else x.t()
        levels: list[Any] = [below]
        for layer in self.layers:
            levels.append(layer(levels[-1], drawn))

        if self._skips_are_off():
            n_rows = levels[-1].shape[1]
            groups = [
                levels[-1].new_zeros(skip.bias.numel(), n_rows) for skip in self.skips.values()
            ]
        else:
            groups = [skip(levels[int(level)]) for level, skip in self.skips.items()]

        sums = torch.cat([*groups, self.top(levels[-1])])
        features = activated(sums, self.options.activation, drawn)
        outputs: torch.Tensor = self.output(features)
        if self.linear_skip is not None:
            outputs = outputs + _linear(below, self.linear_skip)

        return [level.t() for level in levels[1:]], features.t(), outputs.t()

    def _dropout(self) -> DropoutMask | None:
        """Random numbers of this pass; None if nothing is dropped."""
        if not self.training or self.dropout == 0.0:
            return None
        return DropoutMask(self.dropout, self._random_numbers())

    def _skips_are_off(self) -> bool:
        """Whether the skip groups give 0 in this pass."""
        share = self.options.skip_dropout
        return self.training and share > 0.0 and self._random_numbers().random() < share

    def _random_numbers(self) -> np.random.Generator:
        """Those of the step, or without a step new ones from torch's."""
        if self._generator is not None:
            return self._generator
        return np.random.Generator(np.random.SFC64(int(torch.randint(2**62, ()))))

    def predictor(self) -> Predictor:
        """What predicts without torch; on the CPU it shares the network's memory, else it has a copy of the weights."""
        made = _predictors.get(self)
        weight = self.output.weight
        if made is None or made.arrays["output.weight"].ctypes.data != weight.data_ptr():
            arrays = {
                name: parameter.detach().cpu().numpy()
                for name, parameter in self.named_parameters()
            }
            made = _predictors[self] = Predictor(self.topology, arrays)
        return made

    def unit_names(self) -> tuple[tuple[str, ...], ...]:
        """Names of the units of each layer, the inputs first: "Z1.3", or "Z1.3/1", "Z1.3/2", … for several units."""
        return (self.wiring.names[0], *self.topology.level_names())

    @property
    def n_parameters(self) -> int:
        """Number of trained parameters."""
        return sum(parameter.numel() for parameter in self.parameters())

    def summary(self) -> pandas.DataFrame:
        """Sizes of each layer, next to those of a dense one.

        Returns
        -------
        DataFrame
            A row for each level, skip group, the top group, the outputs and the linear skip. ``share`` is the number of
            links as a share of a dense layer's, ``parameters`` counts links and biases, ``bytes`` is their size in
            float32, and ``flops`` is for one row without zeros.
        """
        import pandas as pd

        sizes = {}
        for block in self.topology.blocks:
            name = block.name.replace("skips.", "skip ").replace("linear_skip", "linear skip")
            if block.sparse is not None:
                name = f"level {block.above}"
            sizes[name] = (block.n_inputs, block.n_units, prod(block.weight_shape))

        table = pd.DataFrame(sizes, index=["inputs", "units", "links"]).T.rename_axis("layer")
        table["share"] = table["links"] / (table["inputs"] * table["units"]).clip(lower=1)
        biases = table["units"].where(table.index != "linear skip", 0)
        table["parameters"] = table["links"] + biases
        table["bytes"] = 4 * table["parameters"]
        table["flops"] = 2 * table["links"]
        return table


_predictors: WeakKeyDictionary[TSENet, Predictor] = WeakKeyDictionary()
