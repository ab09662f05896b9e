"""The benchmark of an agent that remembers one user."""
