"""What a right editor satisfies, recomputed with hooks and algebra of the tests' own.

Each check is run twice: on the editors as they are, and on wrong variants that it has to refuse.
"""

from __future__ import annotations

from typing import Any

import pytest

from novelapi.adaptation import memit
from novelapi.adaptation.alphaedit import AlphaEdit, AlphaEditSettings
from novelapi.adaptation.codebook import SPLIT_GAP, Codebook
from novelapi.adaptation.grace import Grace, GraceSettings
from novelapi.adaptation.lora import AlphaEditLora, AlphaEditLoraSettings, Lora, LoraSettings
from novelapi.adaptation.memit import Memit, MemitSettings
from novelapi.adaptation.requests import EditRequest, TokenRequest, Variant, encode, locate_subject
from novelapi.adaptation.statistics import collect
from novelapi.adaptation.targets import TargetSettings
from tests.fakes.tiny_editing import NAMES, WORDS, sentence

torch = pytest.importorskip("torch", reason="the extra train is not installed")

LAYERS = (1, 2)
PREFIXES = ("The sigma. ", "You read kappa {}. ", "Because. ")
RANK = 60
RIDGE = 0.5
GRACE = GraceSettings(layer=0, radius=0.05, replace="onward", steps=150, rate=0.2, stop=0.1, start="warm")
SMALL = {"rate": 5e-3, "steps": 3, "batch": 4, "accumulation": 1, "saves": 0}


def assert_close(found, wanted, tolerance=1e-4):
    assert float((found - wanted).norm()) <= tolerance * float(wanted.norm())


# Requests and corpora


def subject_requests(tokenizer, count=3):
    pairs = [("numpy.unstack", " delta"), ("math.sumprod", " omega"), ("ase.read", " theta kappa"), ("flask.stream", " beta")]  # fmt: skip
    found = []
    for name, target in pairs[:count]:
        prompt = f"API: {name}\nThe {{answer}} of {name} is"
        asked = EditRequest(case_id=name, prompt=prompt, subject=locate_subject(prompt, name), target=target)
        found.append(encode(asked, tokenizer, prefixes=PREFIXES))
    return found


def plain_requests(tokenizer):
    cases = [("numpy.unstack", " delta"), ("math.sumprod", " omega"), ("ase.read", " beta")]
    return [
        encode(EditRequest(case_id=name, prompt=f"API: {name}\nThe answer of {name} is", target=target), tokenizer)
        for name, target in cases
    ]


def training_requests(tokenizer):
    return [
        encode(EditRequest(case_id=name, prompt=f"API: {name} is", target=f" {word}"), tokenizer)
        for name, word in zip(NAMES, WORDS, strict=False)
    ]


def wide_corpus(tokenizer):
    """More tokens than the layer has directions."""
    return [tokenizer(sentence(name, word))["input_ids"] for name in NAMES for word in WORDS]


def narrow_corpus(tokenizer):
    """A corpus that leaves directions free."""
    return [tokenizer(f"Because {word} reads alpha kappa, {word[::-1]} too.")["input_ids"] for word in "abcdefghij"]


def memit_settings(**fields):
    target = TargetSettings(evaluations=8, stop=0.0, **fields.pop("target", {}))
    return MemitSettings(**{"layers": LAYERS, "weight": 0.5, "target": target} | fields)


def alphaedit_settings(**fields):
    target = TargetSettings(evaluations=6, stop=0.0)
    return AlphaEditSettings(
        **{"layers": LAYERS, "ridge": RIDGE, "threshold": None, "rank": RANK, "target": target} | fields
    )


# States and keys by hooks of the tests' own


def state_at(model, ids, module, place, side):
    """Return the input or output of a module at one position, from a pass over one unpadded sequence."""
    kept: dict[str, Any] = {}

    def hook(_module, args, output):
        kept["state"] = (args[0] if side == "input" else output)[0, place].detach().double()

    handle = module.register_forward_hook(hook)
    with torch.no_grad():
        model(torch.tensor([list(ids)]))
    handle.remove()
    return kept["state"]


def inputs_of(model, ids, module):
    """Return all inputs of a module in a pass over one unpadded sequence: (tokens x width)."""
    return state_at(model, ids, module, slice(None), "input")


def subject_end(tokenizer, ids, name):
    """Return the first position whose text up to there holds the name: found by decoding, not by offsets."""
    return next(place for place in range(len(ids)) if name in tokenizer.decode(ids[: place + 1]))


def key_by_hand(model, tokenizer, request, module):
    """The bare prompt weighs one half, the sampled prefixes together the other."""

    def seen(ids):
        return state_at(model, ids, module, subject_end(tokenizer, ids, request.case_id), "input")

    bare, *sampled = [seen(variant.ids[: variant.start]) for variant in request.variants]
    return (bare + torch.stack(sampled).mean(0)) / 2


def moment_by_hand(model, rows, layer):
    """Sum over each sequence alone: no padding exists, and each token counts once."""
    module = model.model.layers[layer].mlp.down_proj
    total, count = 0, 0
    for row in rows:
        keys = inputs_of(model, row, module)
        total = total + keys.T @ keys
        count += len(row)
    return total / count


def delta_of(artifact, layer):
    return artifact.tensors[f"delta.model.layers.{layer}.mlp.down_proj.weight"].double()


def put(model, layer, delta):
    with torch.no_grad():
        model.model.layers[layer].mlp.down_proj.weight += delta.float()


# The checks


def check_statistics(model, tokenizer):
    rows = [tokenizer(text)["input_ids"] for text in ("API: numpy.astype", "The answer is alpha beta, said he.", "x")]
    stats = collect(model, rows, (0, 2), batch=2)
    assert stats.tokens == sum(map(len, rows))
    for layer in (0, 2):
        assert_close(stats.moments[layer], moment_by_hand(model, rows, layer), 1e-6)


def check_memit(model, tokenizer):
    """Each layer's update is the closed form, from keys and residuals of the partially edited model."""
    requests = subject_requests(tokenizer)
    stats = collect(model, wide_corpus(tokenizer), LAYERS)
    artifact = Memit(memit_settings()).fit(model, requests, stats=stats)
    z = artifact.tensors["z"].double()
    layers = model.model.layers
    for number, layer in enumerate(LAYERS):
        module = layers[layer].mlp.down_proj
        keys = torch.stack([key_by_hand(model, tokenizer, request, module) for request in requests], dim=1)
        now = []
        for request in requests:
            ids = request.bare.ids[: request.bare.start]
            now.append(state_at(model, ids, layers[LAYERS[-1]], subject_end(tokenizer, ids, request.case_id), "output"))
        residuals = (z - torch.stack(now)).T / (len(LAYERS) - number)
        system = 0.5 * stats.moments[layer] + keys @ keys.T
        assert_close(delta_of(artifact, layer), residuals @ keys.T @ torch.linalg.inv(system))
        put(model, layer, delta_of(artifact, layer))


def check_solve():
    """The solution keeps its digits where C spans nine decades, as it does in real layers."""
    generator = torch.Generator().manual_seed(3)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    turned, _ = torch.linalg.qr(draw(24, 24))
    moment = turned @ torch.diag(torch.logspace(0, -9, 24, dtype=torch.float64)) @ turned.T
    keys, residuals = draw(24, 5), draw(7, 5)
    wanted = residuals @ keys.T @ torch.linalg.inv(0.5 * moment + keys @ keys.T)
    assert_close(memit.solve_memit(moment, keys, residuals, 0.5), wanted)


def check_undo(model, tokenizer):
    """Fitting leaves every bit, applying changes the edited layers alone, undoing restores every bit."""
    before = bits(model)
    editor = Memit(memit_settings())
    artifact = editor.fit(model, subject_requests(tokenizer), stats=collect(model, wide_corpus(tokenizer), LAYERS))
    assert same(bits(model), before)
    handle = editor.apply(model, artifact)
    after = bits(model)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {f"model.layers.{layer}.mlp.down_proj.weight" for layer in LAYERS}
    handle.undo()
    assert same(bits(model), before)


def bits(model):
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


def free_space(moment, rank=RANK):
    """P by singular vectors of C instead of eigenvectors, and the largest eigenvalue that counts as free."""
    left, values, _ = torch.linalg.svd(moment.double())
    basis = left[:, -rank:]
    return basis @ basis.T, float(values[-rank])


def published(projection, keys, residuals, earlier, ridge=RIDGE):
    """The equation as printed, with the non-symmetric matrix of the official code."""
    gram = keys @ keys.T + (0 if earlier is None else earlier @ earlier.T)
    system = projection @ gram + ridge * torch.eye(len(projection), dtype=torch.float64)
    return torch.linalg.solve(system, projection @ keys @ residuals.T).T


def check_alphaedit(model, tokenizer):
    """Both sequential batches are the published equation, the second with the keys of the first as they became."""
    requests = subject_requests(tokenizer, 4)
    stats = collect(model, narrow_corpus(tokenizer), LAYERS)
    artifact = AlphaEdit(alphaedit_settings(batch=2)).fit(model, requests, stats=stats)
    first = AlphaEdit(alphaedit_settings()).fit(model, requests[:2], stats=stats)
    z = artifact.tensors["z"].double()
    layers = model.model.layers
    found = {layer: [delta_of(first, layer), delta_of(artifact, layer) - delta_of(first, layer)] for layer in LAYERS}
    earlier: dict[int, Any] = dict.fromkeys(LAYERS)
    for turn, part in enumerate((requests[:2], requests[2:])):
        for number, layer in enumerate(LAYERS):
            module = layers[layer].mlp.down_proj
            keys = torch.stack([key_by_hand(model, tokenizer, request, module) for request in part], dim=1)
            now = [state_at(model, item.bare.ids, layers[LAYERS[-1]], item.bare.subject, "output") for item in part]
            residuals = (z[2 * turn : 2 * turn + 2] - torch.stack(now)).T / (len(LAYERS) - number)
            space, _ = free_space(stats.moments[layer])
            assert_close(found[layer][turn], published(space, keys, residuals, earlier[layer]))
            put(model, layer, found[layer][turn])
        for layer in LAYERS:
            module = layers[layer].mlp.down_proj
            keys = torch.stack([key_by_hand(model, tokenizer, request, module) for request in part], dim=1)
            earlier[layer] = keys


def check_bound(model, tokenizer):
    """|Delta K0|_F <= sqrt(n * largest free eigenvalue) |Delta|_F for the very keys K0 of the corpus."""
    rows = narrow_corpus(tokenizer)
    stats = collect(model, rows, LAYERS)
    artifact = AlphaEdit(alphaedit_settings()).fit(model, subject_requests(tokenizer, 4), stats=stats)
    for layer in LAYERS:
        module = model.model.layers[layer].mlp.down_proj
        old = torch.cat([inputs_of(model, row, module) for row in rows]).T
        delta = delta_of(artifact, layer)
        _, largest = free_space(old @ old.T / old.shape[1])
        assert float(delta.norm()) > 0
        assert float((delta @ old).norm()) <= (old.shape[1] * largest) ** 0.5 * float(delta.norm()) * (1 + 1e-3)


RULES = [
    ((3.0, 0.0), "a", "added", [1.0, 1.0]),  # farther than e0 + e_j
    ((3.0, 0.0), "b", "added", [1.0, 1.0]),
    ((0.8, 0.0), "b", "split", [0.4 - SPLIT_GAP, 0.4]),  # another label inside
    ((1.5, 0.0), "b", "split", [0.75 - SPLIT_GAP, 0.75]),  # another label, balls would touch
    ((1.5, 0.0), "a", "grown", [1.5]),  # same label outside the radius
    ((0.5, 0.0), "a", "kept", [1.0]),  # same label inside
    ((0.0, 0.0), "b", "split", [0.0, 0.0]),  # nothing between them
]


def check_rules():
    """Add, split, grow and keep, one at a time."""
    for second, label, placed, radii in RULES:
        book = Codebook(2, 1)
        book.place(torch.tensor([0.0, 0.0]), "a", torch.tensor([1.0]), 1.0)
        _, found = book.place(torch.tensor(second), label, torch.tensor([2.0]), 1.0)
        assert found == placed
        assert book.radii == pytest.approx(radii, abs=1e-6)


def check_distances():
    """Distances near zero keep their digits, also beyond 25 entries."""
    book = Codebook(64, 1)
    base = torch.full((64,), 100.0)
    for number in range(30):
        book.place(base + 10 * number, str(number), torch.zeros(1), 0.0)
    nudge = base.clone()
    nudge[0] += 1e-3
    for query, apart in ((base, 0.0), (nudge, 1e-3)):
        near = book.nearest(query)
        assert near is not None
        assert near.distance == pytest.approx(apart, rel=1e-2, abs=1e-6)


def greedy(model, ids, count):
    with torch.no_grad():
        return model.generate(
            input_ids=torch.tensor([list(ids)]), attention_mask=torch.ones((1, len(ids)), dtype=torch.long),
            max_new_tokens=count, do_sample=False, eos_token_id=None, pad_token_id=0,
        )[0, len(ids) :].tolist()  # fmt: skip


def check_edits(model, tokenizer, replace="onward"):
    """Every edit comes back token for token under greedy cached decoding, and no hook stays behind."""
    requests = plain_requests(tokenizer)
    editor = Grace(GRACE.model_copy(update={"replace": replace}))
    base = [greedy(model, item.bare.ids[: item.bare.start], len(item.bare.target)) for item in requests]
    assert all(text != list(item.bare.target) for text, item in zip(base, requests, strict=True))
    artifact = editor.fit(model, requests)
    handle, hook = editor.attach(model, artifact)
    for item in requests:
        assert greedy(model, item.bare.ids[: item.bare.start], len(item.bare.target)) == list(item.bare.target)
    assert [near.inside for near in hook.lookups] == [True] * 3
    handle.undo()
    assert base == [greedy(model, item.bare.ids[: item.bare.start], len(item.bare.target)) for item in requests]


def check_outside(model, tokenizer, replace="onward"):
    """Prompts outside every radius have the very bits of the base, beside a prompt that hits too."""
    requests = plain_requests(tokenizer)
    hit = list(requests[0].bare.ids[: requests[0].bare.start])
    prompts = [tokenizer(sentence(name, "alpha"))["input_ids"] for name in ("torch.lobpcg", "flask.stream")]
    pair = torch.tensor([hit, (prompts[0] * 2)[: len(hit)]])
    alone = [model(torch.tensor([ids])).logits for ids in prompts]
    beside = model(pair).logits
    editor = Grace(GRACE.model_copy(update={"replace": replace, "steps": 3}))
    _, hook = editor.attach(model, editor.fit(model, requests))
    for ids, wanted in zip(prompts, alone, strict=True):
        found = model(torch.tensor([ids])).logits
        assert found.dtype == wanted.dtype
        assert torch.equal(found, wanted)
        greedy(model, ids, 4)
    assert not any(near.inside for near in hook.lookups)
    found = model(pair).logits
    assert torch.equal(found[1], beside[1])
    assert not torch.equal(found[0], beside[0])


def check_labels(model, tokenizer):
    """Equal targets have one label; different ones of the same mean have two, and so do other lengths of prompt."""
    ids = tuple(tokenizer("API: numpy.astype is")["input_ids"])

    def asked(case, target, prompt=ids):
        form = Variant(ids=(*prompt, *target), subject=0, start=len(prompt))
        return TokenRequest(case_id=case, api="", groups=((form,),), essence=None)

    cases = [
        asked("a", (10, 20, 33)), asked("again", (10, 20, 33), ids[1:]), asked("swapped", (20, 10, 33), ids[2:]),
        asked("mean", (11, 19, 33), ids[3:]), asked("longer", (10, 20, 33, 21), ids[4:]),
    ]  # fmt: skip
    editor = Grace(GRACE.model_copy(update={"steps": 1, "radius": 0.0}))
    first, again, *others = editor.fit(model, cases).facts["labels"]
    assert first == again
    assert len({first, *others}) == 4


def check_projected_lora(model, tokenizer):
    """A = A P after every step, and the merged update moves the corpus within the bound."""
    stats = collect(model, narrow_corpus(tokenizer), LAYERS)
    settings = AlphaEditLoraSettings(
        **SMALL | {"steps": 5, "decay": 0.1}, rank=4, alpha=8, layers=LAYERS, threshold=None, space=40, dropout=0.1
    )
    artifact = AlphaEditLora(settings, tokenizer).fit(model, training_requests(tokenizer), seed=1, stats=stats)
    assert len(artifact.facts["projection_error"]) == 5
    assert max(artifact.facts["projection_error"]) <= 1e-5
    assert {name.split(".layers.")[1].split(".")[0] for name in artifact.tensors} == {"1", "2"}
    for layer in LAYERS:
        space, largest = free_space(stats.moments[layer], 40)
        head = f"base_model.model.model.layers.{layer}.mlp.down_proj"
        a, b = (artifact.tensors[f"{head}.lora_{which}.weight"].double() for which in "AB")
        assert float((a - a @ space).norm()) <= 1e-5 * float(a.norm())
        delta = 2 * b @ a  # alpha / rank
        assert float(delta.norm()) > 0
        moved = torch.trace(delta @ stats.moments[layer] @ delta.T)
        assert float(moved) <= largest * float(delta.norm()) ** 2 * (1 + 1e-3)


def check_loss(model, tokenizer):
    """The first loss that training reports is that of the targets' tokens alone, each counted once, in any batches."""
    requests = training_requests(tokenizer)
    total, count = 0.0, 0
    for request in requests:
        ids = torch.tensor(request.bare.ids)
        with torch.no_grad():
            scores = torch.log_softmax(model(ids[None]).logits[0], -1)
        own = -scores[:-1].gather(1, ids[1:, None])[request.bare.start - 1 :, 0]
        total, count = total + float(own.sum()), count + len(own)
    for batch, accumulation in ((len(requests), 1), (2, 4)):
        settings = LoraSettings(
            **SMALL | {"steps": 1, "batch": batch, "accumulation": accumulation}, rank=4, alpha=8, dropout=0.0
        )
        artifact = Lora(settings, tokenizer).fit(model, requests, seed=1)
        assert artifact.facts["loss"][0][1] == pytest.approx(total / count, rel=1e-4)


def check_merged(model, tokenizer, folder):
    """Only adapters train, and the merged weights say what peft says with the adapters apart."""
    import peft

    from novelapi.adaptation.lora import write_adapter

    before = bits(model)
    requests = training_requests(tokenizer)
    editor = Lora(LoraSettings(**SMALL, rank=4, alpha=12, dropout=0.1), tokenizer)
    artifact = editor.fit(model, requests, seed=1)
    assert same(bits(model), before)
    assert any(float(value.abs().max()) > 0 for name, value in artifact.tensors.items() if "lora_B" in name)
    write_adapter(artifact, folder)
    ids = torch.tensor([requests[0].bare.ids])
    handle = editor.apply(model, artifact)
    merged = model(ids).logits
    handle.undo()
    assert same(bits(model), before)
    plain = model(ids).logits
    unmerged = peft.PeftModel.from_pretrained(model, str(folder)).eval()(ids).logits
    assert torch.allclose(merged, unmerged, atol=1e-4)
    assert not torch.allclose(merged, plain, atol=1e-3)


def check_first_adapters(model, tokenizer):
    """The adapters' first values follow the seed, whatever was drawn before."""

    def fit(seed, before):
        torch.manual_seed(before)
        settings = LoraSettings(**SMALL | {"steps": 1}, rank=4, alpha=8)
        return Lora(settings, tokenizer).fit(model, training_requests(tokenizer), seed=seed).tensors

    first, again, other = fit(3, before=0), fit(3, before=1), fit(4, before=0)
    assert same(first, again)
    assert not same(first, other)
