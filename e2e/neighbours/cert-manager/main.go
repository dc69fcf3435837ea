// Command cert-manager runs cert-manager's controllers, webhook and CA injector in one process, on loopback. Its own
// commands are modules that the module proxy does not serve. The name of this module lies below cert-manager's, so
// that it may import what is internal there.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	logf "github.com/cert-manager/cert-manager/pkg/logs"
)

func main() {
	flags := flag.NewFlagSet("cert-manager", flag.ExitOnError) // controller-runtime has its own in the common one
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server")
	port := flags.Int("webhook-port", 0, "where the webhook listens on loopback")
	_ = flags.Parse(os.Args[1:]) // it exits
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(2)))
	klog.SetLogger(log)
	ctrl.SetLogger(log)
	group, ctx := errgroup.WithContext(logf.NewContext(ctx, log))
	group.Go(func() error { return controllers(ctx, *kubeconfig) })
	group.Go(func() error { return injector(ctx, *kubeconfig) })
	group.Go(func() error { return webhook(ctx, *kubeconfig, *port) })
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}
