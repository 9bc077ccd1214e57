"""The names of a release as the selection score asks for them, from its static surface."""

from __future__ import annotations

from novelapi.discovery.surface.model import PUBLIC_EVIDENCE, Surface


class SurfaceNames:
    """Answers about public names; what the surface cannot tell is never called missing."""

    def __init__(self, surface: Surface) -> None:
        """Index the modules of a surface."""
        self._surface = surface
        self._open = frozenset(surface.open_modules)
        modules = {*surface.names, *surface.module_aliases, *surface.roots}
        self._modules = frozenset(
            ".".join(parts[:size])
            for parts in (name.split(".") for name in modules)
            for size in range(1, len(parts) + 1)
        )

        self._shortest: dict[str, str] = {}
        for path, canonical, evidence in surface.paths():
            if evidence in PUBLIC_EVIDENCE:
                shorter = min(self._shortest.get(canonical, path), path, key=lambda text: (text.count("."), text))
                self._shortest[canonical] = shorter

    def canonical(self, path: str) -> str | None:
        """Return the shortest public path to an object, whatever path is given; null when there is no such name."""
        found = self._surface.lookup(path)
        if found is None:
            return None
        owner, dot, member = found.canonical.rpartition(".")
        if dot and owner in self._shortest:  # a member goes by the name of the class that defines it
            return f"{self._shortest[owner]}.{member}"
        return self._shortest.get(found.canonical, found.path)

    def is_class(self, path: str) -> bool:
        """Whether a path leads to a class."""
        found = self._surface.lookup(path)
        return found is not None and found.kind == "class"

    def lacks(self, path: str) -> bool:
        """Whether the release certainly has no such name.

        Only a public name directly in a module that is completely read can be called missing.
        """
        if path in self._modules or self._surface.lookup(path) is not None or "._" in path:
            return False
        module, _, name = path.rpartition(".")
        module = self._surface.module_aliases.get(module, module)
        if module in self._modules:
            return (
                module in self._surface.names
                and module not in self._open
                and name not in self._surface.names[module]
                and not name.startswith("_")
            )
        # An attribute of something else: missing only if what it hangs on is.
        return bool(module) and self.lacks(module)
