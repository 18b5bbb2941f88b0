"""Training material for writing: questions, passages, answers and sentences as tokens, in one file of tensors.

Made once, from the ten-passage set, SQuAD, QA2D, NarrativeQA, VANiLLa, VQuAnDa and ParaQA; training then needs neither
the datasets nor a tokenizer. The texts as they were written lie beside it, for scoring.

- Texts, one behind the other: `question`, `title`, `passage`, `answer`, `sentence`, each with `_tokens` and `_starts`;
  `passage_title` is the number of a passage's title.
- One number an example: `question`, its text; `source` and `query_type`, places in `SOURCES` and `QUERY_TYPES`;
  `valid`; `answerable`, whether the given passages hold the answer; `gold`, the passage with the answer, given or left
  out, or -1; `descriptive`, whether PREAST's NLG_aug(-) takes no synthetic sentence for it; `references`, how many of
  its answers, the first ones, are targets.
- Ten numbers an example: `passages` as given, in their order, -1 where there are fewer; `relevant`; `weak`, a guess
  where the dataset has no labels.
- `answers_until`, `sentences_until`: the answers of example e are those from `answers_until[e]` to `[e + 1]`.
- Two numbers an answer: `answer_span`, its first and last token in the gold passage, or -1; `answer_context`, begin and
  end of the sentences around it, an empty range where there are none.
- `sentence_valid`: 1 for a sentence that is never trained on.
- `triple_example`, `triple_answer`, `triple_sentence`: what style transfer learns from.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from wherefrom.data import narrativeqa, paraqa, qa2d, squad, vanilla, vquanda
from wherefrom.data.examples import Example, whole
from wherefrom.data.locating import occurrences
from wherefrom.data.opening import named_files, split_file
from wherefrom.errors import WherefromError
from wherefrom.evaluate.ten_passages import passage_of, rows_of, wikipedia_titles
from wherefrom.evaluate.texts import passages_beside, texts_beside
from wherefrom.features.querytype import QueryType, query_type
from wherefrom.ingest.split import split as cut_into_passages
from wherefrom.metrics.lcs import lcs_length
from wherefrom.text import FUNCTION_WORDS, Span, sentences
from wherefrom.train.pretrained import unbounded
from wherefrom.train.writing.sources import SOURCES
from wherefrom.types import Passage
from wherefrom.write.marks import NAMES, Marks

if TYPE_CHECKING:
    from tokenizers import Tokenizer

QUERY_TYPES: tuple[QueryType, ...] = get_args(QueryType)
MOST_PASSAGES = 10
MOST_PASSAGE_TOKENS = 480  # as the reader's
MOST_TITLE_TOKENS = 24
WEAK_SHARE = 0.5  # of the answer's words a passage must hold to be taken for relevant
NOWHERE = (-1, -1)
_DESCRIBING = re.compile(r"\b(?:what|how|definition|define)\b")


def descriptive(question: str) -> bool:
    """Whether PREAST's NLG_aug(-) leaves the question out: typed Description, and with what, how, definition or define.

    Style transfer is weakest there, and so are the sentences that it makes (preast-qa 5.4).
    """
    return query_type(question) == "DESCRIPTION" and _DESCRIBING.search(question.lower()) is not None


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """A short answer, with its characters in the gold passage where it stands there word for word."""

    text: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class CorpusExample:
    """One example as the material takes it."""

    source: str
    id: str
    question: str
    answers: Sequence[ShortAnswer] = ()  # targets first
    references: int = 0  # so many of the answers are targets, the others serve style transfer alone
    sentences: Sequence[str] = ()
    held: Sequence[bool] = ()  # one a sentence: never trained on
    gold: Passage | None = None
    given: Sequence[Passage] = ()
    relevant: Sequence[bool] = ()
    weak: Sequence[bool] = ()
    answerable: bool = False
    valid: bool = False
    article: str = ""


@dataclass
class _Texts:
    """Texts as tokens, one behind the other."""

    tokens: array[int] = field(default_factory=lambda: array("h"))  # wordpiece ids stay below 32,768
    starts: list[int] = field(default_factory=lambda: [0])
    known: dict[str, int] = field(default_factory=dict)

    def append(self, tokens: Iterable[int]) -> int:
        self.tokens.extend(tokens)
        self.starts.append(len(self.tokens))
        return len(self.starts) - 2

    def add(self, key: str, tokens: Callable[[], Iterable[int]]) -> int:
        """The number of the text with this key; `tokens` is only called for a new one."""
        if key not in self.known:
            self.known[key] = self.append(tokens())
        return self.known[key]


class CorpusBuilder:
    """Collects examples and writes them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._texts = {name: _Texts() for name in ("question", "title", "passage", "answer", "sentence")}
        self._passage_title: list[int] = []
        self._columns: dict[str, list[Any]] = defaultdict(list)
        self._until = {"answers": [0], "sentences": [0]}
        self._lines: list[dict[str, Any]] = []
        self._shown: dict[int, dict[str, Any]] = {}  # passages of validation
        self.left_out = 0

    def add(self, example: CorpusExample) -> None:
        """One question. One whose answer no tokens of the gold passage hold is left out."""
        number = len(self._lines)
        gold, spans, contexts = -1, [NOWHERE] * len(example.answers), [(0, 0)] * len(example.answers)
        tokens: list[Sequence[int]] = [self._encoded(answer.text) for answer in example.answers]
        if example.gold is not None:
            encoding, begin = self._cut(example.gold, [answer.span for answer in example.answers if answer.span])
            ids, offsets = encoding.ids[begin:][:MOST_PASSAGE_TOKENS], encoding.offsets[begin:][:MOST_PASSAGE_TOKENS]
            for place, answer in enumerate(example.answers):
                span = _tokens_of(offsets, *answer.span) if answer.span else None
                if span is not None and answer.span is not None:
                    spans[place] = span
                    tokens[place] = ids[span[0] : span[1] + 1]  # as they stand there, so that copying is exact
                    contexts[place] = _context(example.gold.text, offsets, answer.span)
            if example.references and spans[0] == NOWHERE:
                self.left_out += 1
                return
            contexts = [context if context[1] else contexts[0] for context in contexts]
            gold = self._passage(example.gold, begin, ids, example.valid)
        self._add_columns(example, gold)
        columns = self._columns
        first_answer = self._until["answers"][-1]
        for encoded, span, context in zip(tokens, spans, contexts, strict=True):
            self._texts["answer"].append(encoded)
            columns["answer_span"].append(span)
            columns["answer_context"].append(context)
        by_use = sorted(zip(example.sentences, example.held, strict=True), key=lambda pair: pair[1])
        for sentence, held in by_use:  # those to train on come first
            place = self._texts["sentence"].append(self._encoded(sentence))
            columns["sentence_valid"].append(int(held))
            if tokens:
                columns["triple_example"].append(number)
                columns["triple_answer"].append(first_answer + closest(example.answers, sentence))
                columns["triple_sentence"].append(place)
        self._until["answers"].append(first_answer + len(tokens))
        self._until["sentences"].append(len(columns["sentence_valid"]))
        self._lines.append(
            {
                "example": number,
                "id": example.id,
                "source": example.source,
                "valid": example.valid,
                "article": example.article,
                "question": example.question,
                "answers": [answer.text for answer in example.answers],
                "references": example.references,
                "sentences": [sentence for sentence, _ in by_use],
                "held": [held for _, held in by_use],
            }
        )

    def _add_columns(self, example: CorpusExample, gold: int) -> None:
        """What there is one of, or ten, for every example."""
        columns, question = self._columns, example.question
        columns["question"].append(self._texts["question"].add(question, lambda: self._encoded(question)))
        columns["source"].append(SOURCES.index(example.source))
        columns["valid"].append(int(example.valid))
        columns["query_type"].append(QUERY_TYPES.index(query_type(question)))
        columns["descriptive"].append(int(descriptive(question)))
        columns["answerable"].append(int(example.answerable))
        columns["gold"].append(gold)
        columns["references"].append(example.references)
        given = [
            gold if passage is example.gold else self._passage(passage, 0, None, example.valid)
            for passage in example.given[:MOST_PASSAGES]
        ]
        columns["passages"].append(_padded(given, -1))
        columns["relevant"].append(_padded(example.relevant, 0))
        columns["weak"].append(_padded(example.weak, 0))

    def write(self, path: Path, facts: Mapping[str, str]) -> dict[str, int]:
        """The tensors, `facts` in their header; beside them `NAME.texts.jsonl.gz` and `NAME.passages.jsonl.gz`."""
        import numpy
        from safetensors.numpy import save_file

        kinds = {
            "question": numpy.int32,
            "gold": numpy.int32,
            "passages": numpy.int32,
            "answer_span": numpy.int16,
            "answer_context": numpy.int16,
            "triple_example": numpy.int32,
            "triple_answer": numpy.int32,
            "triple_sentence": numpy.int32,
        }
        pairs = ("answer_span", "answer_context")
        names = (
            "question",
            "source",
            "valid",
            "query_type",
            "descriptive",
            "answerable",
            "gold",
            "references",
            "weak",
            "passages",
            "relevant",
            *pairs,
            "sentence_valid",
            "triple_example",
            "triple_answer",
            "triple_sentence",
        )
        tensors: dict[str, numpy.ndarray[Any, Any]] = {
            name: numpy.array(self._columns[name], kinds.get(name, numpy.uint8)) for name in names
        }
        tensors |= {name: tensors[name].reshape(-1, 2) for name in pairs}
        tensors |= {f"{name}_until": numpy.array(until, numpy.int32) for name, until in self._until.items()}
        tensors["passage_title"] = numpy.array(self._passage_title, numpy.int32)
        for name, texts in self._texts.items():
            tensors[f"{name}_tokens"] = numpy.array(texts.tokens, numpy.int16)
            tensors[f"{name}_starts"] = numpy.array(texts.starts, numpy.int32)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, path, {"about": json.dumps(facts)})  # one entry: several are written in no fixed order
        _write_lines(texts_beside(path), self._lines)
        _write_lines(passages_beside(path), self._shown.values())
        return {
            "examples": len(self._lines),
            "passages": len(self._passage_title),
            "answers": self._until["answers"][-1],
            "sentences": self._until["sentences"][-1],
            "triples": len(self._columns["triple_example"]),
            "left out": self.left_out,
        }

    def _encoded(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _passage(self, passage: Passage, begin: int, tokens: Sequence[int] | None, valid: bool) -> int:
        """The number of a passage, whose first token is `begin` of its text's."""
        texts = self._texts["passage"]
        key = f"{passage.id} {begin} {len(passage.text)}"
        number = texts.add(key, lambda: self._encoded(passage.text)[:MOST_PASSAGE_TOKENS] if tokens is None else tokens)
        if number == len(self._passage_title):
            title = passage.title
            encoded = self._texts["title"].add(title, lambda: self._encoded(title)[:MOST_TITLE_TOKENS])
            self._passage_title.append(encoded)
        if valid and number not in self._shown:
            about = {"passage": number, "id": passage.id, "title": passage.title, "text": passage.text}
            self._shown[number] = {**about, "first_token": begin}
        return number

    def _cut(self, gold: Passage, spans: Sequence[Span]) -> tuple[Any, int]:
        """The gold passage's encoding, and where to begin so that its first answer stays in."""
        encoding = self._tokenizer.encode(gold.text, add_special_tokens=False)
        begin = 0
        if len(encoding.ids) > MOST_PASSAGE_TOKENS and spans:
            first = _tokens_of(encoding.offsets, *spans[0])
            if first is not None:
                begin = max(0, min(first[0] - MOST_PASSAGE_TOKENS // 2, len(encoding.ids) - MOST_PASSAGE_TOKENS))
        return encoding, begin


def closest(answers: Sequence[ShortAnswer], sentence: str) -> int:
    """Which answer fits the sentence best, by ROUGE-L; the first of equals (preast-qa 4.3)."""
    if len(answers) == 1:
        return 0
    wanted = _words(sentence)

    def rouge(answer: ShortAnswer) -> float:
        words = _words(answer.text)
        return 2 * lcs_length(words, wanted) / max(1, len(words) + len(wanted))

    return max(range(len(answers)), key=lambda place: rouge(answers[place]))


def weak_labels(passages: Sequence[Passage], answers: Sequence[str]) -> list[bool]:
    """Which passages probably hold an answer, for datasets without labels.

    Those with an answer word for word; where there are none, those with the largest share of an answer's words, if that
    is at least `WEAK_SHARE`. Function words do not count, unless there are no others.
    """
    exact = [any(next(occurrences(answer, passage), None) for answer in answers) for passage in passages]
    if any(exact):
        return exact
    shares = [max((_share(answer, passage.text) for answer in answers), default=0.0) for passage in passages]
    best = max(shares, default=0.0)
    return [best >= WEAK_SHARE and share == best for share in shares]


def prepare(
    data: Path, ten_passages: Path, tokenizer_file: Path, out: Path, report: Callable[[str], None] = lambda _: None
) -> dict[str, int]:
    """Write the writer's material: `data` is the folder of datasets, `ten_passages` what `wherefrom data` built."""
    from tokenizers import Tokenizer

    tokenizer = unbounded(Tokenizer.from_file(str(tokenizer_file)))
    check_marks(tokenizer)
    material = CorpusBuilder(tokenizer)
    report("the joins of qa2d and squad")
    examples = {split: list(squad.load(data / "squad", split)) for split in ("train", "valid")}
    joined, alone = joined_sentences(
        {split: list(qa2d.load(data / "qa2d", split, detokenize=True)) for split in ("train", "valid")}, examples
    )
    titles = dict(wikipedia_titles(data))
    for split in ("valid", "train"):
        report(f"ten-passages, {split}")
        rows = {row["source_id"]: row for row in rows_of(ten_passages / f"{split}.jsonl.gz")}
        for example in examples[split]:
            if example.question.id in rows:
                material.add(from_squad(example, rows[example.question.id], titles, joined[example.question.id], split))
        del rows
    report("narrativeqa")
    for split in ("valid", "train"):
        for example in narrativeqa.load(data / "narrativeqa", split, passages="ten", detokenize=True):
            material.add(from_narrativeqa(example, split == "valid"))
    report("qa2d, vanilla, vquanda, paraqa")
    for each in (*alone, *_verbalised(data / "full_sentence")):
        material.add(each)
    facts = {
        "tokenizer_sha256": hashlib.sha256(tokenizer_file.read_bytes()).hexdigest(),
        "ten_passages": (ten_passages / "ten-passages.json").read_text(encoding="utf-8"),
    }
    return material.write(out, facts)


def data_files(data: Path) -> list[Path]:
    """Every file that the material is made of, beside the ten-passage set; a missing one shows before the work."""
    files = [split_file(data / "squad", split, squad.FILES) for split in ("train", "valid")]
    files += [split_file(data / "qa2d", split, qa2d.FILES) for split in ("train", "valid")]
    for name in narrativeqa.FILES["train"]:
        files += named_files(data / "narrativeqa", (name,))
    for name, source in (("vanilla", vanilla), ("paraqa", paraqa), ("vquanda", vquanda)):
        files.append(split_file(data / "full_sentence" / name, "train", source.FILES))
    return files


def check_marks(tokenizer: Tokenizer) -> None:
    """The tokens with a meaning of their own must be where `Marks` says, if the vocabulary has them at all."""
    marks = Marks()
    for name, token in NAMES.items():
        number = tokenizer.token_to_id(token)
        if number is not None and number != getattr(marks, name):
            raise WherefromError(f"{token} is token {number} of this vocabulary, and not {getattr(marks, name)}")


# A sentence of QA2D, and whether it is held out of training.
_Joined = dict[str, list[tuple[ShortAnswer, str, bool]]]


def joined_sentences(
    rows: Mapping[str, Sequence[Example]], examples: Mapping[str, Sequence[Example]]
) -> tuple[_Joined, list[CorpusExample]]:
    """QA2D's sentences by SQuAD question, and the rows that belong to none.

    Held out: all of QA2D's valid, every sentence whose question is asked of a squad/valid article, and training rows
    that ask the same as one of QA2D's valid.
    """
    by_question: dict[str, list[Example]] = defaultdict(list)
    for split in ("valid", "train"):
        for example in examples[split]:
            by_question[_letters(example.question.text)].append(example)
    unseen = {_letters(example.question.text) for example in (*rows["valid"], *examples["valid"])}
    joined: _Joined = defaultdict(list)
    alone = []
    for split in ("valid", "train"):
        for row in rows[split]:
            letters = _letters(row.question.text)
            held = letters in unseen
            known = row.kind == "SQuAD" and letters in by_question
            match = _same_question(row, by_question[letters]) if known else None
            if match is None:
                answers = [ShortAnswer(answer) for answer in row.answers]
                alone.append(
                    CorpusExample(
                        "qa2d",
                        f"{split}-{row.question.id}",
                        row.question.text,
                        answers,
                        0,
                        row.sentences,
                        [held] * len(row.sentences),
                        valid=held,
                    )
                )
                continue
            for sentence in row.sentences:
                if sentence not in [other for _, other, _ in joined[match.question.id]]:
                    joined[match.question.id].append((ShortAnswer(row.answers[0]), sentence, held))
    return joined, alone


def from_squad(
    example: Example,
    row: Mapping[str, Any],
    titles: Mapping[str, str],
    joined: Sequence[tuple[ShortAnswer, str, bool]],
    split: str,
) -> CorpusExample:
    """The question over its ten passages; the gold passage is known even where the set left it out."""
    given = [passage_of(passage, titles) for passage in row["passages"]]
    relevant = [bool(passage["is_selected"]) for passage in row["passages"]]
    gold = next((passage for passage, right in zip(given, relevant, strict=True) if right), None)
    answerable = gold is not None
    gold = gold or _gold_passage(example)
    answers = [
        ShortAnswer(text, _best_place(text, gold, example.question.text)) for text in dict.fromkeys(example.answers)
    ]
    answers.sort(key=lambda answer: answer.span is None)  # stable: those at a place come first
    references = max(1, sum(answer.span is not None for answer in answers))
    same = {_letters(answer.text) for answer in answers}
    for answer, _, _ in joined:  # QA2D's own wording, where it differs
        if _letters(answer.text) not in same:
            same.add(_letters(answer.text))
            answers.append(answer)
    return CorpusExample(
        "ten-passages",
        example.question.id,
        example.question.text,
        answers,
        references,
        [sentence for _, sentence, _ in joined],
        [held for _, _, held in joined],
        gold,
        given,
        relevant,
        answerable=answerable,
        valid=split == "valid",
        article=example.article,
    )


def from_narrativeqa(example: Example, valid: bool) -> CorpusExample:
    """The question over the passages of its summary; relevance is guessed."""
    answers = [ShortAnswer(answer) for answer in dict.fromkeys(example.answers)]
    return CorpusExample(
        "narrativeqa",
        example.question.id,
        example.question.text,
        answers,
        len(answers),
        given=example.passages,
        weak=weak_labels(example.passages, example.answers),
        answerable=True,
        valid=valid,
        article=example.article,
    )


def _verbalised(folder: Path) -> Iterator[CorpusExample]:
    """Question, answer and sentence without passages; ParaQA's questions are VQuAnDa's, so each is taken once."""
    for example in vanilla.load(folder / "vanilla", "train"):
        yield _without_passages("vanilla", example)
    paraphrased = set()
    for example in paraqa.load(folder / "paraqa", "train"):
        if example.answers and example.sentences:
            paraphrased.add(_letters(example.question.text))
            yield _without_passages("paraqa", example)
    for example in vquanda.load(folder / "vquanda", "train"):
        if example.answers and example.sentences and _letters(example.question.text) not in paraphrased:
            yield _without_passages("vquanda", example)


def _without_passages(source: str, example: Example) -> CorpusExample:
    answers = [ShortAnswer(answer) for answer in example.answers]
    held = [False] * len(example.sentences)
    return CorpusExample(source, example.question.id, example.question.text, answers, 0, example.sentences, held)


def _same_question(row: Example, examples: Sequence[Example]) -> Example:
    """Of the SQuAD examples with this question the one with the row's answer; the first if none has it."""
    wanted = _letters(row.answers[0])
    return next((example for example in examples if wanted in map(_letters, example.answers)), examples[0])


def _gold_passage(example: Example) -> Passage:
    """The passage of the paragraph that holds the answer, cut as a library cuts it; see `ten_passages`."""
    paragraph = example.passages[0]
    cuts = [
        (number, start, end)
        for span in example.spans[:1]  # none: an answer without a place
        for number, (start, end) in enumerate(cut_into_passages(paragraph.text))
        if start <= span.start and span.end <= end
    ]
    if not cuts:
        return whole(f"{paragraph.id}#whole", paragraph.text, paragraph.title)
    span = example.spans[0]
    number, start, end = max(cuts, key=lambda cut: (min(span.start - cut[1], cut[2] - span.end), cut[0]))
    return whole(f"{paragraph.id}#{number}", paragraph.text[start:end], paragraph.title)


def _best_place(answer: str, passage: Passage, question: str) -> Span | None:
    """Where the answer stands; of several places the one whose sentence shares the most words with the question."""
    places = [(span.start, span.end) for span in occurrences(answer, passage)]
    if not places:
        at = passage.text.find(answer)
        return (at, at + len(answer)) if at >= 0 else None
    if len(places) == 1:
        return places[0]
    wanted = set(_words(question)) - FUNCTION_WORDS

    def shared(place: Span) -> int:
        return len(wanted & set(_words(" ".join(passage.text[a:b] for a, b in _around(passage.text, place)))))

    return max(places, key=shared)  # the first of equals


def _around(text: str, span: Span) -> list[Span]:
    """The sentences that a span touches."""
    return [(a, b) for a, b in sentences(text) if a < span[1] and b > span[0]] or [(0, len(text))]


def _context(text: str, offsets: Sequence[Span], span: Span) -> Span:
    """Begin and end, in tokens, of the sentences around the answer."""
    around = _around(text, span)
    touched = _tokens_of(offsets, around[0][0], around[-1][1])
    return (touched[0], touched[1] + 1) if touched else (0, 0)


def _tokens_of(offsets: Sequence[Span], start: int, end: int) -> Span | None:
    """First and last token that overlap the characters from start to end."""
    touched = [number for number, (a, b) in enumerate(offsets) if a < end and b > start]
    return (touched[0], touched[-1]) if touched else None


def _share(answer: str, text: str) -> float:
    """How much of the answer's words a text has."""
    words = set(_words(answer))
    wanted = words - FUNCTION_WORDS or words
    return len(wanted & set(_words(text))) / max(1, len(wanted))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.casefold())


def _padded(values: Sequence[int], filler: int) -> list[int]:
    known = [int(value) for value in values[:MOST_PASSAGES]]
    return known + [filler] * (MOST_PASSAGES - len(known))


def _write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    # mtime 0: the same content must give the same bytes
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        for line in lines:
            packed.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
