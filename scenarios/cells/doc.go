// Package cells is what all worlds share that run scenarios: which cells a run has, what a script needs of a lock, what a client makes
// of its lock, the record of what happened, and how it ends and is judged.
package cells
