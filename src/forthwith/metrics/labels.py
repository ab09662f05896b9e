"""Hard answers against hard labels, both as integer codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forthwith.errors import ShapeError
from forthwith.metrics.arrays import IntArray, as_vectors

__all__ = ["accuracy", "balanced_accuracy", "confusion_counts", "majority_share"]


def accuracy(predicted: ArrayLike, labels: ArrayLike) -> float:
    """Share of answers that equal the label.

    Args:
        predicted: shape (n,), option codes.
        labels: shape (n,), option codes.

    Returns:
        In [0, 1]; higher is better. scikit-learn's `accuracy_score`.

    Raises:
        ShapeError: lengths differ or are 0.
    """
    left, right = as_vectors(predicted, labels, "predictions and labels")
    return float(np.count_nonzero(left == right) / left.size)


def balanced_accuracy(predicted: ArrayLike, labels: ArrayLike) -> float:
    """Mean, over the labels that occur, of the share answered right among questions with that label.

    Args:
        predicted: shape (n,), option codes.
        labels: shape (n,), option codes.

    Returns:
        In [0, 1]; higher is better. scikit-learn's `balanced_accuracy_score`. With one label only, its recall.

    Raises:
        ShapeError: lengths differ or are 0.

    References:
        Brodersen et al. (2010), The Balanced Accuracy and Its Posterior Distribution, ICPR.
    """
    left, right = as_vectors(predicted, labels, "predictions and labels")
    classes, codes = np.unique(right, return_inverse=True)
    hits = np.bincount(codes, weights=left == right, minlength=classes.size)
    return float(np.mean(hits / np.bincount(codes, minlength=classes.size)))


def majority_share(labels: ArrayLike) -> float:
    """Share of the commonest label: the accuracy of always giving it.

    Args:
        labels: shape (n,), option codes.

    Returns:
        In (0, 1].

    Raises:
        ShapeError: there are no labels.
    """
    codes, _ = as_vectors(labels, labels, "labels")
    return float(np.max(np.unique(codes, return_counts=True)[1]) / codes.size)


def confusion_counts(predicted: ArrayLike, labels: ArrayLike, *, n_options: int) -> IntArray:
    """How often each label got each answer.

    Args:
        predicted: shape (n,), codes from 0 to `n_options - 1`.
        labels: shape (n,), codes from 0 to `n_options - 1`.
        n_options: number of options K.

    Returns:
        shape (K, K), row = label, column = answer; sums to n. scikit-learn's `confusion_matrix`.

    Raises:
        ShapeError: lengths differ, are 0, or a code is out of range.
    """
    left, right = as_vectors(predicted, labels, "predictions and labels")
    low, high = min(left.min(), right.min()), max(left.max(), right.max())
    if low < 0 or high >= n_options:
        raise ShapeError(f"option codes run from {int(low)} to {int(high)}; they must lie in 0..{n_options - 1}")
    cells = right.astype(np.int64) * n_options + left.astype(np.int64)
    return np.bincount(cells, minlength=n_options**2).reshape(n_options, n_options)
