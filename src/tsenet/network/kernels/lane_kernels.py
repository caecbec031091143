"""Vector instructions for blocks of weights: the units of a latent, or sixteen rows, in one register.

numba unrolls a loop over few units before it would vectorise it, so these few instructions are written for LLVM by
hand. A block's size is part of the compiled code: it is given as the length of a tuple (``faces``), which numba knows
when it compiles. Each size is compiled on its first use.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.cgutils import ir  # type: ignore[attr-defined]  # llvmlite's, which numba writes with
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic

from tsenet._system.jit import JIT_IS_OFF
from tsenet.network.kernels import plain_lane_kernels

Piece = Any  # of numba's compiler
LANES = 16  # numbers of one vector: rows side by side; shorter registers share it
SQUARE = 8  # units and rows that are transposed together
_features: Piece = get_host_cpu_features  # untyped
#: Vectors summed at a time: their registers, and those of what they read, are what a processor has. The sums of a
#: unit are taken in the same order for any number.
WIDE = 8 if "+avx512f" in _features() else 4

_TALL = 4  # units of a latent summed at a time
_INDEX = ir.IntType(64)
_memory: Piece = cgutils.alloca_once  # which LLVM turns into registers


class _Writer:
    """Writes loads, products and stores of vectors."""

    def __init__(self, context: Piece, builder: Piece, signature: Piece, arguments: Piece) -> None:
        self.context, self.builder = context, builder
        self.types, self.arguments = signature.args, arguments

    def data(self, number: Piece) -> Piece:
        """Where the array that is argument ``number`` begins."""
        make = self.context.make_array(self.types[number])
        return make(self.context, self.builder, self.arguments[number]).data

    def index(self, number: Piece) -> Piece:
        """A whole number among the arguments, as 64 bits."""
        kind = self.types[number]
        return self.context.cast(self.builder, self.arguments[number], kind, types.intp)

    def element(self, number: Piece) -> Piece:
        """Type of an array's entries, and their size in bytes."""
        dtype = self.types[number].dtype
        return self.context.get_value_type(dtype), dtype.bitwidth // 8

    def at(self, data: Piece, place: Piece) -> Piece:
        """Address of an array's entry."""
        return self.builder.gep(data, [place])

    def entry(self, number: Piece, data: Piece, place: Piece) -> Piece:
        """One whole number of an array, as 64 bits."""
        value = self.builder.load(self.at(data, place))
        return self.context.cast(self.builder, value, self.types[number].dtype, types.intp)

    def load(self, data: Piece, place: Piece, form: Piece, size: Piece) -> Piece:
        """A vector of an array, from a place on."""
        where = self.builder.bitcast(self.at(data, place), form.as_pointer())
        return self.builder.load(where, align=size)

    def store(self, value: Piece, data: Piece, place: Piece, size: Piece) -> None:
        """Write a vector to an array, from a place on."""
        where = self.builder.bitcast(self.at(data, place), value.type.as_pointer())
        self.builder.store(value, where, align=size)

    def splat(self, value: Piece, lanes: Piece) -> Piece:
        """A vector of equal numbers."""
        form = ir.VectorType(value.type, lanes)
        empty = ir.Constant(form, ir.Undefined)
        first = self.builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        return self.builder.shuffle_vector(first, empty, mask)

    def add_product(self, total: Piece, a: Piece, b: Piece) -> Piece:
        """total + a · b, in one instruction where there is one."""
        product = self.builder.fmul(a, b, flags=("contract",))
        return self.builder.fadd(total, product, flags=("contract",))

    def sum(self, value: Piece) -> Piece:
        """Sum of a vector's numbers."""
        lanes = value.type.count
        while lanes > 1:
            lanes //= 2
            halves = [
                self.builder.shuffle_vector(
                    value,
                    value,
                    ir.Constant(
                        ir.VectorType(ir.IntType(32), lanes), list(range(start, start + lanes))
                    ),
                )
                for start in (0, lanes)
            ]
            value = self.builder.fadd(*halves)
        return self.builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    def number(self, value: Piece) -> Piece:
        """A whole number known when compiling."""
        return ir.Constant(_INDEX, value)


def _add_scaled(
    _: Piece, out: Piece, place: Piece, value: Piece, weight: Piece, start: Piece, faces: Piece
) -> Piece:
    """``out[place:place + k] += value * weight[start:start + k]``, rounded after each operation."""

    def code(context: Piece, builder: Piece, signature: Piece, arguments: Piece) -> Piece:
        w = _Writer(context, builder, signature, arguments)
        element, size = w.element(0)
        form = ir.VectorType(element, faces.count)
        out_data, here = w.data(0), w.index(1)
        scale = context.cast(builder, arguments[2], value, out.dtype)
        added = w.load(w.data(3), w.index(4), form, size)
        product = builder.fmul(w.splat(scale, faces.count), added)
        total = builder.fadd(w.load(out_data, here, form, size), product)
        w.store(total, out_data, here, size)
        return context.get_dummy_value()

    return types.void(out, place, value, weight, start, faces), code


def _add_two_scaled(
    _: Piece,
    out: Piece,
    place: Piece,
    one: Piece,
    first: Piece,
    other: Piece,
    second: Piece,
    start: Piece,
    faces: Piece,
) -> Piece:
    """``out[place:…k] += one * first[start:…k] + other * second[start:…k]``."""

    def code(context: Piece, builder: Piece, signature: Piece, arguments: Piece) -> Piece:
        w = _Writer(context, builder, signature, arguments)
        element, size = w.element(0)
        form = ir.VectorType(element, faces.count)
        out_data, here, there = w.data(0), w.index(1), w.index(6)
        total = w.load(out_data, here, form, size)
        for scale, row in ((2, 3), (4, 5)):
            number = context.cast(builder, arguments[scale], signature.args[scale], out.dtype)
            vector = w.load(w.data(row), there, form, size)
            total = w.add_product(total, w.splat(number, faces.count), vector)
        w.store(total, out_data, here, size)
        return context.get_dummy_value()

    return types.void(out, place, one, first, other, second, start, faces), code


def _sum_blocks(downward: Piece) -> Piece:
    """The intrinsic that sums blocks times the rows of what they read; ``downward`` is the backward pass.

    Link ``start + m`` reads latent ``who[start + m]``; its block begins at ``place + m * apart`` in the weights, and
    its rows are ``step`` apart.
    """

    def declare(
        _: Piece,
        out: Piece,
        latent: Piece,
        read: Piece,
        row: Piece,
        who: Piece,
        start: Piece,
        stop: Piece,
        weight: Piece,
        place: Piece,
        apart: Piece,
        step: Piece,
        summed: Piece,
        faces: Piece,
        lanes: Piece,
        vectors: Piece,
    ) -> Piece:
        n_summed, n_read = summed.count, faces.count
        n_lanes, n_vectors = lanes.count, vectors.count

        def code(context: Piece, builder: Piece, signature: Piece, arguments: Piece) -> Piece:
            w = _Writer(context, builder, signature, arguments)
            element, size = w.element(0)
            form = ir.VectorType(element, n_lanes)
            shape = context.make_array(out)(context, builder, arguments[0]).shape
            stride = builder.extract_value(shape, 1)
            out_data, read_data, who_data, weights = w.data(0), w.data(2), w.data(4), w.data(7)
            first_row, first_link = w.index(3), w.index(5)
            width = min(n_summed, _TALL)
            for part in range(0, n_summed, width):
                own = range(part, min(part + width, n_summed))
                totals, places = {}, {}
                for a in own:
                    unit = builder.add(builder.mul(w.index(1), w.number(n_summed)), w.number(a))
                    begin = builder.add(builder.mul(unit, stride), first_row)
                    for v in range(n_vectors):
                        places[a, v] = builder.add(begin, w.number(v * n_lanes))
                        totals[a, v] = _memory(builder, form)
                        value = w.load(out_data, places[a, v], form, size)
                        builder.store(value, totals[a, v])
                with cgutils.for_range(builder, w.index(6), start=first_link) as loop:
                    number = builder.sub(loop.index, first_link)
                    here = builder.add(w.index(8), builder.mul(number, w.index(9)))
                    latent_read = w.entry(4, who_data, loop.index)
                    for b in range(n_read):
                        unit = builder.add(builder.mul(latent_read, w.number(n_read)), w.number(b))
                        begin = builder.add(builder.mul(unit, stride), first_row)
                        rows = [
                            w.load(read_data, builder.add(begin, w.number(v * n_lanes)), form, size)
                            for v in range(n_vectors)
                        ]
                        for a in own:
                            i, j = (a, b) if downward else (b, a)
                            at = builder.add(here, builder.mul(w.index(10), w.number(i)))
                            one = builder.load(w.at(weights, builder.add(at, w.number(j))))
                            factor = w.splat(one, n_lanes)
                            for v in range(n_vectors):
                                total = builder.load(totals[a, v])
                                total = w.add_product(total, factor, rows[v])
                                builder.store(total, totals[a, v])
                for key, at in places.items():
                    w.store(builder.load(totals[key]), out_data, at, size)
            return context.get_dummy_value()

        arguments = (
            out,
            latent,
            read,
            row,
            who,
            start,
            stop,
            weight,
            place,
            apart,
            step,
            summed,
            faces,
            lanes,
            vectors,
        )
        return types.void(*arguments), code

    return declare


def vectors_of(n_units: int) -> tuple[int, ...]:
    """As many zeros as vectors of rows are summed together, for latents of so many units; at most 64 rows."""
    return (0,) * min(4, max(1, WIDE // min(n_units, _TALL)))


def _tile_gradient(
    _: Piece,
    below: Piece,
    lower: Piece,
    delta: Piece,
    unit: Piece,
    gradient: Piece,
    place: Piece,
    first: Piece,
    face: Piece,
    tall: Piece,
    wide: Piece,
) -> Piece:
    """Sums over rows of ``below[:, lower[first + i]] * delta[:, unit + j]``, to ``gradient[place[first + i] + j]``.

    ``unit`` and the places are those of the first face of a latent; ``face`` is added to both. ``below`` and ``delta``
    are (chunks, units, rows).
    """
    n_tall, n_wide = tall.count, wide.count

    def code(context: Piece, builder: Piece, signature: Piece, arguments: Piece) -> Piece:
        w = _Writer(context, builder, signature, arguments)
        element, size = w.element(0)
        form = ir.VectorType(element, LANES)

        def shape(number: Piece) -> Piece:
            found = context.make_array(signature.args[number])(context, builder, arguments[number])
            return [builder.extract_value(found.shape, k) for k in range(3)]

        n_chunks, n_below, n_rows = shape(0)
        n_above = shape(2)[1]
        below_data, lower_data, delta_data = w.data(0), w.data(1), w.data(2)
        out_data, place_data = w.data(4), w.data(5)
        numbers = [builder.add(w.index(6), w.number(i)) for i in range(n_tall)]
        unit = builder.add(w.index(3), w.index(7))
        left = [builder.mul(w.entry(1, lower_data, m), n_rows) for m in numbers]
        right = [builder.mul(builder.add(unit, w.number(j)), n_rows) for j in range(n_wide)]
        pairs = [(i, j) for i in range(n_tall) for j in range(n_wide)]
        totals = {pair: _memory(builder, form) for pair in pairs}
        for total in totals.values():
            builder.store(ir.Constant(form, [0.0] * LANES), total)
        with cgutils.for_range(builder, n_chunks) as chunk:
            of_below = w.at(below_data, builder.mul(builder.mul(chunk.index, n_below), n_rows))
            of_delta = w.at(delta_data, builder.mul(builder.mul(chunk.index, n_above), n_rows))
            with cgutils.for_range(builder, builder.udiv(n_rows, w.number(LANES))) as loop:
                row = builder.mul(loop.index, w.number(LANES))
                x = [w.load(of_below, builder.add(at, row), form, size) for at in left]
                y = [w.load(of_delta, builder.add(at, row), form, size) for at in right]
                for i, j in pairs:
                    total = w.add_product(builder.load(totals[i, j]), x[i], y[j])
                    builder.store(total, totals[i, j])
        for i, j in pairs:
            at = builder.add(w.entry(5, place_data, numbers[i]), w.index(7))
            where = w.at(out_data, builder.add(at, w.number(j)))
            builder.store(w.sum(builder.load(totals[i, j])), where)
        return context.get_dummy_value()

    arguments = (below, lower, delta, unit, gradient, place, first, face, tall, wide)
    return types.void(*arguments), code


def _transpose_tile(
    _: Piece, source: Piece, place: Piece, bias: Piece, unit: Piece, out: Piece, out_place: Piece
) -> Piece:
    """Transpose 8 × 8 entries of ``source`` from ``place`` on to ``out`` from ``out_place`` on; both are (·, ·).

    ``bias[unit:unit + 8]`` is added to each row that is read; if ``bias`` is None, nothing is.
    """

    def code(context: Piece, builder: Piece, signature: Piece, arguments: Piece) -> Piece:
        w = _Writer(context, builder, signature, arguments)
        element, size = w.element(0)
        form = ir.VectorType(element, SQUARE)
        strides = [
            builder.extract_value(
                context.make_array(signature.args[n])(context, builder, arguments[n]).shape, 1
            )
            for n in (0, 4)
        ]
        rows = [
            w.load(
                w.data(0),
                builder.add(w.index(1), builder.mul(strides[0], w.number(r))),
                form,
                size,
            )
            for r in range(SQUARE)
        ]
        if not isinstance(bias, types.NoneType):
            added = w.load(w.data(2), w.index(3), form, size)
            rows = [builder.fadd(row, added) for row in rows]
        half = SQUARE // 2
        while half:  # exchange ever smaller squares beside the diagonal
            low = [SQUARE + c - half if c & half else c for c in range(SQUARE)]
            high = [SQUARE + c if c & half else c + half for c in range(SQUARE)]
            for r in range(SQUARE):
                if not r & half:
                    pair = rows[r], rows[r + half]
                    rows[r], rows[r + half] = (
                        builder.shuffle_vector(
                            *pair, ir.Constant(ir.VectorType(ir.IntType(32), SQUARE), mask)
                        )
                        for mask in (low, high)
                    )
            half //= 2
        for r, row in enumerate(rows):
            where = builder.add(w.index(5), builder.mul(strides[1], w.number(r)))
            w.store(row, w.data(4), where, size)
        return context.get_dummy_value()

    return types.void(source, place, bias, unit, out, out_place), code


def _instruction(written: Piece, plain: Piece) -> Piece:
    """For numba's compiler; in plain Python, where it is switched off."""
    return plain if JIT_IS_OFF else intrinsic(written)


add_scaled: Piece = _instruction(_add_scaled, plain_lane_kernels.add_scaled)
add_two_scaled: Piece = _instruction(_add_two_scaled, plain_lane_kernels.add_two_scaled)
sum_blocks_up: Piece = _instruction(_sum_blocks(downward=False), plain_lane_kernels.sum_blocks_up)
sum_blocks_down: Piece = _instruction(
    _sum_blocks(downward=True), plain_lane_kernels.sum_blocks_down
)
tile_gradient: Piece = _instruction(_tile_gradient, plain_lane_kernels.tile_gradient)
transpose_tile: Piece = _instruction(_transpose_tile, plain_lane_kernels.transpose_tile)
