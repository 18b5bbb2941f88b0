"""The rows of the table: which system, set up how, in which environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Configuration:
    """One system as it is set up."""

    name: str
    told: str  # as the table names it
    environment: str  # a file of requirements; empty: the one this runs in
    module: str
    options: Mapping[str, str] = field(default_factory=dict)
    writes: bool = False  # a model writes the answer, for seconds: it is asked fewer questions
    embeds: bool = False  # every passage is embedded first: it is given the smaller library

    @property
    def peer(self) -> bool:
        return bool(self.environment)


_OURS = "bench.peers.systems.ours"
_WORDS, _VECTORS = {"search": "words"}, {"search": "vectors"}

CONFIGURATIONS = {
    each.name: each
    for each in (
        Configuration(
            "first-sentence", "first sentence of BM25's first passage", "", _OURS, {"kind": "first-sentence"}
        ),
        Configuration("wherefrom", "wherefrom, short answers", "", _OURS, {"kind": "short"}),
        Configuration("haystack", "Haystack: BM25, our reader", "haystack", "bench.peers.systems.haystack", _WORDS),
        Configuration("txtai", "txtai: BM25, our reader", "txtai", "bench.peers.systems.txtai", _WORDS),
        Configuration(
            "llamaindex",
            "LlamaIndex: BM25, SmolLM2-135M",
            "llamaindex",
            "bench.peers.systems.llamaindex",
            _WORDS,
            writes=True,
        ),
        Configuration(
            "haystack-vectors",
            "Haystack: MiniLM, our reader",
            "haystack",
            "bench.peers.systems.haystack",
            _VECTORS,
            embeds=True,
        ),
        Configuration(
            "txtai-vectors", "txtai: MiniLM, our reader", "txtai", "bench.peers.systems.txtai", _VECTORS, embeds=True
        ),
        Configuration(
            "llamaindex-vectors",
            "LlamaIndex: MiniLM, SmolLM2-135M",
            "llamaindex",
            "bench.peers.systems.llamaindex",
            _VECTORS,
            writes=True,
            embeds=True,
        ),
    )
}
