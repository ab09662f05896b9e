"""Decisions over HTTP: the app, its scheduler, one module a wire dialect. Imports nothing, so dialects work alone."""
