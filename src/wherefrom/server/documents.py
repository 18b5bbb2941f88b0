"""Documents and jobs: what is in the library, and what is on its way into it or out of it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.datastructures import FormData, UploadFile

from wherefrom.errors import LibraryError, NotFound
from wherefrom.server import shapes
from wherefrom.server.jobs import Job, new_id
from wherefrom.server.kept_files import KeptFiles
from wherefrom.server.problems import HTTPProblem
from wherefrom.server.state import ServerState
from wherefrom.server.uploads import Refused, check_kind, document_name, keep
from wherefrom.store.reading import StoredText

router = APIRouter()

Wait = Annotated[float, Query(ge=0, le=30, description="Seconds to wait for the job to finish before answering.")]
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                            "minItems": 1,
                            "description": "Files; the name of each, which may be a path such as reports/2019.pdf, "
                            "becomes the id of its document. One of a known id replaces it.",
                        }
                    },
                }
            }
        },
    }
}
_FAR = 10**12  # characters: no document is as long
_PIECE_BYTES = 1 << 16  # of a document, sent at a time
_TAKEN: dict[int | str, dict[str, Any]] = {
    200: {"model": shapes.JobOut, "description": "Finished within `wait`."},
    202: {"model": shapes.JobOut, "description": "Taken: it is safe, and GET /jobs/{id} tells how far it is."},
}


@router.get("/documents", summary="List documents", tags=["documents"])
async def list_documents(
    request: Request,
    after: Annotated[str, Query(max_length=1000, description="Those behind this id.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> shapes.DocumentList:
    state: ServerState = request.app.state.server
    facts_from_here, (documents, passages) = await state.off_loop(
        lambda: (state.library.gone(state.library.documents(after, limit + 1)), state.library.counts())
    )
    page = [replace(facts, source=_file_name(facts.source)) for facts in facts_from_here[:limit]]
    return shapes.DocumentList(
        documents=page,
        next=page[-1].id if len(facts_from_here) > limit else None,
        documents_in_all=documents,
        passages_in_all=passages,
    )


@router.get(
    "/documents/{id:path}",
    summary="A document, or a part of it, and where its passages are",
    tags=["documents"],
    response_class=Response,
    responses={200: {"model": shapes.DocumentText}},
)
async def get_document(
    request: Request,
    id: str,
    start: Annotated[int, Query(ge=0, le=_FAR, description="The character to begin at.")] = 0,
    characters: Annotated[int, Query(ge=1, le=_FAR, description="How many; the whole rest without it.")] = _FAR,
) -> Response:
    """It is sent as it is read, so that the longest takes no more memory than a page. Should it be replaced meanwhile,
    the response breaks off."""
    state: ServerState = request.app.state.server
    text = await state.off_loop(lambda: state.library.text(id))
    original = await state.off_loop(lambda: _original(state, text))
    written = _written(text, min(start, text.length), min(start + characters, text.length), original)
    first = await state.off_loop(lambda: next(written))  # until it is there, what goes wrong still has a status
    return StreamingResponse(_followed(first, written, state), media_type="application/json")


async def _followed(first: bytes, rest: Iterator[bytes], state: ServerState) -> AsyncIterator[bytes]:
    piece: bytes | None = first
    while piece is not None:
        yield piece
        piece = await state.off_loop(lambda: next(rest, None))


def _written(text: StoredText, start: int, end: int, original: str | None) -> Iterator[bytes]:
    """The JSON of a `DocumentText`, some hundred kB at a time."""
    head = {
        "id": text.id,
        "title": text.title,
        "source": _file_name(text.source),
        "length": text.length,
        "start": start,
        "end": end,
        "passages_in_all": text.passages,
        "original": original,
    }
    written = msgspec.json.encode(head)[:-1] + b',"text":"'
    for piece in text.pieces(start, end):
        written += msgspec.json.encode(piece)[1:-1]
        if len(written) >= _PIECE_BYTES:
            yield written
            written = b""
    written += b'","passages":['
    between = b""
    for span in text.spans(start, end):
        written += between + msgspec.json.encode(span)
        between = b","
        if len(written) >= _PIECE_BYTES:
            yield written
            written = b""
    written += b'],"places":['
    between = b""
    for place in text.places(start, end):
        written += between + msgspec.json.encode(place)
        between = b","
        if len(written) >= _PIECE_BYTES:
            yield written
            written = b""
    yield written + b"]}"


@router.post(
    "/documents",
    summary="Send files",
    tags=["documents"],
    openapi_extra=_FORM,
    status_code=202,
    responses=_TAKEN,
    response_model=None,
)
async def send_documents(request: Request, wait: Wait = 0.0) -> JSONResponse:
    """All of them are taken or none: one with an impossible name, or of a kind that is not read, refuses the others."""
    state: ServerState = request.app.state.server
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise HTTPProblem(415, "wrong-kind", "send files as multipart/form-data, in fields named files")
    await _check_room(state)
    job_id = new_id()
    async with request.form(max_files=state.settings.upload_files, max_fields=16) as form:
        files = _files(form)
        names = [document_name(file.filename or "") for file in files]
        if len(set(names)) < len(names):
            raise Refused("two files have the same name; send them apart")
        folder = state.folder.uploads / job_id
        who: str = request.state.key
        try:
            job = await state.off_loop(lambda: _taken(state, job_id, files, names, folder, who))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    state.worker.notify()
    return _answered(await state.finished(job, wait))


@router.delete(
    "/documents/{id:path}",
    summary="Remove a document",
    tags=["documents"],
    status_code=202,
    responses=_TAKEN,
    response_model=None,
)
async def remove_document(request: Request, id: str, wait: Wait = 0.0) -> JSONResponse:
    """It goes when the uploads before it are done, so that what was sent first happens first."""
    state: ServerState = request.app.state.server
    await _check_room(state)
    who: str = request.state.key

    def taken() -> Job:
        state.library.text(id)  # says that there is none
        return state.jobs.add("remove", [id], [], who)

    job = await state.off_loop(taken)
    state.worker.notify()
    return _answered(await state.finished(job, wait))


@router.get("/tags", summary="List tags", tags=["documents"])
async def list_tags(request: Request) -> shapes.TagList:
    state: ServerState = request.app.state.server
    return shapes.TagList(tags=await state.off_loop(state.library.tags))


@router.post("/tags", summary="Tag documents", tags=["documents"])
async def tag_documents(body: shapes.TagRequest, request: Request) -> shapes.TaggedDocuments:
    """Documents that are not there are passed over; those of an upload under way get none."""
    state: ServerState = request.app.state.server
    tagged = await state.off_loop(lambda: state.library.tag(body.documents, body.add, body.remove))
    return shapes.TaggedDocuments(documents=tagged)


@router.get("/jobs", summary="The newest jobs", tags=["jobs"])
async def list_jobs(request: Request, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> shapes.JobList:
    state: ServerState = request.app.state.server
    jobs = await state.off_loop(lambda: state.jobs.recent(limit))
    return shapes.JobList(jobs=[_out(job) for job in jobs])


@router.get("/jobs/{id}", summary="How far a job is", tags=["jobs"])
async def get_job(request: Request, id: str, wait: Wait = 0.0) -> shapes.JobOut:
    state: ServerState = request.app.state.server
    job = await state.off_loop(lambda: state.jobs.get(id))
    if job is None:
        raise _no_job(id)
    return _out(await state.finished(job, wait))


@router.delete("/jobs/{id}", summary="Cancel a job", tags=["jobs"])
async def cancel_job(request: Request, id: str, wait: Wait = 0.0) -> shapes.JobOut:
    """What is already in the library stays; a job that has finished is left as it is."""
    state: ServerState = request.app.state.server
    job = await state.off_loop(lambda: state.jobs.cancel(id))
    if job is None:
        raise _no_job(id)
    return _out(await state.finished(job, wait))


async def _check_room(state: ServerState) -> None:
    if await state.off_loop(state.jobs.waiting) >= state.settings.jobs:
        raise HTTPProblem(
            503,
            "too-many-jobs",
            f"{state.settings.jobs} uploads and removals are waiting; send this when some are done",
            {"Retry-After": "5"},
        )


def _files(form: FormData) -> list[UploadFile]:
    files = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
    if not files:
        raise HTTPProblem(422, "invalid", "there is no file in the request; send at least one in a field named files")
    return files


def _taken(state: ServerState, job_id: str, files: list[UploadFile], names: list[str], folder: Path, who: str) -> Job:
    """Keep the files where they are safe, look at what they are, and note the job: from then on they are ours."""
    paths = []
    for number, (file, name) in enumerate(zip(files, names, strict=True)):
        try:
            path = keep(file.file, folder, number, name)
        except OSError as error:  # a full disk
            raise LibraryError(f"an upload cannot be kept in {folder.parent}: {error.strerror or error}") from error
        check_kind(path, name)
        paths.append(path)
    return state.jobs.add("upload", names, paths, who, job_id)


def _answered(job: Job) -> JSONResponse:
    return JSONResponse(_out(job).model_dump(), 200 if job.finished else 202, headers={"Location": f"/jobs/{job.id}"})


def _out(job: Job) -> shapes.JobOut:
    return shapes.JobOut(
        id=job.id,
        kind=job.kind,
        state=job.state,
        names=list(job.names),
        progress=job.progress,
        result=job.result,
        reason=job.reason,
        created=job.created,
        changed=job.changed,
    )


def _original(state: ServerState, text: StoredText) -> Literal["pdf"] | None:
    """Whether there is a PDF file to show pages of."""
    is_pdf = text.source.lower().endswith(".pdf")
    return "pdf" if is_pdf and state.library.has_original(text.id, KeptFiles(state.library.path).folder) else None


def _file_name(source: str) -> str:
    """The last part: where files lie on the server's disk is nobody else's business."""
    return source.removeprefix("sent:") if source.startswith("sent:") else PurePath(source).name


def _no_job(id: str) -> NotFound:
    return NotFound(f"there is no job '{id[:64]}'; GET /jobs lists the newest, and old ones are forgotten")
