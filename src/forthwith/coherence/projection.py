"""The nearest coherent answers of a family, and what incoherence costs for certain.

Each possible truth j fixes every member's answer: a world v_j of zeros and ones. Coherent answers are the mixtures of
worlds. The squared distance d² of a family vector x to them is its sure loss: whatever is true, moving to the nearest
mixture lowers the squared error by at least d² (de Finetti, 1974; Predd et al., 2009).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog  # pyright: ignore[reportUnknownVariableType]

from forthwith.coherence.families import Family
from forthwith.errors import ShapeError

__all__ = [
    "INCOHERENT_ABOVE",
    "Projection",
    "coherent_probabilities",
    "family_vector",
    "project",
    "sure_loss",
    "sure_loss_gradient",
    "unit_bet_loss",
    "worlds",
]

FloatArray = NDArray[np.float64]

INCOHERENT_ABOVE = 0.01
"""A family whose sure loss exceeds this counts as incoherent."""

_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Projection:
    """The coherent answers nearest to a family vector.

    Attributes:
        primary: shape (K,), the primary's coherent distribution, in `option_keys` order.
        members: shape (family.size,), every member's coherent answer, in the order of the family vector.
        distance: weighted squared distance moved; with weight 1 the sure loss d².
    """

    primary: FloatArray
    members: FloatArray
    distance: float


def family_vector(family: Family, primary: FloatArray, siblings: Mapping[str, FloatArray]) -> FloatArray:
    """The answers of a family as one vector.

    Args:
        family: the family.
        primary: shape (K,), the primary's distribution in `option_keys` order.
        siblings: each sibling's distribution, by sibling id, in its own `option_keys` order.

    Returns:
        choice: (p_1..p_K, a_k of each asked option); noul: (P(yes), P(yes) of the negation, P(true), P(false));
        score: (p_0..p_{K-1}, b_t of each asked level).

    Raises:
        ShapeError: a sibling is missing, or a distribution has the wrong length, a value outside [0, 1], or a sum
            other than 1.
    """
    if missing := [sibling for sibling in family.siblings if sibling not in siblings]:
        raise ShapeError(f"no answer for the sibling {missing[0]!r}; a family needs {', '.join(family.siblings)}")
    top = _distribution("primary", primary, family.options)
    if family.type == "noul":
        negation = _distribution("not", siblings["not"], 2)
        claim = _distribution("true_or_false", siblings["true_or_false"], 2)
        return np.array([top[1], negation[1], claim[0], claim[1]])
    asked = [_distribution(sibling, siblings[sibling], 2)[1] for sibling in family.siblings]
    return np.concatenate([top, asked])


def worlds(family: Family) -> FloatArray:
    """What each truth makes of a family's answers: shape (K, family.size), zeros and ones; row j for option j."""
    if family.type == "noul":
        return np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]])
    return np.concatenate([np.eye(family.options), _links(family).T], axis=1)


def project(family: Family, vector: FloatArray, *, weight: float = 1.0) -> Projection:
    """The coherent answers that minimise the squared distance, with `weight` on the primary's part of it.

    Args:
        family: the family.
        vector: shape (family.size,), as `family_vector` gives it.
        weight: λ > 0; 1 treats all members alike, infinity keeps the primary as it is.

    Returns:
        The unique minimiser: in closed form for choice and noul, by the active set of a small quadratic programme for
        score.

    Raises:
        ShapeError: wrong length, or a weight that is not positive.
    """
    x = _checked(family, vector)
    if not weight > 0:
        raise ShapeError(f"the weight of the primary is {weight!r}; it must be positive")
    if family.type == "noul":
        yes = _noul_yes(x, weight)
        primary = np.array([1.0 - yes, yes])
    elif math.isinf(weight):
        primary = x[: family.options]
    elif family.type == "choice":
        primary = _project_choice(family, x, weight)
    else:
        primary = _project_score(family, x, weight)
    members = primary @ worlds(family)
    gaps = (x - members) ** 2
    primary_part = 1 if family.type == "noul" else family.options
    scale = 0.0 if math.isinf(weight) else weight
    distance = scale * float(np.sum(gaps[:primary_part])) + float(np.sum(gaps[primary_part:]))
    return Projection(primary, members, distance)


def coherent_probabilities(
    family: Family, primary: FloatArray, siblings: Mapping[str, FloatArray], *, weight: float = 1.0
) -> FloatArray:
    """The primary's distribution after its family has been made to agree; shape (K,), sums to 1.

    Arguments and errors as in `family_vector` and `project`.
    """
    return project(family, family_vector(family, primary, siblings), weight=weight).primary


def sure_loss(family: Family, vector: FloatArray) -> float:
    """d²: the squared distance to the coherent answers, summed over the family's probabilities; 0 if coherent.

    A bookmaker who may stake a unit in the Euclidean norm wins sqrt(d²) for certain.
    """
    return project(family, vector).distance


def sure_loss_gradient(family: Family, vector: FloatArray) -> FloatArray:
    """The gradient of `sure_loss` with respect to the family vector, 2 (x - Π(x)); shape (family.size,)."""
    return 2.0 * (_checked(family, vector) - project(family, vector).members)


def unit_bet_loss(family: Family, vector: FloatArray) -> float:
    """D1: the money lost for certain to bets of at most one unit on each answer; the L1 distance to coherence.

    Solved as a linear programme: minimise Σ e with -e ≤ x - V'q ≤ e over mixtures q.
    """
    x = _checked(family, vector)
    corners = worlds(family).T  # (n, K)
    n, k = corners.shape
    cost = np.concatenate([np.zeros(k), np.ones(n)])
    bounds = np.block([[corners, -np.eye(n)], [-corners, -np.eye(n)]])
    simplex = np.concatenate([np.ones(k), np.zeros(n)])[None, :]
    solution = linprog(cost, A_ub=bounds, b_ub=np.concatenate([x, -x]), A_eq=simplex, b_eq=[1.0], method="highs")
    return max(0.0, float(solution.fun))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def _links(family: Family) -> FloatArray:
    """Shape (siblings, K): 1 where option k makes the sibling's answer yes."""
    options = np.arange(family.options)[None, :]
    asked = np.array(family.asked)[:, None]
    return (options == asked if family.type == "choice" else options >= asked).astype(np.float64)


def _noul_yes(x: FloatArray, weight: float) -> float:
    if math.isinf(weight):
        return float(x[0])
    return float((weight * x[0] + (1 - x[1]) + x[2] + (1 - x[3])) / (weight + 3))


def _project_choice(family: Family, x: FloatArray, weight: float) -> FloatArray:
    """Weighted projection to the simplex: q_k = max(0, m_k - t / w_k), t such that Σ q = 1."""
    asked = np.zeros(family.options)
    answers = np.zeros(family.options)
    asked[list(family.asked)] = 1.0
    answers[list(family.asked)] = x[family.options :]
    w = weight + asked
    m = (weight * x[: family.options] + asked * answers) / w
    order = np.argsort(-(m * w), kind="stable")  # option k leaves the support when t reaches m_k w_k
    levels = (np.cumsum(m[order]) - 1.0) / np.cumsum(1.0 / w[order])
    size = int(np.flatnonzero((m * w)[order] > levels)[-1]) + 1
    return np.maximum(0.0, m - levels[size - 1] / w)


def _project_score(family: Family, x: FloatArray, weight: float) -> FloatArray:
    links = _links(family)
    hessian = weight * np.eye(family.options) + links.T @ links
    pull = weight * x[: family.options] + links.T @ x[family.options :]
    return _simplex_programme(hessian, pull)


def _simplex_programme(hessian: FloatArray, pull: FloatArray, *, rounds: int = 50) -> FloatArray:
    """Minimise q'Hq/2 - g'q over the simplex, H positive definite: change the support, at worst try all of them."""
    size = pull.size
    support = np.ones(size, dtype=bool)
    for _ in range(rounds):
        q, price = _on_support(hessian, pull, support)
        if np.any(q < 0):
            support = q > 0
            continue
        slack = hessian @ q - pull + price
        worst = int(np.argmin(np.where(support, np.inf, slack)))
        if support.all() or slack[worst] >= -1e-12:
            return q
        support[worst] = True
    return _best_support(hessian, pull)


def _on_support(hessian: FloatArray, pull: FloatArray, support: NDArray[np.bool_]) -> tuple[FloatArray, float]:
    inside = np.flatnonzero(support)
    n = inside.size
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = hessian[np.ix_(inside, inside)]
    system[n, n] = 0.0
    solved = np.linalg.solve(system, np.append(pull[inside], 1.0))
    q = np.zeros(pull.size)
    q[inside] = solved[:n]
    return q, float(solved[n])


def _best_support(hessian: FloatArray, pull: FloatArray) -> FloatArray:
    best, least = np.full(pull.size, 1.0 / pull.size), np.inf
    for count in range(1, pull.size + 1):
        for inside in combinations(range(pull.size), count):
            support = np.isin(np.arange(pull.size), inside)
            q, _ = _on_support(hessian, pull, support)
            value = float(q @ hessian @ q / 2 - pull @ q)
            if np.all(q >= 0) and value < least:
                best, least = q, value
    return best


def _checked(family: Family, vector: FloatArray) -> FloatArray:
    x = np.asarray(vector, dtype=np.float64)
    if x.shape != (family.size,) or not np.all(np.isfinite(x)):
        raise ShapeError(f"a {family.type} family has {family.size} finite answers, found an array of shape {x.shape}")
    return x


def _distribution(name: str, values: FloatArray, options: int) -> FloatArray:
    p = np.asarray(values, dtype=np.float64)
    if p.shape != (options,):
        raise ShapeError(f"{name}: {options} probabilities are needed, found an array of shape {p.shape}")
    if not np.all((p >= 0) & (p <= 1 + _SUM_TOLERANCE)) or abs(float(p.sum()) - 1.0) > _SUM_TOLERANCE:
        raise ShapeError(f"{name}: {p!r} is no distribution; values lie in [0, 1] and sum to 1")
    return p
