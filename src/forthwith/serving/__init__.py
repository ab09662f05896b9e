"""Decisions over HTTP: the app, its scheduler, and one module a wire dialect. Nothing is imported here, so dialects work alone."""
