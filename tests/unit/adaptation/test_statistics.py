"""Second moments: one count per token whatever the padding, one pass for all layers."""

from __future__ import annotations

import pytest

from novelapi.adaptation.statistics import collect, corpus_texts, load_statistics, save_statistics, token_sequences
from novelapi.errors import DataError, UsageError

torch = pytest.importorskip("torch", reason="the extra train is not installed")


@pytest.fixture
def rows(tokenizer):
    texts = ["API: numpy.astype", "The answer is alpha beta gamma, said the very long sentence in the end.", "x"]
    return [tokenizer(text)["input_ids"] for text in texts]


def test_one_pass_serves_all_layers_and_ends_after_the_top_one(model, rows):
    counts = [0] * 4
    for number, layer in enumerate(model.model.layers):
        layer.mlp.up_proj.register_forward_hook(
            lambda *_, number=number: counts.__setitem__(number, counts[number] + 1)
        )
    collect(model, rows, (0, 2), batch=8)
    assert counts == [1, 1, 1, 0]


def test_statistics_survive_the_disk_and_a_broken_file_is_noticed(model, rows, tmp_path):
    stats = collect(model, rows, (1,))
    save_statistics(stats, tmp_path)
    again = load_statistics(tmp_path)
    assert torch.equal(again.moments[1], stats.moments[1])
    assert (again.base_sha, again.tokens) == (stats.base_sha, stats.tokens)
    (tmp_path / "moments.safetensors").write_bytes(b"torn")
    with pytest.raises(DataError, match="collect them again"):
        load_statistics(tmp_path)


def test_bad_corpora(model, tokenizer, tmp_path):
    with pytest.raises(UsageError, match="no tokens"):
        collect(model, [[]], (1,))
    (tmp_path / "picture").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(DataError, match="leave it out"):
        list(corpus_texts([tmp_path / "picture"]))
    rows = token_sequences(["alpha beta gamma delta"] * 50, tokenizer, length=5, limit=23)
    assert [len(row) for row in rows][:2] == [5, 5]
    assert sum(map(len, rows)) == 23
