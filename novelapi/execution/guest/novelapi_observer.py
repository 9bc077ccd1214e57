"""Sees the calls of targets at the call sites of one program: what a library calls by itself does not count.

Runs inside the sandbox, imported before the library is.
"""

import ast


def instrument(tree, leaves):
    """Let every call, decorator and attribute of the program pass through the spy, top-level expressions be shown."""
    tree = Instrument(leaves).visit(tree)
    for position, node in enumerate(tree.body):
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
            shown = ast.Call(func=ast.Name("_novelapi_show", ast.Load()), args=[node.value], keywords=[])
            tree.body[position] = ast.copy_location(ast.Expr(value=shown), node)
    return ast.fix_missing_locations(tree)


class Instrument(ast.NodeTransformer):
    def __init__(self, leaves):
        self.leaves = leaves

    def visit_Call(self, node):
        plain = isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals", "vars", "dir")
        node = self.generic_visit(node)
        if not plain:
            node.func = through("_novelapi_call", node.func)
        return node

    def visit_Attribute(self, node):
        node = self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and node.attr in self.leaves and not node.attr.startswith("__"):
            call = through("_novelapi_get", node.value)
            call.args.append(ast.copy_location(ast.Constant(node.attr), node))
            return ast.copy_location(call, node)
        return node

    def visit_FunctionDef(self, node):
        return self.decorated(node)

    def visit_AsyncFunctionDef(self, node):
        return self.decorated(node)

    def visit_ClassDef(self, node):
        return self.decorated(node)

    def decorated(self, node):
        bare = [index for index, item in enumerate(node.decorator_list) if isinstance(item, (ast.Name, ast.Attribute))]
        node = self.generic_visit(node)
        for index in bare:
            node.decorator_list[index] = through("_novelapi_call", node.decorator_list[index])
        return node


def through(name, node):
    call = ast.Call(func=ast.Name(name, ast.Load()), args=[node], keywords=[])
    return ast.copy_location(call, node)


class Spy:
    """Recognises the targets at the call sites and notes how they were called."""

    def __init__(self, targets):
        self.targets = targets
        self.calls = []

    def call(self, function):
        """Return the callee itself, or a recorder around it when it is a target."""
        for target in self.targets:
            if is_target(function, target):
                return Recorder(function, target, self.calls)
        return function

    def get(self, obj, name):
        """Read an attribute; reading a property that is a target counts as a call of it."""
        for target in self.targets:
            if target.leaf == name and target.owner is not None and isinstance(obj, target.owner):
                if not callable(target.obj) and not isinstance(target.obj, (classmethod, staticmethod)):
                    note = {"api": target.path, "positional": 0, "keywords": [], "raised": None}
                    self.calls.append(note)
                    try:
                        return getattr(obj, name)
                    except BaseException as error:
                        note["raised"] = type(error).__name__
                        raise
        return getattr(obj, name)


class Recorder:
    def __init__(self, function, target, calls):
        self.function = function
        self.target = target
        self.calls = calls

    def __call__(self, *args, **kwargs):
        note = {"api": self.target.path, "positional": len(args), "keywords": sorted(kwargs), "raised": None}
        if self.target.owner is not None and function_of(self.function) is self.function and args:
            note["positional"] -= unbound(self.function, self.target)
        if len(self.calls) < 50:
            self.calls.append(note)
        try:
            return self.function(*args, **kwargs)
        except BaseException as error:
            note["raised"] = type(error).__name__
            raise


def unbound(function, target):
    """Return 1 if a method is called on its class, with the receiver as first argument."""
    return 0 if isinstance(target.obj, (classmethod, staticmethod)) else 1


def function_of(function):
    return getattr(function, "__func__", function)


def is_target(function, target):
    if target.owner is None:
        if function is target.obj:
            return True
        if isinstance(target.obj, type):
            return is_class(function, target.obj)
        return False
    raw = target.obj
    if function is raw:
        return True
    inner = getattr(raw, "__func__", raw)
    if isinstance(raw, staticmethod):
        return function is inner
    receiver = getattr(function, "__self__", None)
    if receiver is None:
        return False
    fits = isinstance(receiver, target.owner) or (isinstance(receiver, type) and issubclass(receiver, target.owner))
    if not fits:
        return False
    if getattr(function, "__func__", None) is inner:
        return True
    name = getattr(function, "__name__", None)
    cls = receiver if isinstance(receiver, type) else type(receiver)
    found = getattr(cls, target.leaf, None)
    compiled = getattr(raw, "__name__", None) == name and not hasattr(raw, "__code__")
    return name == target.leaf and (found is raw or compiled)


def is_class(function, cls):
    """Whether a call of `function` constructs the target: itself, a parametrised form, a subclass made on the spot."""
    if getattr(function, "__origin__", None) is cls:
        return True
    if not isinstance(function, type):
        return False
    if function is cls:
        return True
    if cls.__module__ == "builtins" or not issubclass(function, cls):
        return False
    generic = getattr(function, "__pydantic_generic_metadata__", None) or {}
    return function.__module__ == "__main__" or generic.get("origin") is cls
