"""The parameter-level API graph."""
