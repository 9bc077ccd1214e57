"""Subjects by character offsets, whatever the tokenizer merges."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from novelapi.adaptation.requests import EditRequest, encode, locate_subject
from novelapi.errors import UsageError

pytest.importorskip("torch", reason="the extra train is not installed")


@pytest.mark.parametrize(
    "prompt",
    [
        "API: numpy.unstack\nis",
        "{API}: numpy.unstack{}% \\n",  # braces and percent signs of code
        "numpy.unstack",
        "é ü 漢字 numpy.unstack 漢",  # several bytes a character
    ],
)
def test_the_subject_s_last_token_covers_its_last_character(tokenizer, prompt):
    request = EditRequest(case_id="a", prompt=prompt, subject=locate_subject(prompt, "numpy.unstack"), target=" x")
    found = encode(request, tokenizer, prefixes=("The {} sigma. ",))
    for form in found.variants:
        text = tokenizer.decode(form.ids[: form.subject + 1])
        before = tokenizer.decode(form.ids[: form.subject])
        assert "numpy.unstack" in text
        assert "numpy.unstack" not in before
        assert tokenizer.decode(form.target) == " x"
        assert form.ids[form.start :] == form.target
    assert tokenizer.decode(found.essence.ids) == "numpy.unstack is a"


def test_a_subject_in_the_middle_of_a_word(tokenizer):
    prompt = "the answer"
    request = EditRequest(case_id="a", prompt=prompt, subject=(5, 7), target=" x")
    form = encode(request, tokenizer).bare
    offsets = tokenizer(prompt, return_offsets_mapping=True)["offset_mapping"]
    assert offsets[form.subject][0] < 7 <= offsets[form.subject][1]


def test_bad_requests(tokenizer):
    with pytest.raises(UsageError, match="does not occur in its prompt"):
        locate_subject("API: numpy", "pandas")
    with pytest.raises(ValidationError, match="does not lie in the 3 characters"):
        EditRequest(case_id="a", prompt="abc", subject=(1, 9), target="x")
    with pytest.raises(UsageError, match=r"have \d+ \+ \d+ tokens and the window 8"):
        encode(EditRequest(case_id="a", prompt="abc", target=" alpha" * 9), tokenizer, window=8)
