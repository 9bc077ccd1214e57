"""A seed of tasks: one call of a target with its arguments as self-contained expressions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One argument of a call."""

    text: str
    """The expression, with all names resolved to imports, builtins and helpers."""
    keyword: str | None = None
    """The keyword it is passed by; null for a positional argument."""
    parameter: str | None = None
    """Name of the parameter that receives it, when the signature tells."""


@dataclass(frozen=True, kw_only=True)
class Seed:
    """One call found in an example."""

    api: str
    """Public path of the target."""
    callee: str
    """Expression of the function or class (`np.unstack`); for a method only its leaf."""
    receiver: str | None = None
    """Expression of the object whose method is called; null for functions and classes."""
    arguments: tuple[Argument, ...] = ()
    imports: tuple[str, ...] = ()
    """Import statements that the expressions need, those of the target itself left out."""
    target_imports: tuple[str, ...] = ()
    """Import statements that name the target: they belong into the solution, not into the context."""
    helpers: tuple[str, ...] = ()
    """Function and class definitions that the expressions use."""
    origin: str = ""
    """Where the example comes from."""
    made_up: bool = False
    """Whether its data were replaced by small ones of the same kind."""
    is_property: bool = False
    """Whether the target is an attribute: read, never called."""

    def call(self, replaced: dict[int, str], receiver: str | None = None, without: str | None = None) -> str:
        """Return the call as source.

        Args:
            replaced: expressions by position in `arguments` that stand in for the seed's own.
            receiver: expression that stands in for the receiver.
            without: keyword to leave out.
        """
        parts = [
            f"{argument.keyword}={replaced.get(number, argument.text)}"
            if argument.keyword
            else replaced.get(number, argument.text)
            for number, argument in enumerate(self.arguments)
            if argument.keyword is None or argument.keyword != without
        ]
        if self.is_property:
            return f"{_operand(receiver or self.receiver or '')}.{self.callee}"
        if self.receiver is None:
            return f"{self.callee}({', '.join(parts)})"
        return f"{_operand(receiver or self.receiver)}.{self.callee}({', '.join(parts)})"


def _operand(text: str) -> str:
    """Put parentheses around an expression that an attribute cannot follow directly."""
    simple = text.replace("_", "a").replace(".", "a").isalnum() or text.endswith((")", "]"))
    return text if simple and not text[:1].isdigit() else f"({text})"
