# The image of batsched_py. Needs BuildKit, which Docker uses by default since version 23.
#
# Each stage depends on as little as possible: dependencies are built again when their list
# changes, not when our code or the settings of a tool do.

FROM python:3.12-slim AS requirements
# Only these lists leave this stage: an equal list means that the next stages are up to date.
WORKDIR /requirements
COPY pyproject.toml ./
RUN python - <<'PYTHON'
import tomllib
from pathlib import Path

settings = tomllib.loads(Path("pyproject.toml").read_text())
project = settings["project"]
extras = project["optional-dependencies"]
needed = set(project["dependencies"])
for name in extras["all"][0].partition("[")[2].removesuffix("]").split(","):
    needed.update(extras[name])
Path("run.txt").write_text("\n".join(sorted(needed)) + "\n")
Path("build.txt").write_text("\n".join(sorted(settings["build-system"]["requires"])) + "\n")
PYTHON

FROM python:3.12-slim AS dependencies
COPY --from=requirements /requirements/run.txt /requirements/
RUN pip wheel --no-cache-dir --wheel-dir /wheels --requirement /requirements/run.txt

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
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels .

FROM python:3.12-slim
LABEL org.opencontainers.image.title="batsched_py" \
      org.opencontainers.image.description="A Batsim-compatible decision process for HPC scheduling research, with simulated users who react" \
      org.opencontainers.image.licenses="Apache-2.0"

# The wheels are mounted, so they take no room in the image; no index is asked.
RUN --mount=type=bind,from=dependencies,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --no-deps --root-user-action=ignore /wheels/*.whl
RUN --mount=type=bind,from=package,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --no-deps --root-user-action=ignore /wheels/*.whl \
    && pip check

# An ordinary user. Any other numeric user works too: nothing outside /tmp and the folder of
# the results is written.
RUN groupadd --gid 1000 batsched \
    && useradd --uid 1000 --gid 1000 --no-create-home --home-dir /data batsched \
    && install --directory --owner=batsched --group=batsched /data /data/out
ENV PYTHONUNBUFFERED=1
USER 1000:1000
WORKDIR /data
ENTRYPOINT ["batsched-py"]
