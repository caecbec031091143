"""Ascending numbers in few bits: which entries of a large array a file holds (Elias–Fano coding).

m numbers below n take about 2 + log₂(n / m) bits each. The low l bits of each number, l = ⌊log₂(n / m)⌋, are written as
they are. The rest, ``number >> l``, ascends from 0 to n >> l: it is written as a row of bits in which number i of the
list is a 1 at place ``(number >> l) + i``. Both rows of bits fill whole bytes, the highest bit first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["pack_places", "unpack_places"]


def pack_places(places: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.uint8]:
    """Write strictly ascending numbers below ``n`` as bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.store.places import pack_places, unpack_places
    >>> packed = pack_places(np.array([3, 50, 900]), 1000)
    >>> packed.size, unpack_places(packed, 3, 1000).tolist()
    (5, [3, 50, 900])
    """
    low = _low_bits(places.size, n)
    high = np.zeros(places.size + (n >> low) + 1, np.uint8)
    high[(places >> low) + np.arange(places.size)] = 1
    bits = np.empty((places.size, low), np.uint8)
    for bit in range(low):  # one at a time: all at once would take eight bytes for each
        bits[:, bit] = (places >> bit) & 1
    return np.concatenate([np.packbits(high), np.packbits(bits.reshape(-1))])


def unpack_places(packed: npt.NDArray[np.uint8], m: int, n: int) -> npt.NDArray[np.int64]:
    """Read the ``m`` numbers below ``n`` that :func:`pack_places` wrote.

    Raises
    ------
    ValueError
        If the bytes are not such numbers.
    """
    if packed.dtype != np.uint8 or packed.ndim != 1:
        raise ValueError("places need a row of bytes")
    if not 0 <= m <= n:
        raise ValueError(f"there cannot be {m} places below {n}")
    if m > 8 * packed.size:
        raise ValueError(f"{packed.size} bytes are too few for {m} places")
    low = _low_bits(m, n)
    n_high = m + (n >> low) + 1
    size = -(-n_high // 8)
    if packed.size != size + -(-m * low // 8):
        raise ValueError(f"{packed.size} bytes do not fit {m} places below {n}")
    ones = np.flatnonzero(np.unpackbits(packed[:size]))
    if ones.size != m:
        raise ValueError(f"the bytes hold {ones.size} places, not {m}")
    bits = np.unpackbits(packed[size:], count=m * low).reshape(m, low)
    places: npt.NDArray[np.int64] = (ones - np.arange(m)) << low
    for bit in range(low):
        places += bits[:, bit].astype(np.int64) << bit
    if m and (places[-1] >= n or (places[1:] <= places[:-1]).any()):
        raise ValueError(f"the places do not ascend, or reach beyond {n}")
    return places


def _low_bits(m: int, n: int) -> int:
    """Number of bits of each number that are written as they are."""
    return max(0, (n // max(1, m)).bit_length() - 1)
