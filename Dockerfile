FROM python:3.13-slim
WORKDIR /srv
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY schemas schemas
COPY broker broker
COPY services services
COPY workers workers
RUN pip install --no-cache-dir -c constraints.txt . && useradd --system headwater
USER headwater
