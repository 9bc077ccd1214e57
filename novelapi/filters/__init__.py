"""Stage 4: the gates C0 to C3, and the instance of a model."""
