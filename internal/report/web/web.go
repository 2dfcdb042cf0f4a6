// Package web is the page of a run: its markup, its style and its scripts, and how data lie in it.
//
// It owns the viewer, which is a component of other pages, too (Viewer). Package encode has the form of a history. The page needs no other file and no
// network: everything is in it. It must not know what a verdict is, or choose what is shown.
package web

import (
	"bytes"
	"compress/flate"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
)

//go:embed *.html *.css *.js
var assets embed.FS

// What a page is made of, besides its data: the assets that match, in the order of their names.
type parts struct {
	page            string
	styles, scripts []string
}

func pageParts() parts {
	return parts{"page.html", []string{"page.css", "source.css", "storm.css"}, []string{"[0-9]*.js"}}
}

// Page is what a page shows.
type Page struct {
	Title string
	// Findings stand first, and can be read without scripts.
	Findings []Finding
	// Lead says in a line what the findings are; Counts and Facts are about the whole run.
	Lead, Counts string
	Alarm        string // what is wrong with the run itself; empty: nothing
	Home         string // where the page of all runs is; empty: nowhere, this page is a file
	Facts        [][2]string
	Data         []Data
}

// Finding is what one cell shows.
type Finding struct {
	Lock, Scenario, Title string
	Class, Status         string
	Sentence, Outcome     string   // the outcome only where it is not the expected one
	Names                 []string // of the anomalies
	Link                  string   // to the cell in the viewer
	Symptoms              []Symptom
	More                  int // symptoms that are not listed
}

// Symptom is an anomaly of a finding.
type Symptom struct {
	Number                         int
	Name, Meaning, Why, At, Follow string
}

// Data are compressed data of the page, by a name. The first are those of the matrix.
type Data struct {
	ID   string
	Text string // packed by Pack
}

// Pack compresses data for a page.
func Pack(text []byte) (string, error) {
	var packed bytes.Buffer
	out := base64.NewEncoder(base64.StdEncoding, &packed)
	deflate, err := flate.NewWriter(out, level)
	if err != nil {
		return "", err
	}
	if _, err := deflate.Write(text); err != nil {
		return "", err
	}
	if err := errors.Join(deflate.Close(), out.Close()); err != nil {
		return "", err
	}
	return packed.String(), nil
}

// level of compression: half of the time of the usual one, for a third more bytes.
const level = 3

// Write writes a page.
func Write(w io.Writer, page *Page) error { return pageParts().write(w, page) }

func (p parts) write(w io.Writer, data any) error {
	source, err := assets.ReadFile(p.page)
	if err != nil {
		return fmt.Errorf("report: page: %w", err)
	}
	style, err := joined(p.styles)
	if err != nil {
		return err
	}
	script, err := joined(p.scripts)
	if err != nil {
		return err
	}
	tmpl, err := template.New("page").Funcs(template.FuncMap{
		"style":  func() template.CSS { return template.CSS(style) },
		"script": func() template.JS { return template.JS(script) },
		"data":   island,
	}).Parse(string(source))
	if err != nil {
		return fmt.Errorf("report: page: %w", err)
	}
	return tmpl.Execute(w, data)
}

// Viewer is the style of the page, and the scripts by which it shows a history step by step: all but the matrix, storms, searches, and what begins the page.
func Viewer() (style, script string, err error) {
	if style, err = joined([]string{"page.css"}); err == nil {
		script, err = joined([]string{"[12]*.js", "30-*.js", "[567]*.js", "80-*.js"})
	}
	return style, script, err
}

// island is an element with data: letters, digits, and signs that mean nothing to HTML.
func island(d Data) template.HTML {
	return template.HTML(`<script type="text/plain" id="` + template.HTMLEscapeString(d.ID) + `">` + d.Text + "</script>\n")
}

// joined are the assets that match one of the patterns.
func joined(patterns []string) (string, error) {
	var all bytes.Buffer
	for _, pattern := range patterns {
		names, err := fs.Glob(assets, pattern)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			text, err := assets.ReadFile(name)
			if err != nil {
				return "", fmt.Errorf("report: page: %w", err)
			}
			all.Write(text)
		}
	}
	return all.String(), nil
}
