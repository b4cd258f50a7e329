FROM python:3.13-slim AS build
# Further extras of pyproject.toml, by spaces: EXTRAS=streams for targets of streams in Iceberg and Kafka.
ARG EXTRAS=""
WORKDIR /build
COPY scripts/setup scripts/pinned scripts/fetch-uv scripts/dashboard scripts/dashboard-types scripts/npm_packages.py scripts/
COPY pyproject.toml constraints.txt README.md LICENSE THIRD_PARTY_LICENSES.md CHANGELOG.md ./
COPY deploy/grafana.json deploy/prometheus.yml deploy/
COPY docs/*.md docs/
COPY headwater headwater
COPY schemas schemas
COPY broker broker
COPY services services
COPY workers workers
RUN EXTRAS="$EXTRAS" VENV=/opt/headwater UV_NO_CACHE=1 PIP_NO_CACHE_DIR=1 scripts/setup image

FROM python:3.13-slim
ENV PATH=/opt/headwater/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/headwater /opt/headwater
RUN useradd --system --uid 10001 --create-home --home-dir /srv/headwater headwater && install -d -o headwater -m 0700 /srv/headwater/data
USER headwater
WORKDIR /srv/headwater
STOPSIGNAL SIGTERM
CMD ["headwater", "start", "--host", "0.0.0.0", "--data", "/srv/headwater/data"]
