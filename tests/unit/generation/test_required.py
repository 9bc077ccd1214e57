"""What a call has to bind: the options that the task fixes, but no function, which crosses as a callback."""

from novelapi.generation.drafts import drafts_of, required_values
from novelapi.generation.seeds import Argument, Seed
from tests.unit.generation.examples import candidate


def test_functions_of_the_context_are_not_compared():
    seed = Seed(
        api="lib.minimum",
        callee="lib.minimum",
        arguments=(
            Argument(text="bowl", keyword="fun", parameter="fun"),
            Argument(text="[1.0, 2.0]", keyword="start", parameter="start"),
            Argument(text="'fast'", keyword="method", parameter="method"),
            Argument(text="7", keyword="rng", parameter="rng"),
        ),
        helpers=("def bowl(x):\n    return x ** 2",),
    )
    target = candidate("lib.minimum", change="modified", added=("rng",), names=("fun", "start", "method", "rng"))
    draft = drafts_of(target, seed)
    assert draft is not None
    assert draft.fixed["fun"] == "bowl"
    assert required_values(draft) == {"method": "'fast'", "rng": "extra"}
