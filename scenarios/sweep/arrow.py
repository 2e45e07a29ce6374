"""Arrow columns straight from NumPy buffers.

`pyarrow.array` loads pandas to find out whether it was given a Series. That takes longer than a worker process needs
for a whole batch of points, and no worker needs pandas. (`take` would load all of Arrow's functions, too.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


def numbers(values: NDArray[Any], good: NDArray[np.bool_] | None = None) -> pa.Array:
    """A column of int64 or float64 values (n,), null where `good` (n,) is False."""
    import pyarrow as pa

    kind = pa.float64() if values.dtype.kind == "f" else pa.int64()
    values = np.ascontiguousarray(values, np.float64 if values.dtype.kind == "f" else np.int64)
    return pa.Array.from_buffers(kind, len(values), [_validity(good), pa.py_buffer(values)])


def texts(
    different: Sequence[str], which: NDArray[np.int64], good: NDArray[np.bool_] | None = None
) -> pa.Array:
    """A column of texts, row i `different[which[i]]`, null where `good` (n,) is False."""
    import pyarrow as pa

    encoded = [text.encode() for text in different]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    words = pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))
    return pa.DictionaryArray.from_arrays(numbers(which, good), words).dictionary_decode()


def flags(values: NDArray[np.bool_]) -> pa.Array:
    """A column of truth values."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _validity(values)])


def _validity(good: NDArray[np.bool_] | None) -> pa.Buffer | None:
    """Truth values as Arrow keeps them, one bit each, the lowest bit first; nothing where all are true."""
    import pyarrow as pa

    return None if good is None else pa.py_buffer(np.packbits(good, bitorder="little"))
