# lakeweir as one static file in an otherwise empty image.
FROM golang:1.26 AS build
WORKDIR /src
# Modules first: a change of the sources does not fetch them again.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /lakeweir ./cmd/lakeweir

FROM scratch
# Certificate authorities, for brokers and stores that speak TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /lakeweir /lakeweir
# Any number but 0; the image has no user names.
USER 65532:65532
ENTRYPOINT ["/lakeweir"]
