# A server of one library, for `docker build -t wherefrom .`; compose.yaml beside it tells how to run it.
FROM python:3.12-slim AS build
# Documents in PostgreSQL need "scale" too: docker compose build --build-arg extras=server,watch,scale
ARG extras=server,watch
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/wherefrom \
 && /opt/wherefrom/bin/pip install --no-cache-dir ".[$extras]"

FROM python:3.12-slim
# Nobody in particular: what the server reads from strangers must not be read by root.
RUN useradd --create-home --uid 1000 wherefrom \
 && mkdir /library && chown wherefrom /library
COPY --from=build /opt/wherefrom /opt/wherefrom
ENV PATH=/opt/wherefrom/bin:$PATH \
    WHEREFROM_LIBRARY=/library \
    PYTHONUNBUFFERED=1
USER wherefrom
VOLUME /library
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/ready', timeout=4)"]
ENTRYPOINT ["wherefrom"]
# On all addresses of the container; that needs a key, which `wherefrom keys add` makes (see compose.yaml).
CMD ["serve", "--create", "--host", "0.0.0.0", "--port", "8765"]
