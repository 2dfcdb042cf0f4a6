package main

import (
	"fmt"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/format"
)

// draw is the whole picture: a window with the terminal, and then the race in its place.
func draw(s *shown) string {
	terminal := &canvas{}
	terminal.screen(s)
	race := &canvas{now: terminal.now, moves: terminal.moves}
	race.race(s)
	c := &canvas{now: race.now, moves: race.moves}
	c.window(c.during(0, terminal.now)+" still", command, terminal)
	c.window(c.during(terminal.now, c.now), lab.TourRace, race)
	finding := format.Clean(s.cell.Finding)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-labelledby="t d">
<title id="t">%s, and one of its races</title>
<desc id="d">%s</desc>
<!-- made by go run ./internal/cmd/picture -o docs/picture.svg -->
<style>%s%s</style>
<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="7" height="7" class="bg"/><rect width="2.5" height="7" class="cursor" opacity=".35"/></pattern>
<clipPath id="window"><rect x="1" y="1" width="%.0f" height="%.0f" rx="10"/></clipPath></defs>
<g clip-path="url(#window)">
<rect width="100%%" height="100%%" class="bg"/><rect width="100%%" height="%.0f" class="bar"/>
<circle cx="22" cy="17" r="5.5" fill="#ee6a5f"/><circle cx="42" cy="17" r="5.5" fill="#f5bd4f"/><circle cx="62" cy="17" r="5.5" fill="#61c454"/>
%s</g>
<rect x=".5" y=".5" width="%.0f" height="%.0f" rx="10" class="frame"/>
</svg>
`, width, height, width, height, escape(command), escape(finding), style, c.css(), width-2, height-2, bar, c.String(), width-1, height-1)
}

// window shows a scene under its title.
func (c *canvas) window(class, title string, scene *canvas) {
	c.group(class, func() {
		c.text(width/2, 22, "m s mid soft", title)
		c.WriteString(scene.String())
	})
}
