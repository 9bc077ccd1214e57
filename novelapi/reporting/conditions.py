"""What readers are told about a condition: its components, in the order of the published method."""

from __future__ import annotations

COMPONENTS: tuple[tuple[str, str, str], ...] = (
    ("S_name", "N", "name"),
    ("S_param", "P", "parameters"),
    ("E", "E", "examples"),
    ("M_prose", "M", "explanation in prose"),
    ("M_code", "C", "source code"),
)
"""Field name, letter in figures, word."""

PARTS: dict[str, tuple[str, ...]] = {
    "baseline": (),
    "s_name": ("S_name",),
    "e": ("E",),
    "m_prose": ("M_prose",),
    "m_code": ("M_code",),
    "s": ("S_name", "S_param"),
    "s_m_prose": ("S_name", "S_param", "M_prose"),
    "s_m_code": ("S_name", "S_param", "M_code"),
    "s_m_prose_m_code": ("S_name", "S_param", "M_prose", "M_code"),
    "s_e": ("S_name", "S_param", "E"),
    "s_e_m_code": ("S_name", "S_param", "E", "M_code"),
    "full": ("S_name", "S_param", "E", "M_prose", "M_code"),
}
"""Components of each condition."""
