"""Wordpieces of our own, held to the package `tokenizers`: the same pieces at the same characters of any text."""

from __future__ import annotations

import json
import os
import random
import time
import tomllib
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import pytest

import wherefrom
from wherefrom import wordpieces
from wherefrom.data.opening import open_bytes
from wherefrom.runtime.weights import SHIPPED, Weights, WeightsError
from wherefrom.wordpieces import Wordpieces

tokenizers = pytest.importorskip("tokenizers", reason="compared with tokenizers: pip install 'wherefrom[train]'")

ROOT = Path(__file__).parents[1]
FILE = SHIPPED / "reader" / "tokenizer.json"
# Marks that change places, letters that become several, signs, spaces, ideographs, what is removed, what is newer.
AWKWARD = (
    "\u0300\u0301\u0323\u0327\u0338\u0345\u0334\u302e\U0001d165\U0001d16d\u05b0\u094d\u3099\u08d4\u1acf\u1ab0\u1dfb"
    "\U0001e2ae\U0001e944\U00011235가\u1100中豈\U0002f800İıẞßﬁΩÅΣςé'’“、।᙭⹃\u200b\u200d\u202e\ufeff\xad\ue000\t\n\x0b\x0c\r\x85"
    "\xa0\u2003\u2028\u3000\x00\x1b\ufffd😀🇦\U000e0041\u0378\U0001fffe𝐀ȺჀᲐꭰ aA.[]#0"
)
SPECIAL = ("[SEP]", "[CLS]", "[MASK]", "[PAD", "[UNK]", "[sep]", "##b", " ", "[", "]", "é", "a\x00[SEP]")


@pytest.fixture(scope="module")
def ours() -> Wordpieces:
    return Wordpieces.read(FILE)


@pytest.fixture(scope="module")
def same(ours: Wordpieces) -> Callable[[Iterable[str]], None]:
    theirs = tokenizers.Tokenizer.from_file(str(FILE))
    theirs.no_truncation()
    theirs.no_padding()

    def check(texts: Iterable[str]) -> None:
        for text in texts:
            expected, encoded = theirs.encode(text, add_special_tokens=False), ours.encode(text)
            assert encoded.ids == expected.ids, ascii(text)
            assert encoded.offsets == expected.offsets, ascii(text)
            assert ours.ids(text) == expected.ids, ascii(text)

    return check


def test_every_kind_of_character(same: Callable[[Iterable[str]], None]) -> None:
    """All that stand for themselves; of ideographs, Hangul and private use, where thousands are alike, some."""
    codes = [
        *range(0xD7FF + 1)[:0x3400],
        *range(0x3400, 0xD7A4, 97),
        *range(0xD7A4, 0xD800),
        *range(0xE000, 0xF900, 97),
        *range(0xF900, 0x20000),
        *range(0x20000, 0x110000, 997),
        *range(0x2F7F0, 0x2FA20),
        *range(0xDFFF0, 0xE0200),
    ]
    same("".join(f"a{chr(code)}b " for code in codes[first : first + 500]) for first in range(0, len(codes), 500))


def test_awkward_characters_in_any_order(same: Callable[[Iterable[str]], None]) -> None:
    chance = random.Random(17)
    letters = [*AWKWARD, *map(chr, range(32, 127)), *map(chr, range(0x2C0, 0x590))]
    same("".join(chance.choices(AWKWARD, k=chance.randint(1, 14))) for _ in range(4000))
    same("".join(chance.choices(letters, k=chance.randint(1, 60))) for _ in range(4000))


def test_pieces_with_a_meaning_of_their_own(same: Callable[[Iterable[str]], None]) -> None:
    chance = random.Random(23)
    same("".join(chance.choices(SPECIAL, k=chance.randint(1, 10))) for _ in range(1000))


def test_words_too_long_for_it(same: Callable[[Iterable[str]], None]) -> None:
    letters = ("a", "é", "가", "e\u0301", "中", "\u0301", "#", "q")
    same(letter * count for letter in letters for count in (33, 34, 50, 51, 99, 100, 101, 1000))
    same(["", " ", "\n", "\u0301", "x" * 100_000])


def test_texts_of_the_sample(same: Callable[[Iterable[str]], None]) -> None:
    files = [
        file for file in (ROOT / "sample").rglob("*") if file.suffix in (".txt", ".md", ".html", ".jsonl", ".json")
    ]
    assert len(files) > 30
    same(file.read_text(encoding="utf-8", errors="replace") for file in files)


def test_texts_of_the_datasets(same: Callable[[Iterable[str]], None]) -> None:
    data = os.environ.get("WHEREFROM_DATA")
    if not data:
        pytest.skip("set WHEREFROM_DATA to a folder with datasets")
    files = [file for file in sorted(Path(data).rglob("*")) if file.suffix in (".xz", ".gz", ".txt")]
    for file in files:
        with open_bytes(file) as lines:
            same(line.decode("utf-8", "replace")[:20_000] for line in islice(lines, 40))


def test_runs_are_remembered_within_bounds(ours: Wordpieces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpieces, "_MOST_RUNS", 100)
    fresh = Wordpieces.read(FILE)
    texts = [f"word{number} {'long' * number}" for number in range(500)]
    assert [fresh.ids(text) for text in texts] == [ours.ids(text) for text in texts]
    assert len(fresh._known) <= 100
    assert max(map(len, fresh._known)) <= 64


@pytest.mark.parametrize("letter", ["q", "\u0301", "中", ".", "é", "\U0001d165\u0301", "[SEP"])
def test_a_megabyte_without_a_space_takes_a_moment(ours: Wordpieces, letter: str) -> None:
    begun = time.process_time()
    ours.encode(letter * (1_000_000 // len(letter)))
    assert time.process_time() - begun < 20  # it takes 1 to 3 s


def test_the_plain_install_has_no_client_of_a_hub() -> None:
    plain = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert not [each for each in plain if each.startswith(("tokenizers", "transformers", "huggingface"))]
    serving = [
        file
        for part in ("runtime", "features", "rank", "read", "rerank", "judge", "write", "server", "retrieve", "ingest")
        for file in (Path(wherefrom.__file__).parent / part).rglob("*.py")
    ]
    assert not [
        file for file in serving if "import Tokenizer" in file.read_text() or "import tokenizers" in file.read_text()
    ]


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("model", "type", "BPE"),
        ("model", "continuing_subword_prefix", "@@"),
        ("model", "unk_token", "<unk>"),
        ("normalizer", "lowercase", False),
        ("normalizer", "strip_accents", False),
        ("normalizer", "type", "NFC"),
        ("pre_tokenizer", "type", "Whitespace"),
    ],
)
def test_a_tokenizer_of_another_kind_is_refused(tmp_path: Path, part: str, name: str, value: object) -> None:
    saved = json.loads(FILE.read_text())
    saved[part][name] = value
    (tmp_path / "tokenizer.json").write_text(json.dumps(saved))
    (tmp_path / "settings.toml").write_text("")
    with pytest.raises(WeightsError, match=rf"tokenizer\.json cannot be read \(not a tokenizer .* {part}\.{name}"):
        _ = Weights(tmp_path).tokenizer


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"model": 1, "normalizer": null}'])
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text)
    (tmp_path / "settings.toml").write_text("")
    with pytest.raises(WeightsError, match=r"tokenizer\.json cannot be read"):
        _ = Weights(tmp_path).tokenizer
