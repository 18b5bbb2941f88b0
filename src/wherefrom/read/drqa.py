"""Exact spans as candidate answers, read out by DrQA's network (Chen et al. 2017).

The classic reader: words with vectors and tags, no pretrained encoder. Use it as a yardstick beside `span`, or where
passages are long and few. It needs the weights `drqa` and, unless it was trained without tags, `tagger`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from wherefrom.features.forms import Form, exact_match, forms, term_frequency
from wherefrom.features.tokens import tokens
from wherefrom.read.span import best_spans, brevity_of, log_sum_exp, paragraphs
from wherefrom.runtime.drqa import DrQASession, Pair, SpanLogits
from wherefrom.text import says_something
from wherefrom.types import Candidate, Hit, Question

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

SpanScore = Literal["exp", "softmax"]


class TokenTags(Protocol):
    """Tags of a text's tokens, as numbers of names."""

    @property
    def pos(self) -> NDArray[numpy.uint8]: ...

    @property
    def ner(self) -> NDArray[numpy.uint8]: ...


class TokenTagger(Protocol):
    """Tags the tokens of `features.tokens`, such as `features.tags.Tagger`."""

    def tag(self, texts: Sequence[str]) -> Sequence[TokenTags]: ...


class DrQAReader:
    """The best spans over all passages.

    Score exp: start + end logit, the log of DrQA's unnormalised exp; it compares passages. softmax: log P(start) +
    log P(end) inside each passage. With `brevity` shorter spans are preferred, as much as the weights say; the feature
    `span` is without that. Ties go to the earlier passage, the shorter span, then the earlier one.
    """

    def __init__(
        self,
        session: DrQASession,
        tagger: TokenTagger,
        pos: Sequence[str],
        ner: Sequence[str],
        candidates: int,
        max_tokens: int,
        span_score: SpanScore = "exp",
        brevity: bool = True,
    ) -> None:
        """`pos` and `ner` are the names of the tagger's numbers."""
        self._session = session
        self._tagger = tagger
        self._pos, self._ner = tuple(pos), tuple(ner)
        self._candidates = candidates
        self._max_tokens = max_tokens
        self._span_score = span_score
        self._brevity = brevity

    def read(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Candidate]]:
        texts = list(dict.fromkeys(hit.passage.text for question_hits in hits for hit in question_hits))
        if not texts:
            return [[] for _ in questions]
        passages = dict(zip(texts, self._passages(texts), strict=True))
        pairs: list[Pair] = []
        for question, question_hits in zip(questions, hits, strict=True):
            question_forms = forms(question.text, tokens(question.text))
            pairs += [self._pair(question_forms, *passages[hit.passage.text]) for hit in question_hits]
        logits = iter(self._session.read(pairs))
        return [self._read_one(question_hits, [next(logits) for _ in question_hits]) for question_hits in hits]

    def _passages(self, texts: Sequence[str]) -> list[tuple[list[Form], NDArray[numpy.float32]]]:
        """The forms of every passage's tokens, and the features that the question does not touch."""
        import numpy

        settings = self._session.weights.settings
        network = settings["network"]
        tagged: Sequence[TokenTags | None] = [None] * len(texts)
        if network["pos"] or network["ner"]:
            tagged = self._tagger.tag(texts)
        passages: list[tuple[list[Form], NDArray[numpy.float32]]] = []
        for text, tags in zip(texts, tagged, strict=True):
            passage = forms(text, tokens(text))
            parts = []
            if network["pos"] and tags is not None:
                parts.append(one_hot(tags.pos, self._pos, settings["pos"]))
            if network["ner"] and tags is not None:
                parts.append(one_hot(tags.ner, self._ner, settings["ner"]))
            if network["tf"]:
                parts.append(term_frequency(passage)[:, None])
            passages.append((passage, numpy.concatenate(parts, 1) if parts else numpy.zeros((len(passage), 0), "f4")))
        return passages

    def _pair(self, question: Sequence[Form], passage: Sequence[Form], features: NDArray[numpy.float32]) -> Pair:
        import numpy

        if self._session.weights.settings["network"]["exact"]:
            features = numpy.concatenate([exact_match(question, passage), features], 1)
        return Pair([form.small for form in question], [form.small for form in passage], features)

    def _read_one(self, hits: Sequence[Hit], logits: Sequence[SpanLogits]) -> list[Candidate]:
        weights = self._session.weights
        longest = min(self._max_tokens, int(weights.settings["max_span"]))
        brevity = brevity_of(weights) if self._brevity else 0.0
        candidates: dict[tuple[str, int, int], tuple[tuple[float, int, int, int], Candidate]] = {}
        for place, (hit, read) in enumerate(zip(hits, logits, strict=True)):
            if not len(read.start) or read.start.max() == float("-inf"):
                continue
            spans = tokens(hit.passage.text)
            shift = 0.0
            if self._span_score == "softmax":
                shift = log_sum_exp(read.start) + log_sum_exp(read.end)
            paragraph = paragraphs(hit.passage.text, spans)
            best_here = best_spans(read.start, read.end, longest, self._candidates, paragraph, brevity)
            for first, last, preferred in best_here:
                start, end = spans[first][0], spans[last][1]
                if not says_something(hit.passage.text[start:end]):
                    continue
                span, score = float(read.start[first] + read.end[last]) - shift, preferred - shift
                features = {**hit.features, "span": span, "tokens": float(last - first + 1), "read": score}
                candidate = Candidate(hit.passage.text[start:end], hit.passage, start, end, score, features)
                key = (hit.passage.document_id, hit.passage.start + start, hit.passage.start + end)
                order = (-score, place, last - first, first)
                if key not in candidates or order < candidates[key][0]:  # neighbouring passages may share it
                    candidates[key] = (order, candidate)
        best = [candidate for _, candidate in sorted(candidates.values(), key=lambda row: row[0])][: self._candidates]
        return [_ranked(candidate, rank) for rank, candidate in enumerate(best, start=1)]


def one_hot(numbers: NDArray[numpy.uint8], names: Sequence[str], known: Sequence[str]) -> NDArray[numpy.float32]:
    """(tokens, known): 1 at the number that the network has for a tag's name, at 0 for a name that it lacks."""
    import numpy

    place = {name: number for number, name in enumerate(known)}
    moved = numpy.array([place.get(name, 0) for name in names])[numbers]
    encoded: NDArray[numpy.float32] = numpy.eye(len(known), dtype=numpy.float32)[moved]
    return encoded


def _ranked(candidate: Candidate, rank: int) -> Candidate:
    return Candidate(
        candidate.text,
        candidate.passage,
        candidate.start,
        candidate.end,
        candidate.score,
        {**candidate.features, "span_rank": float(rank)},
    )
