# The image of batsched_py, for Docker 20.10 or later, with BuildKit or without.
#
# Each stage depends on as little as possible: dependencies are installed again when their list
# changes, not when our code or the settings of a tool do.

FROM python:3.12-slim AS requirements
# Only these lists leave this stage: an equal list means that the next stages are up to date.
# Extras by name, for instance "scipy parquet". None is needed by what docker-compose.yml runs.
ARG EXTRAS=""
WORKDIR /requirements
COPY pyproject.toml ./
RUN python -c 'import os, tomllib; \
settings = tomllib.load(open("pyproject.toml", "rb")); \
project = settings["project"]; \
extras = [project["optional-dependencies"][name] for name in os.environ["EXTRAS"].split()]; \
needed = sorted({*project["dependencies"], *sum(extras, [])}); \
print(*needed, sep="\n", file=open("run.txt", "w")); \
print(*settings["build-system"]["requires"], sep="\n", file=open("build.txt", "w"))'

FROM python:3.12-slim AS dependencies
COPY --from=requirements /requirements/run.txt /requirements/
# What packages test themselves with is a sixth of them, and nobody runs it here.
RUN pip install --no-cache-dir --prefix /installed --requirement /requirements/run.txt \
    && find /installed -type d -name tests -prune -exec rm -r {} +

FROM python:3.12-slim AS package
COPY --from=requirements /requirements/build.txt /requirements/
RUN pip install --no-cache-dir --requirement /requirements/build.txt
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY batsched_py ./batsched_py
COPY users ./users
# Data of the package: the platform files and the studies.
COPY platforms ./platforms
COPY experiments ./experiments
RUN pip install --no-cache-dir --no-deps --no-build-isolation --prefix /installed .

FROM python:3.12-slim
LABEL org.opencontainers.image.title="batsched_py" \
      org.opencontainers.image.description="A Batsim-compatible decision process for HPC scheduling research, with simulated users who react" \
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
