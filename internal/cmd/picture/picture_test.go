package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const file = "../../../docs/picture.svg"

func committed(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// took is what the screen says of how long the run took: the one thing that differs each time.
var took = regexp.MustCompile(`, in the model, in ([0-9.]+m?s)<`)

// TestThePictureIsOfARun: the picture in docs is what the command draws, but for how long its run took.
func TestThePictureIsOfARun(t *testing.T) {
	text := committed(t)
	said := took.FindStringSubmatch(text)
	require.NotNil(t, said, "%s does not say how long the run took", file)
	d, err := time.ParseDuration(said[1])
	require.NoError(t, err)
	shown, err := tour(t.Context(), func() time.Duration { return d })
	require.NoError(t, err)
	require.Equal(t, draw(shown), text, "run: go run ./internal/cmd/picture -o docs/picture.svg")
	require.Contains(t, shown.cell.Finding, "late write was accepted")
	_, still := texts(t, text)
	for _, sentence := range []string{shown.cell.Finding, shown.cell.Lock + " in " + shown.cell.Scenario, "C1: paused", "C2 writes 12 times", "C1, too late: SET counter 1"} {
		assert.Contains(t, still, sentence, "without motion the picture shows the whole race")
	}
}

// texts reads the picture, and returns what it shows when it moves, and when it does not.
func texts(t *testing.T, text string) (moving, still string) {
	t.Helper()
	var hidden []bool // by depth: the element is hidden when nothing moves, or lies in one that is
	in := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(strings.Fields(moving), " "), strings.Join(strings.Fields(still), " ")
		}
		require.NoError(t, err, "well-formed XML")
		switch token := token.(type) {
		case xml.StartElement:
			assert.Contains(t, []string{"svg", "title", "desc", "style", "defs", "pattern", "clipPath", "g", "rect", "circle", "line", "path", "text", "tspan"}, token.Name.Local, "no script, nothing from elsewhere")
			is := len(hidden) > 0 && hidden[len(hidden)-1] || slices.Contains([]string{"title", "desc", "style"}, token.Name.Local)
			for _, a := range token.Attr {
				assert.False(t, strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href", "%s=%q", a.Name.Local, a.Value)
				is = is || a.Name.Local == "class" && slices.Contains(strings.Fields(a.Value), "still")
			}
			hidden = append(hidden, is)
		case xml.EndElement:
			hidden = hidden[:len(hidden)-1]
		case xml.CharData:
			moving += string(token) + " "
			if len(hidden) > 0 && !hidden[len(hidden)-1] {
				still += string(token) + " "
			}
		}
	}
}

// TestThePictureIsSelfContained: it needs nothing from elsewhere, is small, has both schemes of colours, and moves only for those who do not mind.
func TestThePictureIsSelfContained(t *testing.T) {
	text := committed(t)
	assert.Less(t, len(text), 300<<10)
	for _, url := range regexp.MustCompile(`url\([^)]*\)|https?://[^"' )]*`).FindAllString(text, -1) {
		assert.Contains(t, []string{"url(#hatch)", "url(#window)", "http://www.w3.org/2000/svg"}, url)
	}
	assert.NotContains(t, text, "@import")
	assert.Contains(t, text, "@media(prefers-color-scheme:dark)")
	before, rest, ok := strings.Cut(text, "@media(prefers-reduced-motion:no-preference){\n")
	require.True(t, ok)
	animations, after, ok := strings.Cut(rest, "\n}\n")
	require.True(t, ok)
	assert.NotContains(t, before+after, "animat", "what moves without being asked whether it may")
	assert.Contains(t, animations, "@keyframes")
	moving, still := texts(t, text)
	assert.Contains(t, moving, "lost reply", "the table")
	assert.NotContains(t, still, "lost reply", "the terminal lies below the race")
}

// TestThePictureIsAtTheTop of both READMEs, with words for those who do not see it.
func TestThePictureIsAtTheTop(t *testing.T) {
	for _, page := range []string{"README.md", "README.zh-CN.md"} {
		text, err := os.ReadFile("../../../" + page)
		require.NoError(t, err)
		top := strings.Join(strings.SplitN(string(text), "\n", 7)[:6], "\n")
		assert.Regexp(t, `(?m)^!\[[^\]]*C1[^\]]*C2[^\]]*\]\(docs/picture\.svg\)$`, top, page)
	}
}
