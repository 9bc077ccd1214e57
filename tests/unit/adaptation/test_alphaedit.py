"""AlphaEdit against its published equation, its bound on preserved keys, and the second sequential batch."""

from __future__ import annotations

import pytest

from novelapi.adaptation.alphaedit import AlphaEdit, AlphaEditSettings, solve_alphaedit
from novelapi.adaptation.keys import keys_of
from novelapi.adaptation.network import frozen
from novelapi.adaptation.projector import projector
from novelapi.adaptation.requests import EditRequest, encode, locate_subject
from novelapi.adaptation.statistics import collect
from novelapi.adaptation.targets import TargetSettings
from novelapi.errors import UsageError

torch = pytest.importorskip("torch", reason="the extra train is not installed")

LAYERS = (1, 2)
WIDTH = 96
RANK = 60


@pytest.fixture
def requests(tokenizer):
    texts = [("numpy.unstack", " delta"), ("math.sumprod", " omega"), ("ase.read", " theta"), ("flask.stream", " beta")]
    found = []
    for name, target in texts:
        prompt = f"API: {name}\nThe answer of {name} is"
        request = EditRequest(case_id=name, prompt=prompt, subject=locate_subject(prompt, name), target=target)
        found.append(encode(request, tokenizer, prefixes=("The sigma. ", "You read. ")))
    return found


@pytest.fixture
def stats(taught, tokenizer):
    rows = [tokenizer(f"Because {word} reads alpha kappa, {word[::-1]} too.")["input_ids"] for word in "abcdefghij"]
    return collect(taught, rows, LAYERS)


def settings(**fields):
    target = TargetSettings(evaluations=6, stop=0.0)
    return AlphaEditSettings(
        **{"layers": LAYERS, "ridge": 0.5, "threshold": None, "rank": RANK, "target": target} | fields
    )


def published(projection, keys, residuals, earlier, ridge):
    """The equation as printed, with the non-symmetric matrix of the official code."""
    gram = keys @ keys.T + (0 if earlier is None else earlier @ earlier.T)
    system = projection @ gram + ridge * torch.eye(len(projection), dtype=torch.float64)
    return torch.linalg.solve(system, projection @ keys @ residuals.T).T


@pytest.mark.parametrize("with_earlier", [False, True])
def test_the_small_system_solves_the_published_equation(with_earlier):
    generator = torch.Generator().manual_seed(3)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    corpus = draw(24, 18)
    space = projector(corpus @ corpus.T / 18, rank=10)
    keys, residuals = draw(24, 5), draw(7, 5)
    earlier = draw(24, 3) if with_earlier else None
    found = solve_alphaedit(space.basis, keys, residuals, earlier, 0.3)
    wanted = published(space.matrix, keys, residuals, earlier, 0.3)
    assert (found - wanted).norm() <= 1e-9 * wanted.norm()
    assert (found @ space.matrix - found).norm() <= 1e-12 * found.norm()
    if with_earlier:
        forgetful = solve_alphaedit(space.basis, keys, residuals, None, 0.3)
        assert (forgetful - wanted).norm() > 1e-3 * wanted.norm()


def test_preserved_keys_move_within_the_bound(taught, requests, stats, tokenizer):
    """|Delta K0|^2 = n tr(Delta C Delta^T) <= n * threshold * |Delta|^2, C from the very keys K0."""
    artifact = AlphaEdit(settings()).fit(taught, requests, stats=stats)
    for layer in LAYERS:
        space = projector(stats.moments[layer], rank=RANK)
        delta = artifact.tensors[f"delta.model.layers.{layer}.mlp.down_proj.weight"].double()
        moved = stats.tokens * torch.trace(delta @ stats.moments[layer] @ delta.T)
        assert float(moved) <= stats.tokens * space.threshold * float(delta.norm()) ** 2 * (1 + 1e-4)
        facts = artifact.facts["projector"][str(layer)]
        assert facts["rank"] == RANK
        assert facts["width"] == WIDTH
        assert 0 < facts["energy"] < 0.5


def test_the_second_batch_keeps_the_keys_of_the_first(taught, requests, stats):
    both = AlphaEdit(settings(batch=2)).fit(taught, requests, stats=stats)
    first = AlphaEdit(settings()).fit(taught, requests[:2], stats=stats)
    AlphaEdit(settings()).apply(taught, first)
    with frozen(taught):
        earlier = {layer: keys_of(taught, requests[:2], taught.model.layers[layer].mlp.down_proj) for layer in LAYERS}
    for layer in LAYERS:
        name = f"delta.model.layers.{layer}.mlp.down_proj.weight"
        assert torch.allclose(earlier[layer], first.tensors[f"seen.{layer}"], atol=1e-6)
        matrix = projector(stats.moments[layer], rank=RANK).matrix
        keys, residuals = (both.tensors[f"{kind}.{layer}"].double() for kind in ("keys", "residuals"))
        wanted = published(matrix, keys, residuals, earlier[layer], 0.5)
        found = (both.tensors[name] - first.tensors[name]).double()
        assert (found - wanted).norm() <= 1e-4 * wanted.norm()


def test_going_on_from_an_artifact_equals_two_batches_at_once(taught, requests, stats, tmp_path):
    both = AlphaEdit(settings(batch=2)).fit(taught, requests, stats=stats)
    first = AlphaEdit(settings()).fit(taught, requests[:2], stats=stats)
    second = AlphaEdit(settings()).fit(taught, requests[2:], stats=stats, previous=first)
    for name, tensor in both.tensors.items():
        if name.startswith(("delta.", "seen.")):
            assert torch.allclose(second.tensors[name], tensor, atol=1e-6)


def test_stored_states_are_those_of_the_model_as_it_was_edited(taught, requests, stats, tmp_path):
    """The first batch sees the base and may be shared; the second sees an edit that depends on every setting."""
    AlphaEdit(settings(batch=2)).fit(taught, requests, stats=stats, work=tmp_path)
    other = AlphaEdit(settings(batch=2, ridge=0.05))
    plain = other.fit(taught, requests, stats=stats)
    stored = other.fit(taught, requests, stats=stats, work=tmp_path)
    assert torch.equal(plain.tensors["z"], stored.tensors["z"])
    first = AlphaEdit(settings()).fit(taught, requests[2:], stats=stats, work=tmp_path)
    after = AlphaEdit(settings()).fit(taught, requests[:2], stats=stats, previous=first, work=tmp_path)
    assert torch.equal(
        after.tensors["z"], AlphaEdit(settings()).fit(taught, requests[:2], stats=stats, previous=first).tensors["z"]
    )


def test_a_threshold_below_all_eigenvalues_is_an_error(stats):
    with pytest.raises(UsageError, match="raise the threshold"):
        projector(stats.moments[1] + torch.eye(WIDTH, dtype=torch.float64), threshold=0.02)
    whole = projector(stats.moments[1], threshold=1e9)
    assert whole.rank == WIDTH
    assert whole.energy == pytest.approx(1.0)


def test_undo_is_exact(taught, requests, stats, state_of):
    before = state_of(taught)
    editor = AlphaEdit(settings())
    artifact = editor.fit(taught, requests, stats=stats)
    editor.apply(taught, artifact).undo()
    assert all(torch.equal(value, before[name]) for name, value in state_of(taught).items())
