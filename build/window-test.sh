#!/bin/sh
# Tests the real window on a display of its own: the program that is given to people, driven by mouse and keyboard, and a
# build with the tag attack, whose layers can be left out, driven through WebKit's inspector.
# With the argument attack, only the second.
set -eu
cd "$(dirname "$0")/.."
which=${1:-all}

build=$(build/bin/toolshed version --json | sed -n 's/.*"build": "\(.*\)".*/\1/p')
mkdir -p build/bin/attack
CGO_ENABLED=1 go build -tags desktop,production,devtools,attack,webkit2_41 -ldflags "-X main.build=$build" -o build/bin/attack/toolshed-window .
cp build/bin/toolshed build/bin/attack/toolshed

work=$(mktemp -d)
Xvfb -displayfd 3 -screen 0 1400x900x24 3>"$work/display" 2>/dev/null &
xvfb=$!
manager=""
finish() {
	[ -z "$manager" ] || kill "$manager" 2>/dev/null || true
	kill "$xvfb" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT INT TERM
for _ in $(seq 100); do [ -s "$work/display" ] && break; sleep 0.1; done
DISPLAY=:$(cat "$work/display")
export DISPLAY
openbox 2>/dev/null &
manager=$!

cd frontend
if [ "$which" = attack ]; then
	node --test --test-concurrency=1 e2e/attack.test.mjs
else
	node --test --test-concurrency=1 e2e/window.test.mjs e2e/outside.test.mjs e2e/attack.test.mjs
fi
