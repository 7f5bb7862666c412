//go:build desktop

package app

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	goruntime "runtime"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/runtime"

	"toolshed/app/serve"
)

const (
	windowOrigin  = "wails://wails"
	hardenTimeout = 20 * time.Second
	shutdownLimit = 20 * time.Second
)

// RunWindow shows the window with the page in files and returns when it was closed or ctx ended.
func RunWindow(ctx context.Context, p *Program, files fs.FS) error {
	prepareWebEngine()
	assets, err := serve.NewAssets(files, p.API, windowOrigin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pipe := newPipe(ctx, p.API, p.log)
	icon, err := fs.ReadFile(files, "icon.png")
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	desktop := newDesktop(openMemory(p.Profile.Folder()), p.log)
	ready := harden(chosenLayers())
	watchWindow(desktop)
	closed := make(chan struct{})
	err = wails.Run(&options.App{
		Title:            "Toolshed",
		Width:            usualWidth,
		Height:           usualHeight,
		MinWidth:         leastWidth,
		MinHeight:        leastHeight,
		BackgroundColour: &options.RGBA{R: 0xfa, G: 0xf9, B: 0xf7, A: 255},
		AssetServer:      &assetserver.Options{Handler: afterHardening(ready, desktop.handler(pipe.handler(assets)))},
		Bind:             []any{pipe, desktop},
		OnStartup: func(window context.Context) {
			pipe.show(window)
			desktop.show(window)
			watchForged(window)
			p.API.OnRaise(func() { raiseWindow(window) })
			go quitWith(ctx, window, closed)
		},
		OnShutdown: func(context.Context) { p.API.OnRaise(nil) },
		Linux:      &linux.Options{ProgramName: "toolshed", Icon: icon, WebviewGpuPolicy: linux.WebviewGpuPolicyNever},
	})
	close(closed)
	cancel()
	desktop.keep()
	pipe.wait(shutdownLimit)
	if n := rejectedMessages(); n > 0 {
		p.log.Warn("frames tried to command the program and were turned away", "messages", n)
	}
	if err != nil {
		return fmt.Errorf("app: the window: %w", err)
	}
	return nil
}

// quitWith closes the window when ctx ends, unless it is closed already. A dialog that is open then has been answered with no:
// the window library waits for it.
func quitWith(ctx, window context.Context, closed <-chan struct{}) {
	select {
	case <-ctx.Done():
		endDialogs()
		runtime.Quit(window)
	case <-closed:
	}
}

// prepareWebEngine sets what the web engine reads from the environment when it starts.
func prepareWebEngine() {
	closeInspector()
	if goruntime.GOOS == "linux" && os.Getenv("WEBKIT_DISABLE_DMABUF_RENDERER") == "" {
		os.Setenv("WEBKIT_DISABLE_DMABUF_RENDERER", "1") // else the window stays blank with some graphics drivers
	}
}

func raiseWindow(window context.Context) {
	runtime.WindowUnminimise(window)
	runtime.WindowShow(window)
	runtime.WindowSetAlwaysOnTop(window, true) // window systems that keep programs from raising themselves honour this
	runtime.WindowSetAlwaysOnTop(window, false)
}

// afterHardening serves nothing before the web view's layers are in place.
func afterHardening(ready <-chan struct{}, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-ready:
			next.ServeHTTP(w, r)
		case <-time.After(hardenTimeout):
			http.Error(w, "the window could not be made safe", http.StatusServiceUnavailable)
		}
	})
}
