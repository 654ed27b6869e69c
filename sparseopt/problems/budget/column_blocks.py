"""A matrix that is held, or read, in blocks of columns: :class:`ColumnBlocks`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, unmasked


class ColumnBlocks:
    """Blocks of columns side by side, of which only what is asked for is read.

    Parameters
    ----------
    blocks : sequence of arrays of shape (n, d_b), or of objects like them
        Each has ``shape`` and ``dtype``, and gives ``block[:, a:b]``: arrays, memory-mapped files,
        data sets of h5py or zarr.

    Raises
    ------
    ProblemError
        When a block is no matrix of real numbers, or has another number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = ColumnBlocks([np.zeros((3, 2)), np.ones((3, 4))])
    >>> X.shape, X[:, 1:3].tolist()
    ((3, 6), [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    """

    ndim = 2

    def __init__(self, blocks: Sequence[Any]) -> None:
        self._blocks = list(blocks)
        if not self._blocks:
            raise ProblemError("X has no block of columns; expected at least one", "X")
        for b, block in enumerate(self._blocks):
            unmasked(f"block {b} of X", block)
            shape, dtype = getattr(block, "shape", None), getattr(block, "dtype", None)
            if shape is None or len(shape) != 2 or np.dtype(dtype).kind not in "biuf":
                raise ProblemError(
                    f"block {b} of X is a {type(block).__name__} of shape {shape} and type "
                    f"{dtype}; expected a matrix of real numbers",
                    "X",
                )
            if shape[0] != self._blocks[0].shape[0]:
                raise ProblemError(
                    f"block {b} of X has {shape[0]} rows, block 0 has {self._blocks[0].shape[0]}",
                    "X",
                )
        widths = [int(block.shape[1]) for block in self._blocks]
        self._start = np.cumsum([0, *widths])
        self.shape = (int(self._blocks[0].shape[0]), int(self._start[-1]))
        self.dtype = np.result_type(*(np.dtype(block.dtype) for block in self._blocks))

    def __getitem__(self, key: Any) -> Array:
        if not isinstance(key, tuple):
            # Rows: one block after the other.
            return np.concatenate([self._part(b)[key] for b in range(len(self._blocks))], axis=-1)
        rows, columns = key
        if not (isinstance(rows, slice) and rows == slice(None)):
            raise IndexError("a ColumnBlocks gives whole columns, X[:, columns], or whole rows")
        if isinstance(columns, slice):
            first, last, step = columns.indices(self.shape[1])
            if step == 1:
                return self._read(first, max(first, last))
            columns = np.arange(first, last, step)
        index = np.asarray(columns)
        wanted, place = np.unique(index, return_inverse=True)
        found = np.empty((self.shape[0], len(wanted)), dtype=self.dtype)
        block = np.searchsorted(self._start, wanted, side="right") - 1
        for b in np.unique(block):
            here = np.flatnonzero(block == b)
            own = wanted[here] - self._start[b]
            part = np.asarray(self._blocks[b][:, int(own[0]) : int(own[-1]) + 1])
            found[:, here] = part[:, own - own[0]]
        return found[:, place.reshape(index.shape)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self._read(0, self.shape[1]), dtype=dtype)

    def _part(self, b: int) -> Array:
        return np.asarray(self._blocks[b][:, :])

    def _read(self, first: int, last: int) -> Array:
        parts = [
            np.asarray(block[:, max(first - start, 0) : min(last - start, block.shape[1])])
            for block, start in zip(self._blocks, self._start[:-1].tolist(), strict=True)
            if start < last and first < start + block.shape[1]
        ]
        if not parts:
            return np.empty((self.shape[0], 0), dtype=self.dtype)
        return np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]
