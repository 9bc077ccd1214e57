"""The parameter graph of a library: which output of which API can, or does, become which input of another."""
