"""Wrong editors, each with a mistake that is known from published code: the checks have to refuse every one of them."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="the extra train is not installed")
transformers = pytest.importorskip("transformers", reason="the extra train is not installed")
pytest.importorskip("trl", reason="the extra train is not installed")

from novelapi.adaptation import (  # noqa: E402
    alphaedit,
    batch_editor,
    grace,
    hooks,
    lora,
    memit,
    requests,
    statistics,
    training,
)
from novelapi.adaptation.codebook import Codebook, Nearest  # noqa: E402
from novelapi.adaptation.grace_hook import GraceHook  # noqa: E402
from novelapi.adaptation.handle import WeightHandle  # noqa: E402
from tests.fakes import editing_checks as checks  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # trl, datasets and torch warn about themselves


class Base:
    """The model as it was when it was first seen, and the module of it that stands for one of the edited model."""

    def __init__(self):
        self.copy = None

    def of(self, model, module):
        if self.copy is None:
            self.copy = copy.deepcopy(model)
        names = {id(found): name for name, found in model.named_modules()}
        return self.copy, self.copy.get_submodule(names[id(module)])


# Statistics


def padding_is_counted(patch):
    own = statistics.padded
    patch.setattr(statistics, "padded", lambda *a: (own(*a)[0], torch.ones_like(own(*a)[1])))


def every_sequence_weighs_the_same(patch):
    own = checks.collect

    def collect(model, rows, layers, **_):
        parts = [own(model, [row], layers) for row in rows]
        moments = {layer: sum(part.moments[layer] for part in parts) / len(parts) for layer in layers}
        return SimpleNamespace(moments=moments, tokens=sum(part.tokens for part in parts))

    patch.setattr(checks, "collect", collect)


# Subjects and keys


def key_at_the_end_of_the_prompt(patch):
    patch.setattr(requests, "_last_token", lambda offsets, *_: len(offsets) - 1)


def key_at_the_first_token_of_the_subject(patch):
    patch.setattr(
        requests, "_last_token", lambda offsets, start, *_: next(n for n, (_l, r) in enumerate(offsets) if r > start)
    )


def subject_counted_by_tokens_of_its_parts(patch):
    """Prefix and word are tokenised apart, and their lengths added."""
    own = requests._variant

    def variant(tokenizer, request, prefix, target, window):
        found = own(tokenizer, request, prefix, target, window)
        parts = (prefix + request.prompt[: request.subject[0]], request.prompt[slice(*request.subject)])
        place = sum(len(tokenizer(part)["input_ids"]) for part in parts)
        return requests.Variant(ids=found.ids, subject=place, start=found.start)

    patch.setattr(requests, "_variant", variant)


def all_contexts_weigh_the_same(patch):
    patch.setattr(batch_editor, "keys_of", lambda model, items, module, batch: _flat(model, items, module))


def _flat(model, items, module):
    states = [
        torch.stack([checks.state_at(model, form.ids, module, form.subject, "input") for form in item.variants])
        for item in items
    ]
    return torch.stack([state.mean(0) for state in states], dim=1)


def the_bare_prompt_alone(patch):
    own = batch_editor.keys_of

    def bare(model, items, module, batch):
        fields = [SimpleNamespace(groups=item.groups[:1], variants=item.variants[:1]) for item in items]
        return own(model, fields, module, batch)

    patch.setattr(batch_editor, "keys_of", bare)


def batch_row_zero(patch):
    """Layers return a tensor now: its first element is the first row of the batch, not the states."""
    patch.setattr(hooks, "tensor_of", lambda output: output[:1].expand_as(output))


def keys_of_the_unedited_model(patch):
    base, own = Base(), batch_editor.keys_of

    def keys_of(model, items, module, batch):
        model, module = base.of(model, module)
        return own(model, items, module, batch)

    patch.setattr(batch_editor, "keys_of", keys_of)


# MEMIT


def residuals_of_the_unedited_model(patch):
    base, own = Base(), batch_editor.states_at

    def states_at(model, forms, module, side, batch):
        model, module = base.of(model, module)
        return own(model, forms, module, side, batch)

    patch.setattr(batch_editor, "states_at", states_at)


def _scaled(patch, factors):
    own, left = memit.solve_memit, list(factors)
    patch.setattr(
        memit, "solve_memit", lambda moment, keys, rest, weight: own(moment, keys, rest * left.pop(0), weight)
    )


def residuals_are_not_spread(patch):
    _scaled(patch, (2.0, 1.0))


def every_layer_takes_the_same_share(patch):
    _scaled(patch, (1.0, 0.5))


def lambda_is_forgotten(patch):
    own = memit.solve_memit
    patch.setattr(memit, "solve_memit", lambda moment, keys, rest, _: own(moment, keys, rest, 1.0))


def single_precision(patch):
    def solve(moment, keys, rest, weight):
        keys, rest = keys.float(), rest.float()
        system = weight * moment.float() + keys @ keys.T
        return (rest @ keys.T @ torch.linalg.inv(system)).double()

    patch.setattr(memit, "solve_memit", solve)


def undone_by_subtraction(patch):
    own_add = WeightHandle.add

    def add(self, deltas):
        self.deltas = {**getattr(self, "deltas", {}), **deltas}
        return own_add(self, deltas)

    def undo(self):
        with torch.no_grad():
            for name, delta in self.deltas.items():
                self._parameters[name].sub_(delta)

    patch.setattr(WeightHandle, "add", add)
    patch.setattr(WeightHandle, "undo", undo)


# AlphaEdit


def _basis(patch, choose):
    own = alphaedit.projector

    def projector(moment, *, threshold=None, rank=None):
        right = own(moment, threshold=threshold, rank=rank)
        vectors = torch.linalg.eigh(moment)[1]
        return type(right)(basis=choose(vectors, right.rank).contiguous(), threshold=right.threshold, energy=0.1)

    patch.setattr(alphaedit, "projector", projector)


def the_directions_that_the_corpus_uses(patch):
    _basis(patch, lambda vectors, rank: vectors[:, -rank:])


def rows_of_the_eigenvectors(patch):
    _basis(patch, lambda vectors, rank: vectors.T[:, :rank])


def no_projection(patch):
    _basis(patch, lambda vectors, _: torch.eye(len(vectors), dtype=torch.float64))


def projected_on_one_side(patch):
    def solve(basis, keys, rest, earlier, ridge):
        gram = keys @ keys.T + (0 if earlier is None else earlier @ earlier.T)
        system = basis @ basis.T @ gram + ridge * torch.eye(len(keys), dtype=torch.float64)
        return torch.linalg.solve(system, keys @ rest.T).T

    patch.setattr(alphaedit, "solve_alphaedit", solve)


def earlier_batches_are_forgotten(patch):
    own = alphaedit.solve_alphaedit
    patch.setattr(alphaedit, "solve_alphaedit", lambda basis, keys, rest, _, ridge: own(basis, keys, rest, None, ridge))


def earlier_keys_from_before_their_edit(patch):
    base, own = Base(), alphaedit.keys_of
    first = batch_editor.keys_of

    def before(model, items, module, batch):
        base.of(model, module)
        return first(model, items, module, batch)

    def keys_of(model, items, module, batch):
        model, module = base.of(model, module)
        return own(model, items, module, batch)

    patch.setattr(batch_editor, "keys_of", before)
    patch.setattr(alphaedit, "keys_of", keys_of)


def fits_share_their_earlier_keys(patch):
    shared: dict[int, object] = {}
    patch.setattr(alphaedit.AlphaEdit, "_earlier", lambda *_: shared)


# GRACE


def _after_placing(patch, change):
    own = Codebook.place

    def place(self, key, label, value, radius):
        near = self.nearest(key)
        index, placed = own(self, key, label, value, radius)
        change(self, near, index, placed)
        return index, placed

    patch.setattr(Codebook, "place", place)


def a_split_leaves_the_old_radius(patch):
    def change(book, near, _index, placed):
        if placed == "split":
            book.radii[near.index] = near.radius

    _after_placing(patch, change)


def a_split_gives_the_whole_distance(patch):
    def change(book, near, index, placed):
        if placed == "split":
            book.radii[index] = near.distance

    _after_placing(patch, change)


def a_radius_never_grows(patch):
    def change(book, near, index, placed):
        if placed == "grown":
            book.radii[index] = near.radius

    _after_placing(patch, change)


def the_new_radius_is_left_out_of_the_distance(patch):
    """Entries are new from the nearest one's radius on, instead of from the sum of both."""
    own = Codebook.place

    def place(self, key, label, value, radius):
        near = self.nearest(key)
        if near is not None and near.distance > near.radius:
            return self._add(key, label, value, radius), "added"
        return own(self, key, label, value, radius)

    patch.setattr(Codebook, "place", place)


def distances_by_matrix_products(patch):
    own = torch.cdist
    patch.setattr(
        torch, "cdist", lambda one, other, compute_mode=None: own(one, other, compute_mode="use_mm_for_euclid_dist")
    )


def labels_by_their_mean(patch):
    own = grace.digest

    def digest(parts, *rest):
        numbers = isinstance(parts, list) and all(isinstance(part, int) for part in parts)
        return str(sum(parts) / len(parts)) if numbers else own(parts, *rest)

    patch.setattr(grace, "digest", digest)


def key_behind_the_target(patch):
    own = grace.Grace._prompt_state

    def state(self, model, request, linear):
        form = requests.Variant(ids=request.bare.ids, subject=0, start=len(request.bare.ids))
        return own(self, model, SimpleNamespace(bare=form), linear)

    patch.setattr(grace.Grace, "_prompt_state", state)


def decode_steps_are_new_prompts(patch):
    def before(self, _module, _args, kwargs):
        self._ends = [kwargs["input_ids"].shape[1] - 1] * kwargs["input_ids"].shape[0]

    patch.setattr(GraceHook, "_before_pass", before)


def the_nearest_entry_always_answers(patch):
    patch.setattr(Nearest, "inside", property(lambda _: True))


def one_hit_changes_the_whole_batch(patch):
    own = GraceHook._look_up

    def look_up(self, inputs):
        own(self, inputs)
        if self._hits:
            self._hits = dict.fromkeys(range(len(inputs)), next(iter(self._hits.values())))

    patch.setattr(GraceHook, "_look_up", look_up)


# Training


def _projecting(patch, steps):
    own = lora._projecting

    def projecting(matrices, spaces, errors):
        callback = own(matrices, spaces, errors)
        bases = {layer: space.basis.float() for layer, space in spaces.items()}
        steps(callback, matrices, bases)
        return callback

    patch.setattr(lora, "_projecting", projecting)


def projected_once_at_the_start(patch):
    def steps(callback, _matrices, _bases):
        callback.on_optimizer_step = lambda *_, **__: None

    _projecting(patch, steps)


def gradients_are_projected_instead(patch):
    def steps(callback, matrices, bases):
        def before(*_, **__):
            for layer, matrix in matrices.items():
                matrix.grad = matrix.grad @ bases[layer] @ bases[layer].T

        callback.on_pre_optimizer_step = before
        callback.on_optimizer_step = lambda *_, **__: None

    _projecting(patch, steps)


def projected_in_half_precision(patch):
    def steps(callback, matrices, bases):
        def after(*_, **__):
            with torch.no_grad():
                for layer, matrix in matrices.items():
                    basis = bases[layer].bfloat16()
                    matrix.copy_(matrix.bfloat16() @ basis @ basis.T)

        callback.on_optimizer_step = after

    _projecting(patch, steps)


def loss_on_the_prompt_too(patch):
    own = training.examples_of
    patch.setattr(training, "examples_of", lambda items, **_: own(items, whole_sequence=True))


def labels_are_shifted_twice(patch):
    own = training.examples_of

    def shifted(items, **how):
        return [{**row, "labels": [*row["labels"][1:], -100]} for row in own(items, **how)]

    patch.setattr(training, "examples_of", shifted)


def the_scale_is_forgotten(patch):
    own = lora.merged_deltas
    patch.setattr(
        lora, "merged_deltas", lambda artifact: {name: delta / 3 for name, delta in own(artifact).items()}
    )  # alpha / rank of the check is 3


def seeded_after_the_adapters_were_made(patch):
    patch.setattr(lora, "seeded", lambda _seed: nullcontext())


PLANTED = [
    (padding_is_counted, checks.check_statistics),
    (every_sequence_weighs_the_same, checks.check_statistics),
    (key_at_the_end_of_the_prompt, checks.check_memit),
    (key_at_the_first_token_of_the_subject, checks.check_memit),
    (subject_counted_by_tokens_of_its_parts, checks.check_memit),
    (all_contexts_weigh_the_same, checks.check_memit),
    (the_bare_prompt_alone, checks.check_memit),
    (batch_row_zero, checks.check_memit),
    (keys_of_the_unedited_model, checks.check_memit),
    (residuals_of_the_unedited_model, checks.check_memit),
    (residuals_are_not_spread, checks.check_memit),
    (every_layer_takes_the_same_share, checks.check_memit),
    (lambda_is_forgotten, checks.check_memit),
    (undone_by_subtraction, checks.check_undo),
    (the_directions_that_the_corpus_uses, checks.check_alphaedit),
    (the_directions_that_the_corpus_uses, checks.check_bound),
    (rows_of_the_eigenvectors, checks.check_alphaedit),
    (no_projection, checks.check_bound),
    (projected_on_one_side, checks.check_alphaedit),
    (earlier_batches_are_forgotten, checks.check_alphaedit),
    (earlier_keys_from_before_their_edit, checks.check_alphaedit),
    (fits_share_their_earlier_keys, checks.check_alphaedit),
    (key_behind_the_target, checks.check_edits),
    (decode_steps_are_new_prompts, checks.check_edits),
    (the_nearest_entry_always_answers, checks.check_outside),
    (one_hit_changes_the_whole_batch, checks.check_outside),
    (labels_by_their_mean, checks.check_labels),
    (projected_once_at_the_start, checks.check_projected_lora),
    (gradients_are_projected_instead, checks.check_projected_lora),
    (projected_in_half_precision, checks.check_projected_lora),
    (loss_on_the_prompt_too, checks.check_loss),
    (labels_are_shifted_twice, checks.check_loss),
    (seeded_after_the_adapters_were_made, checks.check_first_adapters),
]


@pytest.mark.parametrize(("plant", "check"), PLANTED, ids=lambda item: item.__name__)
def test_a_wrong_variant_is_refused(plant, check, taught, tokenizer, monkeypatch):
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check(taught, tokenizer)


def test_a_forgotten_scale_is_refused(taught, tokenizer, monkeypatch, tmp_path):
    the_scale_is_forgotten(monkeypatch)
    with pytest.raises(AssertionError):
        checks.check_merged(taught, tokenizer, tmp_path)


@pytest.mark.parametrize(
    ("plant", "check"),
    [
        (a_split_leaves_the_old_radius, checks.check_rules),
        (a_split_gives_the_whole_distance, checks.check_rules),
        (a_radius_never_grows, checks.check_rules),
        (the_new_radius_is_left_out_of_the_distance, checks.check_rules),
        (distances_by_matrix_products, checks.check_distances),
        (single_precision, checks.check_solve),
    ],
    ids=lambda item: item.__name__,
)
def test_wrong_rules_and_algebra_are_refused(plant, check, monkeypatch):
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check()
