"""`fetch_ahead`: prefetch memory that a kernel will read soon."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.core.cgutils import ir  # type: ignore[attr-defined]  # llvmlite's, which numba writes with
from numba.extending import intrinsic

from tsenet._system.jit import JIT_IS_OFF, Array, Int, kernel

Piece = Int  # an object of numba's compiler, untyped

LINE = 64  # bytes of a cache line; a wrong value costs time only


def _instruction(_: Piece, array: Piece, place: Piece) -> Piece:
    """LLVM's prefetch (for reading, into all caches) of ``array[place]``: nothing is read, so nothing can go wrong."""

    def code(context: Piece, builder: Piece, signature: Piece, arguments: Piece) -> Piece:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = context.cast(builder, arguments[1], signature.args[1], types.intp)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], form)
        address = builder.bitcast(builder.gep(data, [place]), byte)
        builder.call(prefetch, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, place), code


def _no_prefetch(array: Array, place: Int) -> None:
    """In plain Python there is nothing to do."""


_prefetch: Piece = _no_prefetch if JIT_IS_OFF else intrinsic(_instruction)


@kernel
def fetch_ahead(array: Array, first: Int, last: Int) -> None:
    """Prefetch ``array[first:last]`` of a one-dimensional array into the caches."""
    place = np.int64(first)
    while place < last:
        _prefetch(array, place)
        place += LINE // array.itemsize
