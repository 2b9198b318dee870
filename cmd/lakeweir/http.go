package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lakeweir/lakeweir/internal/sink"
)

// Limits of the server. Its clients are a scraper and a few probes.
const (
	httpReads  = 5 * time.Second  // of a request
	httpWrites = 30 * time.Second // of an answer: a page of 2,000 partitions is some MB
	httpIdles  = 2 * time.Minute  // longer than scrapers pause
	httpEnds   = time.Second      // for answers that are under way at the end
	httpHeader = 16 << 10         // bytes
)

// listen opens the address of the setting http. No address gives none.
func listen(addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("http: %s is in use: stop what listens there, or give another address", addr)
	}
	return nil, fmt.Errorf("http: cannot listen on %s: %w: give an address of this machine as host:port, or none", addr, cause(err))
}

// cause leaves out what package net says around an error: the address.
func cause(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err
	}
	return err
}

// serve answers on l what there is to know of a sink, until the returned
// function is called. It does nothing where l is nil.
func serve(l net.Listener, snapshot func() sink.Snapshot, log *slog.Logger) (end func()) {
	if l == nil {
		return func() {}
	}
	srv := &http.Server{
		Handler:     pages(snapshot),
		ReadTimeout: httpReads, WriteTimeout: httpWrites, IdleTimeout: httpIdles, MaxHeaderBytes: httpHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("metrics and health are not served any more", "error", err)
		}
	}()
	log.Info("serving /metrics, /healthz and /readyz", "address", l.Addr().String())
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), httpEnds)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			srv.Close()
		}
		<-done
	}
}

// pages are what is served.
func pages(snapshot func() sink.Snapshot) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(snapshot), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		s := snapshot()
		if len(s.Reasons) > 0 {
			answer(w, http.StatusServiceUnavailable, s.Reasons...)
			return
		}
		answer(w, http.StatusOK, fmt.Sprintf("ok: %d partitions", len(s.Partitions)))
	})
	return mux
}

// answer sends lines of text.
func answer(w http.ResponseWriter, status int, lines ...string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n") // a client that is gone needs no answer
}
