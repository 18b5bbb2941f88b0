"""Documents told by BERTSUM, each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from tokenizers import Tokenizer

from wherefrom.systems.bertsum.audit import QueryTriple
from wherefrom.systems.bertsum.material import EncodedTriple, batch_of, encoded
from wherefrom.systems.bertsum.network import BertsumNetwork
from wherefrom.systems.bertsum.task import BertsumTask, BertsumTaskSettings
from wherefrom.systems.pqsum.figures import Report
from wherefrom.systems.pqsum.sets import DocumentSet, Place, pieces
from wherefrom.systems.pqsum.supervision import Pieces, best
from wherefrom.train.batching import moved
from wherefrom.train.pretrained import unbounded


class Telling:
    """Puts documents as BERTSUM reads them, and has them told or extracted."""

    def __init__(self, tokenizer: Path, settings: BertsumTaskSettings, positions: int) -> None:
        self._tokenizer = unbounded(Tokenizer.from_file(str(tokenizer)))
        self._settings = settings
        self._positions = positions
        self._known: dict[str, list[int]] = {}

    def examples(self, sets: Sequence[DocumentSet], summaries: Pieces) -> list[EncodedTriple]:
        """Documents with their references; those of no words, or without a reference, are left out."""
        self._cut_all(sets, summaries)
        made = [self.example(sets, place, " ".join(summary)) for place, summary in summaries.items() if summary]
        return [each for each in made if each.sentences]

    def example(self, sets: Sequence[DocumentSet], place: Place, summary: str = "") -> EncodedTriple:
        """Query, marks and document together have no more tokens than the network has positions."""
        triple = QueryTriple(sets[place[0]].query, sets[place[0]].documents[place[1]], summary)
        room = self._settings.document_tokens
        while True:
            made = encoded(triple, self._cut, room, self._settings.target_tokens, query=True, labelled=False)
            over = len(made.tokens) - self._positions
            if over <= 0 or room <= 1:
                return made
            room = max(1, len(made.tokens) - made.query - 2 * len(made.sentences) - over)

    def write(
        self, model: BertsumNetwork, sets: Sequence[DocumentSet], places: Sequence[Place], report: Report
    ) -> dict[Place, list[str]]:
        """What the network writes of each document, in sentences."""
        task = BertsumTask("write", [], [], model.settings, self._settings, {})
        written: dict[Place, list[str]] = {}
        for batch, examples in self._batches(sets, places, report):
            with _generating(model):
                summaries = task.written(model, examples)
            for place, tokens in zip(batch, summaries, strict=True):
                written[place] = pieces(str(self._tokenizer.decode(list(tokens), skip_special_tokens=True)))
        return {place: written.get(place, []) for place in places}

    def extracted(
        self, model: BertsumNetwork, sets: Sequence[DocumentSet], places: Sequence[Place], count: int, report: Report
    ) -> dict[Place, list[str]]:
        """The sentences of each document that the network would take."""
        taken: dict[Place, list[str]] = {}
        device = next(model.parameters()).device
        for batch, examples in self._batches(sets, places, report):
            with _generating(model):
                logits = model.extract(moved(batch_of(examples), device).given).float().tolist()
            for place, example, row in zip(batch, examples, logits, strict=True):
                texts = self._read(sets[place[0]].documents[place[1]])[: len(example.sentences)]
                taken[place] = best(texts, row, count)
        return {place: taken.get(place, []) for place in places}

    def _batches(
        self, sets: Sequence[DocumentSet], places: Sequence[Place], report: Report
    ) -> Iterator[tuple[list[Place], list[EncodedTriple]]]:
        """Documents of like length together; those of no words are left out."""
        self._cut_all(sets, places)
        made = [(place, self.example(sets, place)) for place in places]
        full = sorted((each for each in made if each[1].sentences), key=lambda each: len(each[1].tokens))
        size = self._settings.batch
        for begin in range(0, len(full), size):
            report(begin, len(full))
            batch = full[begin : begin + size]
            yield [place for place, _ in batch], [example for _, example in batch]

    def _read(self, document: str) -> list[str]:
        """The sentences that `encoded` gives a [CLS]: those with wordpieces."""
        return [text for text in pieces(document) if self._cut(text)]

    def _cut_all(self, sets: Sequence[DocumentSet], places: Iterable[Place]) -> None:
        """Sentences and queries in wordpieces, on all cores at once."""
        texts = {
            piece: None for at, number in places for piece in (sets[at].query, *pieces(sets[at].documents[number]))
        }
        fresh = [text for text in texts if text not in self._known]
        encodings = self._tokenizer.encode_batch(fresh, add_special_tokens=False)
        self._known |= {text: encoding.ids for text, encoding in zip(fresh, encodings, strict=True)}

    def _cut(self, text: str) -> list[int]:
        known = self._known.get(text)
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids) if known is None else known


@contextmanager
def _generating(model: BertsumNetwork) -> Iterator[None]:
    """Without gradients, and on a GPU in 16 bits."""
    kind = next(model.parameters()).device.type
    with torch.inference_mode(), torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
        yield
