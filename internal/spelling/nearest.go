// Package spelling finds what a misspelt name most likely stands for.
//
// It owns the measure. It must not know what is named.
package spelling

import "strings"

// Nearest is the candidate that name most likely stands for, or "" if none is near: the one with the least edit distance, else the shortest
// one that contains name.
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", len(name)/3+1
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best != "" || len(name) < 3 {
		return best
	}
	for _, candidate := range candidates {
		if strings.Contains(candidate, name) && (best == "" || len(candidate) < len(best)) {
			best = candidate
		}
	}
	return best
}

// distance is the Damerau-Levenshtein distance.
func distance(a, b string) int {
	above, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], above[j-2]+1)
			}
		}
		above, row, next = row, next, above
	}
	return row[len(b)]
}
