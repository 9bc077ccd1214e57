"""Versioned prompt templates (`*.md.j2`), one file per prompt; `inference/templates.py` renders them."""
