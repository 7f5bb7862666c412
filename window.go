//go:build desktop

package main

import "toolshed/app"

func init() { openWindow, showTrouble = app.RunWindow, app.ShowTrouble }
