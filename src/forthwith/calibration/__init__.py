"""Log-scores to probabilities: temperatures, biases and thresholds, bound by hash to the model they were fitted on.

Takes float64 log-scores in nats, one array a question; gives probabilities. Fitting uses the same application as
serving. Knows no engine, no prediction files and no wire format.
"""

from forthwith.calibration.apply import (
    Binding,
    Calibration,
    FloatArray,
    QuestionType,
    Thresholds,
    log_softmax,
    softmax,
)
from forthwith.calibration.fit import FitConfig, FitStep, fit_calibration
from forthwith.calibration.grid import GridTemperature, grid_temperature
from forthwith.calibration.none_of_these import fit_none_of_these, none_probability
from forthwith.calibration.scored import Block, ScoredQuestion, ScoredQuestions

__all__ = [
    "Binding",
    "Block",
    "Calibration",
    "FitConfig",
    "FitStep",
    "FloatArray",
    "GridTemperature",
    "QuestionType",
    "ScoredQuestion",
    "ScoredQuestions",
    "Thresholds",
    "fit_calibration",
    "fit_none_of_these",
    "grid_temperature",
    "log_softmax",
    "none_probability",
    "softmax",
]
