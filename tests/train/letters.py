"""A wordpiece tokenizer of BERT's kind that knows a few words and all letters."""

from __future__ import annotations

import string

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from wherefrom.write.marks import Marks

SPECIAL = ["[PAD]", *(f"[unused{number}]" for number in range(5)), "[UNK]", "[CLS]", "[SEP]"]
WORDS = (
    "the a of in is was has how many what which where who bridges town village part river people walk evening story "
    "dragon eats gold king queen sleeps old red blue beet look ##les ##s ##ed ##ing ##er"
).split()
CHARACTERS = string.ascii_lowercase + string.digits
VOCABULARY = [*SPECIAL, *WORDS, *CHARACTERS, *(f"##{letter}" for letter in CHARACTERS), *string.punctuation]
MARKS = Marks(unknown=SPECIAL.index("[UNK]"), classify=SPECIAL.index("[CLS]"), separate=SPECIAL.index("[SEP]"))


def letters_tokenizer() -> Tokenizer:
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(VOCABULARY))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    return made


def read(tokens: list[int]) -> str:
    """Tokens as words again, special ones included."""
    pieces = list(dict.fromkeys(VOCABULARY))
    return " ".join(pieces[token] for token in tokens).replace(" ##", "")
