// Package libraries tests published lock libraries with package locktest, in a module of its own: the lab does not need them.
package libraries
