"""Frozen records: the rows of every file the project reads or writes."""
