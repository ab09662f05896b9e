"""Numbers that say how good probabilities are: proper scores, calibration errors, ordered levels, selective prediction.

Takes and gives float64 arrays. Knows no files, models, records or wire formats.
"""

from forthwith.metrics.arrays import BoolArray, FloatArray, IntArray
from forthwith.metrics.calibration_error import (
    CalibrationErrorEstimate,
    ReliabilityBins,
    debiased_ece,
    ece,
    reliability_bins,
)
from forthwith.metrics.labels import accuracy, balanced_accuracy, confusion_counts, majority_share
from forthwith.metrics.ordinal import (
    expected_level,
    mean_absolute_error,
    quadratic_weighted_kappa,
    ranked_probability_score,
)
from forthwith.metrics.proper_scores import (
    PROBABILITY_FLOOR,
    brier_score,
    half_brier_score,
    nll,
    total_variation_distance,
)
from forthwith.metrics.selective import (
    RiskCoverage,
    RocCurve,
    aurc,
    auroc,
    coverage_at_risk,
    excess_aurc,
    risk_coverage_curve,
    roc_curve,
    selective_accuracy,
)

__all__ = [
    "PROBABILITY_FLOOR",
    "BoolArray",
    "CalibrationErrorEstimate",
    "FloatArray",
    "IntArray",
    "ReliabilityBins",
    "RiskCoverage",
    "RocCurve",
    "accuracy",
    "aurc",
    "auroc",
    "balanced_accuracy",
    "brier_score",
    "confusion_counts",
    "coverage_at_risk",
    "debiased_ece",
    "ece",
    "excess_aurc",
    "expected_level",
    "half_brier_score",
    "majority_share",
    "mean_absolute_error",
    "nll",
    "quadratic_weighted_kappa",
    "ranked_probability_score",
    "reliability_bins",
    "risk_coverage_curve",
    "roc_curve",
    "selective_accuracy",
    "total_variation_distance",
]
