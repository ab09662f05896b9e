"""Forthwith: an open, self-hosted engine for decision models."""
