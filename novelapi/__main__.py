"""`python -m novelapi`: the command line."""

from __future__ import annotations

from novelapi.cli import main

main()
