"""From a completion to a verdict and a label."""
