"""Vector instructions for blocks of weights: the units of a latent, or eight rows, in one register.

numba unrolls a loop over few units before it would vectorise it, so these few instructions are written for LLVM by
hand. A block's size is part of the compiled code: it is given as the length of a tuple (``faces``), which numba knows
when it compiles. Each size is compiled on its first use.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.cgutils import ir  # type: ignore[attr-defined]  # llvmlite's, which numba writes with
from numba.extending import intrinsic

from tsenet._system.jit import JIT_IS_OFF
from tsenet.network.kernels import plain_lane_kernels

Piece = Any  # of numba's compiler
LANES = 8  # numbers of one vector: rows side by side
WIDE = 8  # vectors summed at a time; a processor has registers for twice as many

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
    """The intrinsic that sums blocks times the rows of what they read; ``downward`` is the backward pass."""

    def declare(
        _: Piece,
        out: Piece,
        latent: Piece,
        read: Piece,
        row: Piece,
        who: Piece,
        where: Piece,
        step: Piece,
        start: Piece,
        stop: Piece,
        weight: Piece,
        summed: Piece,
        faces: Piece,
        lanes: Piece,
    ) -> Piece:
        n_summed, n_read, n_lanes = summed.count, faces.count, lanes.count

        def code(context: Piece, builder: Piece, signature: Piece, arguments: Piece) -> Piece:
            w = _Writer(context, builder, signature, arguments)
            element, size = w.element(0)
            form = ir.VectorType(element, n_lanes)
            shape = context.make_array(out)(context, builder, arguments[0]).shape
            stride = builder.extract_value(shape, 1)
            out_data, read_data, weights = w.data(0), w.data(2), w.data(9)
            who_data, where_data, step_data = w.data(4), w.data(5), w.data(6)
            first_row = w.index(3)
            width = min(n_summed, 4)
            for part in range(0, n_summed, width):
                own = range(part, min(part + width, n_summed))
                n_vectors = vectors(width, n_lanes)
                totals, places = {}, {}
                for a in own:
                    unit = builder.add(builder.mul(w.index(1), w.number(n_summed)), w.number(a))
                    begin = builder.add(builder.mul(unit, stride), first_row)
                    for v in range(n_vectors):
                        places[a, v] = builder.add(begin, w.number(v * n_lanes))
                        totals[a, v] = _memory(builder, form)
                        value = w.load(out_data, places[a, v], form, size)
                        builder.store(value, totals[a, v])
                with cgutils.for_range(builder, w.index(8), start=w.index(7)) as loop:
                    here = w.entry(5, where_data, loop.index)
                    apart = w.entry(6, step_data, loop.index)
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
                            place = builder.add(here, builder.mul(apart, w.number(i)))
                            place = builder.add(place, w.number(j))
                            number = builder.load(w.at(weights, place))
                            factor = w.splat(number, n_lanes)
                            for v in range(n_vectors):
                                total = builder.load(totals[a, v])
                                total = w.add_product(total, factor, rows[v])
                                builder.store(total, totals[a, v])
                for key, place in places.items():
                    w.store(builder.load(totals[key]), out_data, place, size)
            return context.get_dummy_value()

        arguments = (
            out,
            latent,
            read,
            row,
            who,
            where,
            step,
            start,
            stop,
            weight,
            summed,
            faces,
            lanes,
        )
        return types.void(*arguments), code

    return declare


def vectors(width: int, lanes: int) -> int:
    """Vectors of rows that are summed together, for so many units."""
    return max(1, WIDE // width) if lanes > 1 else 1


def rows_at_a_time(n_units: int) -> int:
    """Rows that `sum_blocks_up` and `sum_blocks_down` handle with `LANES` lanes, for latents of so many units."""
    return LANES * vectors(min(n_units, 4), LANES)


def _block_gradient(
    _: Piece,
    below: Piece,
    lower: Piece,
    delta: Piece,
    upper: Piece,
    gradient: Piece,
    place: Piece,
    step: Piece,
    faces_in: Piece,
    faces_out: Piece,
) -> Piece:
    """Sums over rows of ``below[lower·k_in + i] * delta[upper·k_out + j]``, to ``gradient[place + i·step + j]``."""
    k_in, k_out = faces_in.count, faces_out.count

    def code(context: Piece, builder: Piece, signature: Piece, arguments: Piece) -> Piece:
        w = _Writer(context, builder, signature, arguments)
        element, size = w.element(0)
        form = ir.VectorType(element, LANES)
        shape = context.make_array(below)(context, builder, arguments[0]).shape
        stride = builder.extract_value(shape, 1)
        below_data, delta_data, out_data = w.data(0), w.data(2), w.data(4)
        whole = builder.udiv(stride, w.number(LANES))
        done = builder.mul(whole, w.number(LANES))

        def begin(latent: Piece, k: Piece, face: Piece) -> Piece:
            unit = builder.add(builder.mul(w.index(latent), w.number(k)), w.number(face))
            return builder.mul(unit, stride)

        for i_0, i_1, j_0, j_1 in _gradient_tiles(k_in, k_out):
            pairs = [(i, j) for i in range(i_0, i_1) for j in range(j_0, j_1)]
            totals = {pair: _memory(builder, form) for pair in pairs}
            single = {pair: _memory(builder, element) for pair in pairs}
            for total in totals.values():
                builder.store(ir.Constant(form, [0.0] * LANES), total)
            with cgutils.for_range(builder, whole) as loop:
                row = builder.mul(loop.index, w.number(LANES))
                left = {
                    i: w.load(below_data, builder.add(begin(1, k_in, i), row), form, size)
                    for i in range(i_0, i_1)
                }
                right = {
                    j: w.load(delta_data, builder.add(begin(3, k_out, j), row), form, size)
                    for j in range(j_0, j_1)
                }
                for i, j in pairs:
                    total = builder.load(totals[i, j])
                    builder.store(w.add_product(total, left[i], right[j]), totals[i, j])
            for pair in pairs:
                builder.store(w.sum(builder.load(totals[pair])), single[pair])
            with cgutils.for_range(builder, stride, start=done) as loop:
                for i, j in pairs:
                    x = builder.load(w.at(below_data, builder.add(begin(1, k_in, i), loop.index)))
                    y = builder.load(w.at(delta_data, builder.add(begin(3, k_out, j), loop.index)))
                    total = builder.load(single[i, j])
                    builder.store(w.add_product(total, x, y), single[i, j])
            for i, j in pairs:
                where = builder.add(w.index(5), builder.mul(w.index(6), w.number(i)))
                builder.store(
                    builder.load(single[i, j]), w.at(out_data, builder.add(where, w.number(j)))
                )
        return context.get_dummy_value()

    arguments = (below, lower, delta, upper, gradient, place, step, faces_in, faces_out)
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
        form = ir.VectorType(element, LANES)
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
            for r in range(LANES)
        ]
        if not isinstance(bias, types.NoneType):
            added = w.load(w.data(2), w.index(3), form, size)
            rows = [builder.fadd(row, added) for row in rows]
        half = LANES // 2
        while half:  # exchange ever smaller squares beside the diagonal
            low = [LANES + c - half if c & half else c for c in range(LANES)]
            high = [LANES + c if c & half else c + half for c in range(LANES)]
            for r in range(LANES):
                if not r & half:
                    pair = rows[r], rows[r + half]
                    rows[r], rows[r + half] = (
                        builder.shuffle_vector(
                            *pair, ir.Constant(ir.VectorType(ir.IntType(32), LANES), mask)
                        )
                        for mask in (low, high)
                    )
            half //= 2
        for r, row in enumerate(rows):
            where = builder.add(w.index(5), builder.mul(strides[1], w.number(r)))
            w.store(row, w.data(4), where, size)
        return context.get_dummy_value()

    return types.void(source, place, bias, unit, out, out_place), code


def _gradient_tiles(k_in: int, k_out: int) -> list[tuple[int, int, int, int]]:
    """Parts of a block whose sums stay in registers."""
    tall = min(k_in, 4)
    wide = min(k_out, max(1, WIDE // tall))
    return [
        (i, min(i + tall, k_in), j, min(j + wide, k_out))
        for i in range(0, k_in, tall)
        for j in range(0, k_out, wide)
    ]


def _instruction(written: Piece, plain: Piece) -> Piece:
    """For numba's compiler; in plain Python, where it is switched off."""
    return plain if JIT_IS_OFF else intrinsic(written)


add_scaled: Piece = _instruction(_add_scaled, plain_lane_kernels.add_scaled)
add_two_scaled: Piece = _instruction(_add_two_scaled, plain_lane_kernels.add_two_scaled)
sum_blocks_up: Piece = _instruction(_sum_blocks(downward=False), plain_lane_kernels.sum_blocks_up)
sum_blocks_down: Piece = _instruction(
    _sum_blocks(downward=True), plain_lane_kernels.sum_blocks_down
)
block_gradient: Piece = _instruction(_block_gradient, plain_lane_kernels.block_gradient)
transpose_tile: Piece = _instruction(_transpose_tile, plain_lane_kernels.transpose_tile)
