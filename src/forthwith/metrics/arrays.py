"""Array types of the metrics, and the checks that arrays fit together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forthwith.errors import ShapeError

__all__ = ["BoolArray", "FloatArray", "IntArray", "as_distributions", "as_vectors"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def as_distributions(probabilities: ArrayLike, target: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Two float64 arrays of one shape (..., K), K at least 2.

    Raises:
        ShapeError: the shapes differ, there are fewer than two options, or a value is not finite.
    """
    left, right = np.asarray(probabilities, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if left.shape != right.shape:
        raise ShapeError(f"probabilities have shape {left.shape} and the target {right.shape}; give one row for each")
    if left.ndim == 0 or left.shape[-1] < 2:
        raise ShapeError(f"the last axis is the options and needs at least 2, found shape {left.shape}")
    if not (np.all(np.isfinite(left)) and np.all(np.isfinite(right))):
        raise ShapeError("a probability or target is NaN or infinite; remove or mend the row")
    return left, right


def as_vectors(first: ArrayLike, second: ArrayLike, what: str) -> tuple[FloatArray, FloatArray]:
    """Two float64 vectors of one length n, at least 1.

    Raises:
        ShapeError: not vectors, of different length, empty, or not finite.
    """
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise ShapeError(f"{what} must be vectors of one length, found shapes {left.shape} and {right.shape}")
    if left.size == 0:
        raise ShapeError(f"{what} are empty; a metric of no questions has no value")
    if not (np.all(np.isfinite(left)) and np.all(np.isfinite(right))):
        raise ShapeError(f"{what} hold a NaN or an infinity; remove or mend the row")
    return left, right
