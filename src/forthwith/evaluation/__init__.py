"""Proof: predictions, calibration fits, metrics, paired statistics, gates and reports."""
