// Package list owns what both judges need of slices and the standard library does not have. It must not know what is in them.
package list

import "slices"

// Take removes the element that match finds, and returns it; the zero value if there is none.
func Take[T any](list *[]T, match func(T) bool) (found T) {
	for i, w := range *list {
		if match(w) {
			found = w
			*list = append((*list)[:i], (*list)[i+1:]...)
			return found
		}
	}
	return found
}

// Append appends to a list that may become very long. It doubles the room where append, in smaller steps, would leave
// several times as much behind.
func Append[T any](list []T, element T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(64, len(list)))
	}
	return append(list, element)
}
