"""One measurement of the writer network in a process of its own: python -m bench.writer_child JOB-FILE.

The job file is JSON (see `Job`); the result is written as JSON beside it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench.measure import high_water

if TYPE_CHECKING:
    from wherefrom.runtime.writer import WriterSession, WritingTask

Task = Literal["write", "ask"]
System = Literal["int8", "torch"]


@dataclass(frozen=True, slots=True)
class Job:
    """What to measure. Paths are text, because a job travels as JSON."""

    task: Task
    system: System
    library: str
    weights: str  # the folder that is shipped
    trained: str | None  # the same network in 32 bits
    reader: str  # weights of the reader, for whole answers
    questions: tuple[str, ...]
    threads: int
    passages: int  # that are written from
    tokens: int  # of each of them
    written: int  # tokens of a sentence
    kind: str = "masque"  # of the writer, for whole answers


def main(job_file: Path) -> None:
    fields = json.loads(job_file.read_text(encoding="utf-8"))
    job = Job(**fields | {"questions": tuple(fields["questions"])})
    result = _write(job) if job.task == "write" else _ask(job)
    result["high_water_bytes"] = high_water()
    job_file.with_suffix(".result").write_text(json.dumps(result), encoding="utf-8")


def _write(job: Job) -> dict[str, Any]:
    """A sentence of so many tokens from so many passages, nothing of it read before, question by question."""
    session = _session(job)
    written = _ours(job, session) if job.system == "int8" else _theirs(job, session)
    times: dict[str, list[float]] = {"wall": [], "cpu": []}
    for number, task in enumerate(_tasks(job, session)):
        begun, cpu_begun = time.perf_counter(), time.process_time()
        count = written(task)
        if number >= 2:  # the first two warm up
            times["cpu"].append(time.process_time() - cpu_begun)
            times["wall"].append(time.perf_counter() - begun)
        if count != job.written:
            raise RuntimeError(f"{count} tokens were written instead of {job.written}")
    return {"times": times}


def _session(job: Job) -> WriterSession:
    from wherefrom.runtime.weights import Weights
    from wherefrom.runtime.writer import WriterSession

    return WriterSession(Weights(Path(job.weights)), job.threads)


def _ours(job: Job, session: WriterSession) -> Callable[[WritingTask], int]:
    from wherefrom.runtime.search import SearchSettings

    settings = SearchSettings(max_tokens=job.written, min_tokens=job.written)

    def written(task: WritingTask) -> int:
        (answers,) = session.write([task], "sentence", settings)
        return len(answers.written[0].tokens)

    return written


def _theirs(job: Job, session: WriterSession) -> Callable[[WritingTask], int]:
    """The same in torch: one padded batch of passages, keys and values kept.

    Its threads sleep while they wait, as ours do: on a machine with other work, spinning ones take ten times as long.
    """
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # read when torch is loaded
    import torch

    from wherefrom.networks.decoding import DecodingSettings, write
    from wherefrom.networks.writer import QuestionPassages, TokenSequences
    from wherefrom.systems.writer.network import loaded

    assert job.trained is not None
    torch.set_num_threads(job.threads)
    network = loaded(Path(job.trained))
    words = network.settings.words
    settings = DecodingSettings(max_tokens=job.written, min_tokens=job.written, block_ngrams=4)

    def padded(rows: Sequence[Any]) -> TokenSequences:
        length = max(len(row.tokens) for row in rows)
        place = torch.arange(length)[None, :]
        count = torch.tensor([[len(row.tokens)] for row in rows])
        first = torch.tensor([[row.first] for row in rows])
        copied = torch.tensor([[len(row.offsets)] for row in rows])
        tokens = torch.tensor([[*row.tokens, *[words.padding] * (length - len(row.tokens))] for row in rows])
        mask = place < count
        types = (place > torch.tensor([[row.question_length + 1] for row in rows])) & mask
        return TokenSequences(tokens, mask, (place >= first) & (place < first + copied), types.long())

    @torch.inference_mode()
    def written(task: WritingTask) -> int:
        short, *pairs = session._sequences(task)
        question = torch.tensor([pairs[0].tokens[1 : pairs[0].question_length + 1]])
        passages = TokenSequences(*(part[None] for part in padded(pairs) if part is not None))
        reading = QuestionPassages(
            question, torch.ones_like(question, dtype=torch.bool), passages, answer=padded([short])
        )
        memory = network.encode(reading).packed()
        style = torch.tensor([words.style("sentence")])
        return len(write(network, memory, style, words, settings)[0].tokens)

    return written


def _tasks(job: Job, session: WriterSession) -> Iterator[WritingTask]:
    """For each question passages of exactly so many tokens, cut from what the library finds for it."""
    from wherefrom import Library
    from wherefrom.data.examples import whole
    from wherefrom.runtime.writer import Short, WritingTask

    tokenizer = session.weights.tokenizer
    with Library(job.library) as library:
        for number, question in enumerate(job.questions):
            hits = library.search(question, k=4 * job.passages).hits
            text = "\n".join(hit.passage.text for hit in hits) or question
            while len(offsets := tokenizer.encode(text).offsets) < job.passages * job.tokens:
                text = f"{text}\n{text}"  # a small library finds little
            cuts = [
                text[offsets[job.tokens * place][0] : offsets[job.tokens * (place + 1) - 1][1]]
                for place in range(job.passages)
            ]
            passages = tuple(whole(f"q{number}p{place}", cut) for place, cut in enumerate(cuts))
            first = tokenizer.encode(cuts[0]).offsets
            yield WritingTask(question, passages, Short(0, first[2][0], first[4][1]))


def _ask(job: Job) -> dict[str, Any]:
    """Whole answers by a writer that quotes or one that writes; the first two questions warm up."""
    from wherefrom import Library
    from wherefrom.config import resolve
    from wherefrom.write.explaining import ExplainingWriter
    from wherefrom.write.masque import MasqueWriter
    from wherefrom.write.yes_no import YesNoWriter

    chosen = [
        f"write.kind={job.kind}",
        f"runtime.writer={job.weights}",
        f"runtime.reader={job.reader}",
        f"runtime.threads={job.threads}",
        "judge.min_chance=0.0",
    ]
    times: list[dict[str, float]] = []
    words: list[int] = []
    with Library(job.library, resolve(overrides=chosen)) as library:
        for number, question in enumerate(job.questions):
            begun, cpu_begun = time.perf_counter(), time.process_time()
            trace = library.ask(question, style="sentence")
            whole, cpu = time.perf_counter() - begun, time.process_time() - cpu_begun
            if number >= 2:
                times.append({"whole": whole, "whole, CPU": cpu, **trace.timings})
                words.append(len(trace.answer.words) if trace.answer else 0)
        writer = library.pipeline().writer
        while isinstance(writer, (ExplainingWriter, YesNoWriter)):
            writer = writer.other
        counts = dict(writer.counts) if isinstance(writer, MasqueWriter) else {}
    return {"times": times, "words": words, "counts": counts}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
