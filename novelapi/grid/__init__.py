"""The cells of an experiment and their state."""
