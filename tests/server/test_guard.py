"""Who may come in: hosts, origins, keys, scopes, rates and lengths; and the headers on everything that goes out."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from server.conftest import MakeClient, serving
from wherefrom.errors import NotFound, SettingsError
from wherefrom.server.folder import ServerFolder
from wherefrom.server.keys import Keys
from wherefrom.server.rates import Rates

ASK = {"question": "Who serviced the boiler?", "stream": False}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def keys(library_path: Path) -> Keys:
    return Keys(ServerFolder(library_path))


class TestHosts:
    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "[::2]:80"])
    def test_another_name_is_refused(self, client: TestClient, host: str) -> None:
        """DNS rebinding: a page of evil.example lets its name lead to this machine."""
        refused = client.post("/ask", json=ASK, headers={"Host": host})
        assert refused.status_code == 421
        assert refused.json()["type"] == "urn:wherefrom:problem:wrong-host"
        assert client.get("/", headers={"Host": host}).status_code == 421

    @pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost", "LOCALHOST:1", "[::1]:8765"])
    def test_our_own_names_are_let_in(self, client: TestClient, host: str) -> None:
        assert client.post("/ask", json=ASK, headers={"Host": host}).status_code == 200

    def test_names_can_be_added(self, client_with: MakeClient) -> None:
        client = client_with(hosts="docs.example, Other.Example")
        assert client.get("/health", headers={"Host": "docs.example"}).status_code == 200
        assert client.get("/health", headers={"Host": "other.example:80"}).status_code == 200
        assert client.get("/health", headers={"Host": "evil.example"}).status_code == 421


class TestOrigins:
    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://127.0.0.1:9999"},
            {"Origin": "http://["},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        ],
    )
    def test_pages_of_others_are_refused(self, client: TestClient, headers: dict[str, str]) -> None:
        assert client.post("/ask", json=ASK, headers=headers).status_code == 403
        assert client.post("/documents", files={"files": ("a.txt", b"text")}, headers=headers).status_code == 403
        assert client.get("/documents", headers=headers).status_code == 403

    def test_its_own_page_is_let_in_and_can_be_linked_to(self, client: TestClient) -> None:
        own = {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin"}
        assert client.post("/ask", json=ASK, headers=own).status_code == 200
        assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200

    def test_nobody_is_told_that_they_may_read_across_origins(self, client: TestClient) -> None:
        response = client.options(
            "/ask", headers={"Origin": "http://127.0.0.1", "Access-Control-Request-Method": "POST"}
        )
        assert not [name for name in response.headers if name.startswith("access-control")]


class TestKeys:
    def test_without_keys_loopback_is_open_and_with_one_it_is_not(self, client: TestClient, keys: Keys) -> None:
        assert client.post("/ask", json=ASK).status_code == 200
        key = keys.add("reader", "read")
        refused = client.post("/ask", json=ASK)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer")
        assert "wherefrom keys add" in refused.json()["detail"]
        assert client.post("/ask", json=ASK, headers=bearer(key)).status_code == 200

    @pytest.mark.parametrize(
        "header", ["", "Bearer", "Bearer ", "Bearer wf_wrong", "Basic {}", "{}", "Bearer {}x", "Bearer \x80"]
    )
    def test_what_is_not_the_key_is_refused(self, client: TestClient, keys: Keys, header: str) -> None:
        key = keys.add("reader", "read")
        refused = client.get("/documents", headers={"Authorization": header.format(key).encode("latin-1")})  # type: ignore[dict-item]
        assert refused.status_code == 401
        assert key not in refused.text

    def test_a_removed_key_is_refused_at_once(self, client: TestClient, keys: Keys) -> None:
        keys.add("other", "read")
        key = keys.add("reader", "read")
        assert client.get("/documents", headers=bearer(key)).status_code == 200
        keys.remove("reader")
        assert client.get("/documents", headers=bearer(key)).status_code == 401

    def test_reading_keys_cannot_write(self, client: TestClient, keys: Keys) -> None:
        reads, writes = keys.add("reads", "read"), keys.add("writes", "write")
        for method, path in (
            ("GET", "/documents"),
            ("GET", "/documents/keys.txt"),
            ("GET", "/jobs"),
            ("GET", "/metrics"),
        ):
            assert client.request(method, path, headers=bearer(reads)).status_code == 200, path
        for path in ("/ask", "/search"):
            body = {"question": "boiler"}
            assert client.post(path, json=body, headers=bearer(reads)).status_code == 200
        file = {"files": ("new.txt", b"Some text.")}
        verdict = {"question": "a", "verdict": "right", "answer": "b"}
        for key, wanted in ((reads, {403}), (writes, {201, 202, 404})):
            assert client.post("/documents", files=file, headers=bearer(key)).status_code in wanted
            assert client.post("/feedback", json=verdict, headers=bearer(key)).status_code in wanted
            assert client.delete("/documents/keys.txt", headers=bearer(key)).status_code in wanted
            assert client.delete("/jobs/none", headers=bearer(key)).status_code in wanted

    def test_what_tells_nothing_needs_no_key(self, client: TestClient, keys: Keys) -> None:
        keys.add("reader", "read")
        for path in ("/", "/index.html", "/health", "/openapi.json"):
            assert client.get(path).status_code == 200, path
        assert client.get("/ready").status_code in (200, 503)  # it may still be starting
        for path in ("/documents", "/jobs", "/metrics", "/documents/keys.txt", "/anything", "/index.html/"):
            assert client.get(path).status_code == 401, path

    def test_secrets_are_kept_nowhere(self, library_path: Path, keys: Keys, client: TestClient) -> None:
        key = keys.add("reader", "read")
        client.get("/documents", headers=bearer(key))
        everything = b"".join(path.read_bytes() for path in library_path.rglob("*") if path.is_file())
        assert key.encode() not in everything
        assert key.removeprefix("wf_").encode() not in everything
        assert (library_path / "server").stat().st_mode & 0o077 == 0

    def test_names_are_checked(self, keys: Keys) -> None:
        keys.add("a", "read")
        with pytest.raises(SettingsError, match="a key 'a' already"):
            keys.add("a", "write")
        for name in ("", "a b", "x" * 65, "a/b", "a\n"):
            with pytest.raises(SettingsError):
                keys.add(name, "read")
        with pytest.raises(NotFound, match="no key 'b'"):
            keys.remove("b")


class TestRates:
    def test_a_burst_and_then_the_rate(self, library_path: Path) -> None:
        folder = ServerFolder(library_path)
        folder.make()
        now = 1000.0
        rates = Rates(folder, lambda: now)
        # 60 a minute: one a second, and ten seconds' worth of them at once.
        assert [rates.wait("a", 60) for _ in range(10)] == [0.0] * 10
        assert rates.wait("a", 60) == pytest.approx(1.0)
        assert rates.wait("b", 60) == 0.0  # another key is another matter
        now += 1.0
        assert rates.wait("a", 60) == 0.0
        assert rates.wait("a", 60) > 0
        now += 100
        assert [rates.wait("a", 60) for _ in range(10)] == [0.0] * 10
        assert rates.wait("a", 60) > 0
        other = Rates(folder, lambda: now)  # another process
        assert other.wait("a", 60) > 0
        rates.close()
        other.close()

    def test_too_often_is_429(self, client: TestClient, keys: Keys) -> None:
        key = keys.add("slow", "read", per_minute=6)
        assert client.get("/documents", headers=bearer(key)).status_code == 200
        refused = client.get("/documents", headers=bearer(key))
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 10
        fast = keys.add("fast", "read")
        assert client.get("/documents", headers=bearer(fast)).status_code == 200


class TestPublicAddresses:
    def test_a_public_address_without_keys_is_refused(self, library_path: Path) -> None:
        with pytest.raises(AssertionError, match="anybody could read it"), serving(library_path, "--host", "0.0.0.0"):
            pass

    def test_with_a_key_it_is_served_and_needs_it_even_when_all_keys_are_gone(
        self, library_path: Path, keys: Keys
    ) -> None:
        import httpx

        key = keys.add("reader", "read")
        with serving(library_path, "--host", "0.0.0.0") as (address, _):
            assert httpx.get(f"{address}/documents").status_code == 401
            assert httpx.get(f"{address}/documents", headers=bearer(key)).status_code == 200
            keys.remove("reader")
            assert httpx.get(f"{address}/documents").status_code == 401
            assert httpx.get(f"{address}/documents", headers=bearer(key)).status_code == 401


class TestHeaders:
    @pytest.mark.parametrize("path", ["/", "/health", "/documents", "/nothing", "/openapi.json"])
    def test_everything_that_goes_out_is_wrapped(self, client: TestClient, path: str) -> None:
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers

    def test_answers_are_not_kept_by_browsers(self, client: TestClient) -> None:
        assert client.get("/documents").headers["cache-control"] == "no-store"
        assert client.post("/ask", json=ASK).headers["cache-control"] == "no-store"

    def test_only_the_page_s_own_files_can_be_asked_for(self, client: TestClient) -> None:
        assert client.get("/").headers["content-type"] == "text/html; charset=utf-8"
        for path in ("/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/app.py", "//etc/passwd", "/page/index.html"):
            assert client.get(path).status_code == 404, path

    def test_wrong_methods_are_told_the_right_one(self, client: TestClient) -> None:
        refused = client.get("/ask")
        assert refused.status_code == 405
        assert refused.headers["allow"] == "POST"
        assert client.patch("/documents").headers["allow"] == "GET, POST"
        assert client.post("/documents/keys.txt").headers["allow"] == "DELETE, GET"
        assert client.post("/").headers["allow"] == "GET, HEAD"
        assert refused.headers["content-type"] == "application/problem+json"


def test_long_bodies_are_refused_told_or_not(client: TestClient) -> None:
    big = b'{"question": "' + b"a" * 300_000 + b'"}'
    json_type = {"content-type": "application/json"}
    assert client.post("/ask", content=big, headers=json_type).status_code == 413
    chunks = (big[at : at + 1000] for at in range(0, len(big), 1000))  # without a length
    refused = client.post("/ask", content=chunks, headers=json_type)
    assert refused.status_code == 413
    assert refused.json()["type"] == "urn:wherefrom:problem:too-large"


def test_the_log_names_neither_documents_nor_questions_nor_keys(library_path: Path, keys: Keys) -> None:
    import httpx

    key = keys.add("somebody", "write")
    log = library_path.parent / "log.txt"
    with serving(library_path, log=log) as (address, _), httpx.Client(base_url=address, headers=bearer(key)) as http:
        http.post("/ask", json={"question": "Who is Marta the boilerwoman?"})
        http.get("/documents/garden/roses.txt")
        http.post("/documents", files={"files": ("unheard-of.txt", b"Told to nobody.")}, params={"wait": 20})
    text = log.read_text()
    assert "POST /ask 200" in text
    assert "POST /documents 200" in text
    for private in ("Marta", "boilerwoman", "roses", "unheard-of", "nobody", key):
        assert private not in text
