"""The server against its own schema: all that it allows, and what it forbids, by schemathesis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

import requests
from server.conftest import DOCUMENTS
from server.test_engine import running
from wherefrom import Library
from wherefrom.server.app import create_app, openapi


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path: Path = tmp_path_factory.mktemp("schema") / "library"
    library = Library(path)
    library.put(DOCUMENTS)
    with running(create_app(library)) as address:
        yield address


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


schema = schemathesis.openapi.from_dict(openapi())


@schema.parametrize()
@settings(max_examples=50, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_the_schema_is_kept_whatever_is_sent(case: schemathesis.Case, address: str, session: requests.Session) -> None:
    allowed = []
    if case.path in ("/documents", "/v1/chat/completions") and case.method == "POST":
        # Any bytes are files to the schema, and few are documents; any messages are a conversation, and few end with a
        # question.
        allowed.append(positive_data_acceptance)
    case.call_and_validate(address, session, excluded_checks=allowed, timeout=60)


def test_every_operation_is_described_with_problems_and_requests_with_examples(address: str) -> None:
    schema = httpx.get(f"{address}/openapi.json").json()
    assert schema == openapi()
    operations = {
        f"{method.upper()} {path}": operation
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }
    assert sorted(operations) == sorted(
        [
            "POST /ask",
            "POST /search",
            "POST /summarize",
            "GET /documents",
            "POST /documents",
            "GET /documents/{id}",
            "DELETE /documents/{id}",
            "GET /originals/{id}",
            "GET /tags",
            "POST /tags",
            "GET /jobs",
            "GET /jobs/{id}",
            "DELETE /jobs/{id}",
            "POST /feedback",
            "GET /health",
            "GET /ready",
            "GET /metrics",
            "GET /examples",
            "POST /v1/chat/completions",
            "GET /v1/models",
            "GET /v1/models/{model}",
        ]
    )
    for name, operation in operations.items():
        assert operation["summary"], name
        errors = "application/json" if "/v1/" in name else "application/problem+json"
        assert errors in operation["responses"]["503"]["content"], name
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if body:
            assert schema["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]["examples"], name
    assert "text/event-stream" in operations["POST /ask"]["responses"]["200"]["content"]
    assert operations["POST /ask"]["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith(
        "/Trace"
    )
