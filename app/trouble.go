//go:build desktop

package app

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"

	"toolshed/app/overseer"
)

// troublePolicy lets the page of a trouble do nothing but be read.
const troublePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

var troublePage = template.Must(template.New("trouble").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Toolshed</title><style>
:root { color-scheme: light dark; --page: light-dark(#faf9f7, #161513); --ink: light-dark(#1f1d1a, #ece9e4); --muted: light-dark(#6b665e, #a09a91); --stop: light-dark(#b91c1c, #f87171) }
body { margin: 0; min-height: 100vh; display: grid; place-content: center; background: var(--page); color: var(--ink); font: 400 15px/1.5 Inter, system-ui, sans-serif }
main { max-width: 520px; padding: 32px; border-top: 3px solid var(--stop) }
h1 { margin: 0 0 12px; font-size: 24px; font-weight: 650 } p { margin: 0 0 12px } .why, pre { color: var(--muted) }
pre { font: 400 12px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
</style></head><body><main role="alert"><h1>{{.What}}</h1><p class="why">{{.Why}}.</p><p>{{.Todo}}</p>{{if .Detail}}<pre>{{.Detail}}</pre>{{end}}</main></body></html>`))

// ShowTrouble shows in a window why Toolshed cannot open: whoever started it from an icon sees no terminal. It returns when
// the window was closed or ctx ended.
func ShowTrouble(ctx context.Context, p *overseer.Problem) error {
	prepareWebEngine()
	var page bytes.Buffer
	if err := troublePage.Execute(&page, p); err != nil {
		return fmt.Errorf("app: %w", err)
	}
	ready := harden(allLayers)
	closed := make(chan struct{})
	defer close(closed)
	return wails.Run(&options.App{
		Title:  "Toolshed",
		Width:  640,
		Height: 420,
		AssetServer: &assetserver.Options{Handler: afterHardening(ready, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", troublePolicy)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(page.Bytes()) // a page that is gone needs no answer
		}))},
		OnStartup: func(window context.Context) { go quitWith(ctx, window, closed) },
		Linux:     &linux.Options{ProgramName: "toolshed", WebviewGpuPolicy: linux.WebviewGpuPolicyNever},
	})
}
