package code

import (
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Errors of Client and Server.
var (
	// ErrSyntax means that the code cannot be read as what it is named; the text says which file and line.
	ErrSyntax = errors.New("the code has a mistake")
	// ErrNoClient means that a gadget has no client.js: it is headless.
	ErrNoClient = errors.New("the gadget has no user interface")
	// ErrNoServer means that a gadget has no server.js.
	ErrNoServer = errors.New("the gadget has no server half")
)

var (
	clientEntries = []string{"client.js", "client.ts", "client.tsx", "client.jsx"}
	serverEntries = []string{"server.js", "server.ts"}
)

// serverModule may stand in for a server half in JavaScript.
const serverModule = "server.wasm"

var loaders = map[string]api.Loader{
	".js": api.LoaderJS, ".mjs": api.LoaderJS, ".jsx": api.LoaderJSX, ".ts": api.LoaderTS, ".tsx": api.LoaderTSX,
	".css": api.LoaderCSS, ".json": api.LoaderJSON, ".txt": api.LoaderText, ".md": api.LoaderText,
}

func (f Files) entry(names []string) string {
	for _, name := range names {
		if _, ok := f[name]; ok {
			return name
		}
	}
	return ""
}

// HasClient says whether there is a user interface.
func (f Files) HasClient() bool { return f.entry(clientEntries) != "" }

// Client bundles the user interface into the text of one ES module. Relative imports are followed inside the map; images
// and fonts become data: URLs; a style sheet that is imported is added to the page when the module runs.
func (f Files) Client() (string, error) {
	entry := f.entry(clientEntries)
	if entry == "" {
		return "", ErrNoClient
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{entry},
		Bundle:      true,
		Format:      api.FormatESModule,
		Target:      api.ES2022,
		Charset:     api.CharsetUTF8,
		Sourcemap:   api.SourceMapNone,
		LogLevel:    api.LogLevelSilent,
		Plugins:     []api.Plugin{f.plugin()},
	})
	if err := buildError(result.Errors); err != nil {
		return "", err
	}
	return string(result.OutputFiles[0].Contents), nil
}

// Server returns the files of the server half, ready for the sandbox: JavaScript as it was written, so that stack traces
// name the gadget's own lines; TypeScript and JSX as JavaScript under the name with .js; JSON and text, which may be
// imported too. The entry is server.js, or server.wasm where there is no other.
func (f Files) Server() (Files, error) {
	out := Files{}
	if f.entry(serverEntries) == "" {
		if _, ok := f[serverModule]; !ok {
			return nil, ErrNoServer
		}
		out[serverModule] = f[serverModule]
	}
	for _, name := range f.Paths() {
		ext := path.Ext(name)
		switch ext {
		case ".js", ".mjs", ".json", ".txt", ".md":
			out[name] = f[name]
		case ".ts", ".tsx", ".jsx":
			result := api.Transform(string(f[name]), api.TransformOptions{Loader: loaders[ext], Sourcefile: name, Format: api.FormatESModule, Target: api.ES2022, LogLevel: api.LogLevelSilent})
			if err := buildError(result.Errors); err != nil {
				return nil, err
			}
			out[strings.TrimSuffix(name, ext)+".js"] = result.Code
		}
	}
	return out, nil
}

// plugin resolves every import inside the map, and nothing outside it.
func (f Files) plugin() api.Plugin {
	return api.Plugin{Name: "gadget", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			if strings.HasPrefix(args.Path, "data:") || args.Kind == api.ResolveCSSURLToken && strings.HasPrefix(args.Path, "#") {
				return api.OnResolveResult{Path: args.Path, External: true}, nil
			}
			name, ok := f.resolve(args)
			if !ok {
				return api.OnResolveResult{}, fmt.Errorf("cannot import %q: a gadget can import its own files only, and there is none with that name", args.Path)
			}
			return api.OnResolveResult{Path: name, Namespace: "gadget"}, nil
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "gadget"}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			text, loader := f.load(args.Path)
			return api.OnLoadResult{Contents: &text, Loader: loader}, nil
		})
	}}
}

func (f Files) resolve(args api.OnResolveArgs) (string, bool) {
	name := args.Path
	if args.Kind != api.ResolveEntryPoint {
		if !strings.HasPrefix(name, "./") && !strings.HasPrefix(name, "../") && args.Kind != api.ResolveCSSURLToken && args.Kind != api.ResolveCSSImportRule {
			return "", false
		}
		name = path.Join(path.Dir(args.Importer), name)
	}
	for _, ending := range []string{"", ".js", ".ts", ".tsx", ".jsx"} {
		if _, ok := f[name+ending]; ok {
			return name + ending, true
		}
	}
	return "", false
}

// load gives esbuild a file's text. A style sheet becomes a module that adds it to the page: there is no other file that
// a frame could load it from.
func (f Files) load(name string) (string, api.Loader) {
	text := string(f[name])
	ext := path.Ext(name)
	loader, known := loaders[ext]
	switch {
	case !known:
		kind := mime.TypeByExtension(ext)
		if kind == "" {
			kind = "application/octet-stream"
		}
		return "export default " + quote("data:"+kind+";base64,"+base64.StdEncoding.EncodeToString(f[name])), api.LoaderJS
	case loader == api.LoaderCSS:
		return "const style = document.createElement('style'); style.textContent = " + quote(text) + "; document.head.append(style);", api.LoaderJS
	}
	return text, loader
}

// quote writes s as a JavaScript string.
func quote(s string) string {
	replacer := strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n", "\r", "\\r", "\u2028", "\\u2028", "\u2029", "\\u2029")
	return "\"" + replacer.Replace(s) + "\""
}

func buildError(messages []api.Message) error {
	if len(messages) == 0 {
		return nil
	}
	m := messages[0]
	if m.Location == nil {
		return fmt.Errorf("%w: %s", ErrSyntax, m.Text)
	}
	return fmt.Errorf("%w: %s:%d:%d: %s", ErrSyntax, strings.TrimPrefix(m.Location.File, "gadget:"), m.Location.Line, m.Location.Column+1, m.Text)
}
