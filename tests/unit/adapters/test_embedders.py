"""Neural embedders behind the port of the offline one."""

from __future__ import annotations

import pytest

from novelapi.adapters.embedders import EndpointEmbedder, TransformersEmbedder
from novelapi.errors import EndpointError, PrerequisiteError, UsageError
from tests.fakes.openai_server import fake_openai

np = pytest.importorskip("numpy", reason="the extra rag is not installed")


def test_rows_come_back_in_order_as_unit_vectors():
    texts = ["x" * length for length in range(1, 8)]
    with fake_openai() as server:
        rows = EndpointEmbedder("tiny", base_url=server.base_url, batch=3).embed(texts, "passage")
    expected = np.array([[length, 1.0] for length in range(1, 8)])
    assert np.allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True))
    assert sorted(len(body["input"]) for body in server.requests) == [1, 3, 3]


def test_the_prefix_stands_before_queries_only():
    with fake_openai() as server:
        embedder = EndpointEmbedder("tiny", base_url=server.base_url, query_prefix="query: ")
        embedder.embed(["text"], "query")
        embedder.embed(["text"], "passage")
    assert [body["input"] for body in server.requests] == [["query: text"], ["text"]]
    assert embedder.identity != EndpointEmbedder("tiny", base_url=server.base_url).identity


def test_an_unknown_model_and_a_dead_server_are_readable():
    with fake_openai() as server, pytest.raises(EndpointError, match="no embeddings of 'other'"):
        EndpointEmbedder("other", base_url=server.base_url).embed(["x"], "query")
    with pytest.raises(PrerequisiteError, match="OPENAI_API_KEY"):
        EndpointEmbedder("tiny")


def test_weights_in_this_process(tmp_path):
    torch = pytest.importorskip("torch", reason="the extra train is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra train is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="the extra train is not installed")
    words = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1, "a": 2, "b": 3}, unk_token="[UNK]")
    )
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(
        tmp_path
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=4,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    embedder = TransformersEmbedder(tmp_path)
    alone, together = embedder.embed(["a b"], "passage"), embedder.embed(["a b", "b " * 100], "passage")
    assert together.shape == (2, 16)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert np.allclose(alone[0], together[0], atol=1e-5)  # padding has no part in it
    assert embedder.identity == TransformersEmbedder(tmp_path).identity


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(UsageError, match="save_pretrained"):
        TransformersEmbedder(tmp_path)
