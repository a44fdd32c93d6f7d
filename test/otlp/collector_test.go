// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry"
)

// An archive is the end of the pipelines: it stands where a configuration says "debug".
type archive struct {
	mu      sync.Mutex
	metrics []pmetric.Metrics
	logs    []plog.Logs
	refuse  func() error // called before anything is taken; nil takes all
}

func (a *archive) takeMetrics(_ context.Context, m pmetric.Metrics) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuse != nil {
		if err := a.refuse(); err != nil {
			return err
		}
	}
	kept := pmetric.NewMetrics()
	m.CopyTo(kept)
	a.metrics = append(a.metrics, kept)
	return nil
}

func (a *archive) takeLogs(_ context.Context, l plog.Logs) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := plog.NewLogs()
	l.CopyTo(kept)
	a.logs = append(a.logs, kept)
	return nil
}

// got returns what has arrived.
func (a *archive) got() ([]pmetric.Metrics, []plog.Logs) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.metrics, a.logs
}

// A sink is the archive as the service sees it.
type sink struct {
	component.StartFunc
	component.ShutdownFunc
	consumer.Metrics
	consumer.Logs
}

// Capabilities implements [consumer.Metrics].
func (sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (a *archive) factory(t *testing.T) exporter.Factory {
	t.Helper()
	metrics, err := consumer.NewMetrics(a.takeMetrics)
	must(t, err)
	logs, err := consumer.NewLogs(a.takeLogs)
	must(t, err)
	s := sink{Metrics: metrics, Logs: logs}
	settings := func() component.Config {
		return &struct {
			Verbosity string `mapstructure:"verbosity"`
		}{}
	}
	return exporter.NewFactory(component.MustNewType("debug"), settings,
		exporter.WithMetrics(func(context.Context, exporter.Settings, component.Config) (exporter.Metrics, error) { return s, nil }, component.StabilityLevelStable),
		exporter.WithLogs(func(context.Context, exporter.Settings, component.Config) (exporter.Logs, error) { return s, nil }, component.StabilityLevelStable),
	)
}

// collect runs a Collector with the configuration in a file until the test ends or stop is called.
func collect(t *testing.T, config string) (a *archive, stop func()) {
	t.Helper()
	a = &archive{}
	c, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo:               component.NewDefaultBuildInfo(),
		DisableGracefulShutdown: true,
		SkipSettingGRPCLogger:   true,
		Factories: func() (otelcol.Factories, error) {
			otlp, debug := otlpreceiver.NewFactory(), a.factory(t)
			return otelcol.Factories{
				Receivers: map[component.Type]receiver.Factory{otlp.Type(): otlp},
				Exporters: map[component.Type]exporter.Factory{debug.Type(): debug},
				Telemetry: telemetry.NewFactory(func() component.Config { return &struct{}{} }), // tells nothing of itself
			}, nil
		},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{"file:" + config}, ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		}},
	})
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.Background()) }()
	for c.GetState() != otelcol.StateRunning {
		select {
		case err := <-ended:
			t.Fatalf("the Collector did not start: %v", err)
		case <-time.After(2 * time.Millisecond):
		}
	}
	stop = sync.OnceFunc(func() {
		c.Shutdown()
		if err := <-ended; err != nil {
			t.Errorf("the Collector: %v", err)
		}
	})
	t.Cleanup(stop)
	return a, stop
}

// guided returns the configuration of the Collector in the guide, with the certificates of a test.
func guided(t *testing.T, dir string) string {
	t.Helper()
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "fleet.md"))
	must(t, err)
	_, text, found := strings.Cut(string(guide), "<!-- file: collector.yaml -->\n```yaml\n")
	text, _, closed := strings.Cut(text, "\n```\n")
	if !found || !closed {
		t.Fatal("the guide has no configuration of a Collector")
	}
	return write(t, filepath.Join(dir, "collector.yaml"), strings.ReplaceAll(text, "/etc/otelcol/", dir+"/"))
}
