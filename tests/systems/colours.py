"""A few words of colours and things: a tokenizer, passages, and networks small enough to learn them by heart."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from wherefrom.data.examples import whole
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.systems.reader.task import ReaderTaskSettings
from wherefrom.types import Passage

WORDS = (
    "red blue green grey house boat tree lamp stands sails grows shines here there today who what where is the".split()
)
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
TINY = EncoderSettings("bert", 64, 16, 1, 2, 32, 64, types=2, dropout=0.0, attention_dropout=0.0)
READER = ReaderTaskSettings(
    negatives=1, max_tokens=40, tokens=400, title_dropout=0.0, classify=1, separate=2, padding=0, shares={}
)


def tokenizer() -> Tokenizer:
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *WORDS, ".", "?"])}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def passages() -> list[Passage]:
    """Eight, on four things in two colours each."""
    colours, things = ("red", "blue", "green", "grey"), ("house", "boat", "tree", "lamp")
    return [
        whole(f"p{number}", f"The {colour} {thing} stands here today.", thing)
        for number, (colour, thing) in enumerate(zip(colours * 2, [*things, *things[1:], things[0]], strict=True))
    ]


def spelled(tokens: Sequence[int]) -> str:
    words = [*SPECIAL, *WORDS, ".", "?"]
    return " ".join(words[token] for token in tokens)
