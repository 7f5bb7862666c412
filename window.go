//go:build desktop

package main

import "toolshed/app"

func init() { openWindow = app.RunWindow }
