# protogcd in a container; docs/install.md has the commands. The steps are those of scripts/container.sh.
# CUDA: --build-arg BASE=nvidia/cuda:13.0.0-devel-ubuntu24.04 --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu130
ARG BASE=debian:12-slim
FROM ${BASE} AS build
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY . /src
WORKDIR /src
RUN scripts/container.sh build

FROM ${BASE}
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY scripts/container.sh scripts/setup.sh /tmp/
COPY --from=build /src/build/packages/*.deb /tmp/
RUN /tmp/container.sh install /tmp/protogcd_*.deb && rm -rf /tmp/* /var/lib/apt/lists/*
ENV TORCH_DIR=/opt/protogcd/torch
WORKDIR /work
ENTRYPOINT ["protogcd"]
