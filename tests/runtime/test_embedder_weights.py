"""The embedder that comes with wherefrom-lab: what it makes of texts, and a library that uses it as it is."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from wherefrom import Library
from wherefrom.config import RetrieveSettings, Settings
from wherefrom.lab import lab_places
from wherefrom.runtime.embedder import TextEmbedder
from wherefrom.runtime.weights import Weights
from wherefrom.types import Document, Question

if not lab_places("weights/embedder"):
    pytest.skip("the embedder comes with wherefrom-lab, and with a checkout", allow_module_level=True)

QUESTION = "what doctor treats kids"
RIGHT = "A pediatrician cares for children until they are grown."
OTHERS = ["The baker kneads dough before sunrise.", "The library opens at nine.", "Ships leave the harbour at dawn."]


@pytest.fixture(scope="module")
def embedder() -> TextEmbedder:
    return TextEmbedder(Weights.named("embedder"), 1)


def test_what_answers_is_nearest_though_it_shares_no_word(embedder: TextEmbedder) -> None:
    (question,) = embedder.vectors([QUESTION]).astype(int)
    nearness = embedder.vectors([RIGHT, *OTHERS]).astype(int) @ question
    assert int(numpy.argmax(nearness)) == 0


def test_a_text_has_the_same_vector_alone_and_among_longer_ones(embedder: TextEmbedder) -> None:
    (alone,) = embedder.vectors([RIGHT])
    among = embedder.vectors([RIGHT, " ".join(OTHERS * 8), ""])
    assert numpy.abs(among[0].astype(int) - alone).max() <= 2  # activations are rounded
    assert not among[2].any()


def test_a_library_uses_it_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("faiss", reason="the dense index needs faiss: pip install 'wherefrom[dense]'")
    with Library(tmp_path / "library", Settings(retrieve=RetrieveSettings(kind="hybrid"))) as library:
        library.put([Document(str(number), text) for number, text in enumerate([RIGHT, *OTHERS])])
        assert library.build_index("dense") == 4
        (hits,) = library.pipeline().retriever.retrieve([Question("", QUESTION)])
    assert hits[0].passage.document_id == "0"
