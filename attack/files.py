"""Hostile files of every format: of its grammar or of the sample library, mutated, packed, under a name that lies."""

from __future__ import annotations

import gzip
import lzma
import random

from bench.measure import ROOT

from attack import office_grammar as office
from attack.grammar import MOST_BYTES, Make, docx, json_lines, markdown, mutated, page, pdf, plain, wikipedia
from attack.markup_grammar import MACHINES, MARKUP, code, configuration

FORMATS: dict[str, Make] = {
    ".txt": plain,
    ".md": markdown,
    ".html": page,
    ".jsonl": json_lines,
    ".wiki.txt": wikipedia,
    ".docx": docx,
    ".pptx": office.pptx,
    ".xlsx": office.xlsx,
    ".odt": office.odt,
    ".ods": office.ods,
    ".odp": office.odp,
    ".epub": office.epub,
    ".pdf": pdf,
    **MARKUP,
    "": lambda chance: chance.choice((plain, page, json_lines, wikipedia, markdown, *MARKUP.values()))(chance),
    **MACHINES,
}
_ARCHIVES = frozenset((".docx", ".pptx", ".xlsx", ".odt", ".ods", ".odp", ".epub"))
# A format each, however many suffixes it goes by.
_EQUALLY: tuple[tuple[str, ...], ...] = (
    *((suffix,) for suffix in FORMATS if suffix not in MACHINES),
    *(tuple(suffix for suffix, make in MACHINES.items() if make is one) for one in (code, configuration)),
)


def sample_files() -> dict[str, list[bytes]]:
    """What people's files look like: those of the sample library."""
    samples: dict[str, list[bytes]] = {}
    for path in sorted((ROOT / "sample" / "library").rglob("*")):
        if path.is_file() and path.suffix in FORMATS:
            samples.setdefault(path.suffix, []).append(path.read_bytes())
    return samples


def some_suffix(chance: random.Random) -> str:
    return chance.choice(chance.choice(_EQUALLY))


def some_file(chance: random.Random, samples: dict[str, list[bytes]], format: str | None = None) -> tuple[str, bytes]:
    """(suffix, bytes): of a grammar, or a sample file, mutated or not, packed or not."""
    suffix = format if format is not None else some_suffix(chance)
    known = samples.get(suffix, [])
    data = chance.choice(known) if known and chance.random() < 0.3 else _made(chance, suffix)
    if chance.random() < (0.2 if suffix in _ARCHIVES else 0.6):  # a changed byte spoils most archives at once
        data = mutated(chance, data, known)
    if chance.random() < 0.06:
        data, more = packed(chance, data)
        suffix += more
    if chance.random() < 0.02:
        suffix = some_suffix(chance)  # a name that lies
    return suffix, data


def _made(chance: random.Random, suffix: str) -> bytes:
    """Of a grammar, which now and then makes one of many megabytes: how long those take says nothing."""
    while len(data := FORMATS[suffix](chance)) > 4 * MOST_BYTES:
        pass
    return data


def packed(chance: random.Random, data: bytes) -> tuple[bytes, str]:
    """As .gz or .xz, sometimes broken, sometimes several in one file, sometimes within itself."""
    suffix = chance.choice((".gz", ".xz"))
    pack = gzip.compress if suffix == ".gz" else lzma.compress
    out = pack(data)
    kind = chance.random()
    if kind < 0.1:
        out += pack(b"more " * 100)
    elif kind < 0.2:
        out = out[: chance.randrange(len(out) + 1)]
    elif kind < 0.3:
        out = mutated(chance, out)
    elif kind < 0.35:
        out = pack(out)
    elif kind < 0.4:
        out = pack(data + b"\n" * 3_000_000)
    return out, suffix
