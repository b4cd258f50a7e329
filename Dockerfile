FROM python:3.13-slim AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE THIRD_PARTY_LICENSES.md CHANGELOG.md ./
COPY deploy/grafana.json deploy/prometheus.yml deploy/
COPY docs/*.md docs/
COPY headwater headwater
COPY schemas schemas
COPY broker broker
COPY services services
COPY workers workers
COPY scripts/dashboard scripts/dashboard-types scripts/npm_packages.py scripts/
RUN python -m venv /opt/headwater && /opt/headwater/bin/pip install --no-cache-dir -c constraints.txt ".[telemetry]"
# The dashboard is built with what was just installed, and goes in with the package once more.
RUN /opt/headwater/bin/python scripts/dashboard && /opt/headwater/bin/pip install --no-cache-dir --no-deps --force-reinstall .

FROM python:3.13-slim
ENV PATH=/opt/headwater/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/headwater /opt/headwater
RUN useradd --system --uid 10001 --create-home --home-dir /srv/headwater headwater && install -d -o headwater -m 0700 /srv/headwater/data
USER headwater
WORKDIR /srv/headwater
STOPSIGNAL SIGTERM
CMD ["headwater", "start", "--host", "0.0.0.0", "--data", "/srv/headwater/data"]
