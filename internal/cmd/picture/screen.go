package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A line of the terminal: its height, and the width of a letter of 16 px, so that 80 columns fit.
const (
	lineHeight = 20.2
	letter     = 9.63
)

// When things happen on the screen.
const (
	typing    = 1400 * time.Millisecond
	lineTakes = 150 * time.Millisecond
	paragraph = 700 * time.Millisecond  // for a reader to read one
	lookAt    = 2500 * time.Millisecond // the cell that is told next
)

// screen draws the terminal: the command is typed, and the lines come one after the other.
func (c *canvas) screen(s *shown) {
	y := bar + 28
	c.mono(margin, y, letter, "safe", "$")
	c.mono(margin+2*letter, y, letter, "bold", command)
	c.now = 400 * time.Millisecond
	length := float64(len(command)) * letter
	typed := fmt.Sprintf("transform:translateX(%.1fpx)", length)
	keys := fmt.Sprintf("transform:none;animation-timing-function:steps(%d)", len(command))
	c.group(c.animate(stop{0, "transform:none"}, stop{c.now, keys}, stop{c.now + typing, typed}), func() {
		c.rect(margin+2*letter, y-14, length+letter, 18, "bg")
		c.rect(margin+2*letter, y-14, letter, 18, "cursor")
	})
	c.now += typing + paragraph
	lines := strings.Split(s.screen, "\n")
	if next := slices.IndexFunc(lines, func(line string) bool { return plain(line) == "Next" }); next > 0 {
		lines = lines[:next] // which commands to go on with is no part of the picture
	}
	for _, line := range lines {
		if y += lineHeight; line == "" {
			c.now += paragraph
			continue
		}
		c.group(c.since(), func() { c.line(y, line) })
		c.now += lineTakes
	}
	column, row, runes := field(lines, s)
	c.now += paragraph
	c.group(c.since(), func() {
		c.rect(margin+float64(column)*letter-5, bar+28+float64(row+1)*lineHeight-15, float64(runes)*letter+10, lineHeight+1, "ring")
	})
	c.now += lookAt
}

// field is where in the table the cell stands of which the race is told: its column, its line and its length.
func field(lines []string, s *shown) (column, line, length int) {
	header := slices.IndexFunc(lines, func(line string) bool {
		return slices.Contains(strings.Fields(plain(line)), s.cell.Lock) && strings.HasPrefix(line, " ")
	})
	row := header + slices.IndexFunc(lines[header:], func(line string) bool { return strings.HasPrefix(line, s.situation+" ") })
	column = strings.Index(plain(lines[header]), " "+s.cell.Lock) + 1
	word, _, _ := strings.Cut(plain(lines[row])[column:], "  ")
	return column, row, len(word)
}

// plain is a line without its colours.
func plain(line string) string { return escapes.ReplaceAllString(line, "") }

// escapes are the colours of a terminal.
var escapes = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// class is that of a colour, of those that the lab's screens use.
func class(code string) string {
	switch code {
	case "1":
		return "bold"
	case "2":
		return "dim"
	case "32":
		return "safe"
	case "33":
		return "broken"
	case "1;35":
		return "odd bold"
	case "1;37;41":
		return "alarm bold"
	}
	return ""
}

// words are what stands between wide gaps: each has its place, so that columns stay columns in every font.
var words = regexp.MustCompile(`\S+( \S+)*`)

// line draws one line with its colours.
func (c *canvas) line(y float64, line string) {
	column, colour := 0, ""
	run := func(text string) {
		for _, at := range words.FindAllStringIndex(text, -1) {
			x := column + len([]rune(text[:at[0]]))
			c.mono(margin+float64(x)*letter, y, letter, colour, text[at[0]:at[1]])
		}
		column += len([]rune(text))
	}
	for {
		at := escapes.FindStringSubmatchIndex(line)
		if at == nil {
			run(line)
			return
		}
		run(line[:at[0]])
		colour, line = class(line[at[2]:at[3]]), line[at[1]:]
	}
}
