# The lab in an image of its own: one static binary that starts itself again as its clients and their guard.
FROM golang:1.26.5-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -o /root-fs/usr/local/bin/lab ./cmd/lab \
 && install -d -m 1777 /root-fs/tmp \
 && install -d -o 65532 -g 65532 /root-fs/lab/runs

FROM scratch
COPY --from=build /root-fs /
USER 65532:65532
# Results go to ./runs.
WORKDIR /lab
ENTRYPOINT ["/usr/local/bin/lab"]
CMD ["run"]
