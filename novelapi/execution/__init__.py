"""Environments, sandbox, warm processes, and the judge outside."""
