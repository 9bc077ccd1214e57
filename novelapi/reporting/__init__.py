"""Rows, statistics, tables, figures and the report."""
