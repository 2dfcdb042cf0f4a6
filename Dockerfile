# The lab in an image of its own: one static binary that starts itself again as its clients and their guard.
#
#   docker build --build-arg VERSION=0.1.0 --build-arg REVISION="$(git rev-parse HEAD)" -t locklab .
#
# The arguments are labels only. The binary has its version from the repository; without one (an archive, a linked work tree) it is a hash.
FROM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN git status --porcelain >/dev/null || export GOFLAGS=-buildvcs=false; \
    CGO_ENABLED=0 go build -trimpath -o /root-fs/usr/local/bin/lab ./cmd/lab \
 && install -d -m 1777 /root-fs/tmp \
 && install -d -o 65532 -g 65532 /root-fs/lab/runs

FROM scratch
COPY --from=build /root-fs /
COPY LICENSE /
USER 65532:65532
# Results go to ./runs.
WORKDIR /lab
ENTRYPOINT ["/usr/local/bin/lab"]
CMD ["run"]
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="Lock Lab" \
      org.opencontainers.image.description="A fault-injection test lab for distributed locks" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
