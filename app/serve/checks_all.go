//go:build !attack

package serve

// on is every check: nothing that anybody can set leaves one out.
func on(check) bool { return true }
