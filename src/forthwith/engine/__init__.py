"""Engines: token trees to log-probabilities at their leaves."""
