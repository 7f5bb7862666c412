#!/bin/sh
# Sets up what building (run) or testing (test) Toolshed needs: system packages through apt-get on Debian and Ubuntu, the
# page's npm packages, and the JavaScript engine at its pinned checksum. It does only what is missing, so it is cheap to
# call again, and says at the end what it could not do.
set -u
cd "$(dirname "$0")/.." || exit 1
purpose=${1:-run}

engine=runtime/guest/engine/quickjs.wasm
engine_sum=c0bd8f296e18cf074969f6401b9ecb72609a1323818ec2b9bf7a8f8d740d1363

build_packages="pkg-config build-essential libgtk-3-dev libwebkit2gtk-4.1-dev"
test_packages="git xvfb openbox xdotool imagemagick chromium fonts-dejavu-core"

missed=""
miss() { missed="$missed
  - $*"; }

need_command() { # name, least version, how it prints it, what to do
	if ! command -v "$1" >/dev/null 2>&1; then
		echo "Toolshed needs $1 $2 or newer, and it is not installed. $4" >&2
		exit 1
	fi
	have=$($3 | grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)?' | head -n 1)
	if [ "$(printf '%s\n%s\n' "$2" "$have" | sort -V | head -n 1)" != "$2" ]; then
		echo "Toolshed needs $1 $2 or newer; this one is $have. $4" >&2
		exit 1
	fi
}

need_command go 1.26 "go version" "See https://go.dev/doc/install."
need_command node 20.19 "node --version" "See https://nodejs.org."
need_command npm 9.0 "npm --version" "It comes with Node."

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null 2>&1; then sudo "$@"; else return 1; fi
}

system_packages() {
	if ! command -v apt-get >/dev/null 2>&1; then
		[ "$(uname)" = Linux ] && ! pkg-config --exists webkit2gtk-4.1 2>/dev/null &&
			miss "this is no Debian or Ubuntu: install GTK 3 and WebKitGTK 4.1 with their headers, pkg-config and a C compiler by hand"
		return
	fi
	wanted=$build_packages
	[ "$purpose" = test ] && wanted="$wanted $test_packages"
	absent=""
	for package in $wanted; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "ok installed" || absent="$absent $package"
	done
	[ -z "$absent" ] && return
	echo "Installing:$absent"
	# The lists of packages of a new machine are old or empty.
	as_root apt-get update -qq || true
	# shellcheck disable=SC2086 # a list of names
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $absent >/dev/null ||
		miss "apt-get could not install:$absent (run: sudo apt-get install$absent)"
}

page_packages() {
	stamp=frontend/node_modules/.toolshed-lock
	cmp -s frontend/package-lock.json "$stamp" && return
	echo "Installing the page's packages"
	if (cd frontend && npm ci --no-audit --no-fund --loglevel=error); then
		cp frontend/package-lock.json "$stamp"
	else
		miss "npm could not install the page's packages (run: cd frontend && npm ci)"
	fi
}

sum_of() { if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1; }

engine_file() {
	[ -f "$engine" ] && [ "$(sum_of "$engine")" = "$engine_sum" ] && return
	from=frontend/node_modules/quickjs-wasi/quickjs.wasm
	if [ ! -f "$from" ]; then
		miss "the JavaScript engine is missing: npm package quickjs-wasi did not bring $from"
	elif [ "$(sum_of "$from")" != "$engine_sum" ]; then
		miss "the JavaScript engine has another checksum than the pinned one and was not taken"
	else
		cp "$from" "$engine.part" && mv "$engine.part" "$engine"
	fi
}

system_packages
page_packages
engine_file

if [ -n "$missed" ]; then
	echo "Set-up is not complete:$missed" >&2
	exit 1
fi
