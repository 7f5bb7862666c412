// Package walls takes everything away from a gadget's process that it could use to reach the system, and tries whether
// that worked.
package walls
