package walls

import "toolshed/runtime/host/wire"

func limitResources() wire.Wall {
	return wire.Wall{Name: "resource limits", Missing: "not built for this system yet"}
}
