# The image of batsched_py, for Docker 20.10 or later, with BuildKit or without.
#
# Each stage depends on as little as possible: dependencies are installed again when their list
# changes, not when our code or the settings of a tool do.

# Such as python:3.12-slim@sha256:..., with the digest that `docker images --digests` shows.
ARG PYTHON_IMAGE=python:3.12-slim

FROM ${PYTHON_IMAGE} AS requirements
# Only these lists leave this stage: an equal list means that the next stages are up to date.
# Extras by name, for instance "parquet graphs". None is needed by what docker-compose.yml runs.
ARG EXTRAS=""
WORKDIR /requirements
COPY pyproject.toml requirements.lock image_requirements.py ./
# Unquoted, since it is a list of names.
# hadolint ignore=SC2086
RUN python image_requirements.py $EXTRAS

FROM ${PYTHON_IMAGE} AS dependencies
COPY --from=requirements /requirements/run.txt /requirements/
# What packages test themselves with is a sixth of them, and nobody runs it here.
RUN pip install --no-cache-dir --prefix /installed \
        --require-hashes --requirement /requirements/run.txt \
    && find /installed -type d -name tests -prune -exec rm -r {} +

FROM ${PYTHON_IMAGE} AS package
COPY --from=requirements /requirements/build.txt /requirements/
RUN pip install --no-cache-dir --require-hashes --requirement /requirements/build.txt
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY batsched_py ./batsched_py
COPY users ./users
# Data of the package: the platform files and the studies.
COPY platforms ./platforms
COPY experiments ./experiments
RUN pip install --no-cache-dir --no-deps --no-build-isolation --prefix /installed .

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="batsched_py" \
      org.opencontainers.image.description="A Batsim-compatible scheduler for HPC research, with simulated users who react" \
      org.opencontainers.image.licenses="Apache-2.0"

# pip stays in the stages before, but for the one of the base image.
COPY --from=dependencies /installed /usr/local
COPY --from=package /installed /usr/local

# An ordinary user. Any other numeric user works too: nothing outside /tmp and the folder of
# the results is written.
RUN PYTHONDONTWRITEBYTECODE=1 pip check \
    && groupadd --gid 1000 batsched \
    && useradd --uid 1000 --gid 1000 --no-create-home --home-dir /data batsched \
    && install --directory --owner=batsched --group=batsched /data /data/out
ENV PYTHONUNBUFFERED=1
USER 1000:1000
WORKDIR /data
ENTRYPOINT ["batsched-py"]
