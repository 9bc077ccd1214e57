"""Colours of page and figures: one per role, for the light and for the dark theme.

Outcomes follow the palette of Okabe and Ito (2008), which readers with any common colour blindness can tell apart;
their order in figures and the codes written on them say the same without colour.
"""

from __future__ import annotations

COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#fcfbf8", "#13161a"),
    "raised": ("#ffffff", "#1a1e24"),
    "sunken": ("#f4f2ec", "#0e1114"),
    "ink": ("#1d1d1b", "#ebe8e1"),
    "soft": ("#5d5b55", "#a7a49c"),
    "line": ("#e4e0d7", "#2c3138"),
    "strong-line": ("#c9c4b8", "#454c56"),
    "accent": ("#1f5c99", "#7db8f0"),
    "accent-wash": ("#e4eef8", "#1b2c3e"),
    "caution": ("#8a5a00", "#f0bd5c"),
    "caution-wash": ("#fdf3dc", "#2c2414"),
    "bad": ("#a63a17", "#ff9a76"),
    "bad-wash": ("#fbe9e2", "#36211a"),
    "pass": ("#00936b", "#20b88b"),
    "WrongSyntax": ("#8a8d93", "#8f949d"),
    "WrongImport": ("#d55e00", "#ea7a2a"),
    "WrongAPISelection": ("#0072b2", "#3f9bd8"),
    "WrongParam": ("#e69f00", "#e9ad2b"),
    "WrongShapeDtype": ("#cc79a7", "#d88db5"),
    "WrongLogic": ("#56b4e9", "#74c3ee"),
    "unlabelled": ("#b9b5ab", "#6c7078"),
    "unscored": ("#e9e5db", "#30353d"),
    "missing": ("#f4f2ec", "#1f242a"),
}
"""Role or outcome: colour in the light theme, colour in the dark one."""

ON_COLOUR = "#10161a"
"""Text on the colour of an outcome."""

ON_DARK = "#ffffff"
"""Text on the one colour that is dark in the light theme; `raised` turns it dark where that colour turns light."""

DARK_IN_LIGHT = ("WrongAPISelection",)


def text_on(role: str) -> str:
    """Return the colour of text on the light theme's colour of an outcome."""
    return ON_DARK if role in DARK_IN_LIGHT else ON_COLOUR


def light(role: str) -> str:
    """Return the colour of a role in the light theme."""
    return COLOURS[role][0]


def css_variables() -> str:
    """Return the colours as custom properties that follow the theme of the page."""
    return ":root {\n" + "".join(f"  --{name}: light-dark({a}, {b});\n" for name, (a, b) in COLOURS.items()) + "}\n"


def svg_dark_style() -> str:
    """Return a style sheet that turns a figure drawn in light colours dark where the reader prefers that.

    The colours in the figure stay as they are written, so programs that know no style sheets show the light figure.
    """
    rules = [
        f'[style*="{kind}: {a}"]{{{kind}:{b}!important}}'
        for a, b in COLOURS.values()
        for kind in ("fill", "stroke")
        if a != b
    ]
    return "@media (prefers-color-scheme: dark){" + "".join(rules) + "}"
