"""The result that can do nothing: what a target answers in the mode `sentinel`. Runs inside the sandbox."""


class Replaced:
    """The sentinel: it allows everything and holds nothing, so that only a program that *uses* the result is changed."""

    __slots__ = ()

    def _same(self, *args, **kwargs):
        return self

    def _nothing(self, *args):
        return iter(())

    def _zero(self, *args):
        return 0

    def _false(self, *args):
        return False

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __setattr__(self, name, value):
        pass

    async def _awaited(self):
        return self

    def __await__(self):
        return self._awaited().__await__()

    __call__ = __getitem__ = __enter__ = __neg__ = __pos__ = __abs__ = __invert__ = __aenter__ = _same
    __iter__ = __reversed__ = _nothing
    __len__ = __int__ = __index__ = __hash__ = _zero
    __bool__ = __exit__ = __contains__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = _false

    def __float__(self):
        return 0.0

    def __setitem__(self, key, value):
        pass

    def __str__(self):
        return ""

    __repr__ = __str__


for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod".split():
    setattr(Replaced, "__%s__" % _name, Replaced._same)
    setattr(Replaced, "__r%s__" % _name, Replaced._same)
