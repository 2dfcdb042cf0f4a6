package exploration

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/report/reporttest"
)

func TestPointLetters(t *testing.T) {
	for entry, want := range map[string]string{
		"-": "-", "?": "?", ">1": ">1",
		"1 ghost-lock":                          "1G",
		"1 double-holder,early-grant":           "1DE",
		"1 ghost-lock; 2 double-holder":         "1G 2D",
		"1 ghost-lock; -":                       "1G -",
		"2 wrongful-renew in 2x2; >1":           "2R' >1",
		"overwrite,wrongful-delete":             "OX",
		"overwrite,?":                           "O?",
		"crash + lost-reply":                    "crash + lost-reply",
		"1 stale-write; ? 1 to step 25":         "1S ?1/25",
		"- in 3x1":                              "-(3x1)",
		">1 in 2x1":                             ">1(2x1)",
		"1 stale-write; 1 double-holder in 2x2": "1S 1D'",
	} {
		assert.Equal(t, want, PointLetters(entry), entry)
	}
}

func TestPointsGolden(t *testing.T) {
	rows := [][]string{
		{"lock", "no fault", "pause", "crash", "lost-reply", "slow-clock", "mixture"},
		{"setpx-del", "-", "1 double-holder", "-", "1 ghost-lock; -", "- in 2x1", "-"},
		{"strange", "n/a: it touches a real clock"},
		{"redlock", "-", ">1", "?", "2 ghost-lock; ?", "2 double-holder in 2x2", "pause + crash"},
	}
	var b bytes.Buffer
	require.NoError(t, Points(&b, rows, 0))
	require.NoError(t, Points(&b, rows, 60))
	reporttest.Golden(t, "points", b.Bytes())
}
