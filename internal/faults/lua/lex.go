package lua

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// kind says what a token is.
type kind uint8

const (
	endOfText kind = iota
	name
	keyword
	number
	text
	operator
)

// token is one token of a script. That of a text holds what the text stands for.
type token struct {
	kind kind
	text string
	line int
}

func (t token) String() string {
	switch t.kind {
	case endOfText:
		return "the end of the script"
	case text:
		return "a string"
	}
	return t.text
}

// lexer splits a script as Lua 5.1 does. What another version of Lua would split otherwise is an error.
type lexer struct {
	rest []byte
	line int
}

// SyntaxError says where a script is not what a client may send.
type SyntaxError struct {
	Line int
	What string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

func syntaxError(line int, format string, args ...any) error {
	return &SyntaxError{Line: line, What: fmt.Sprintf(format, args...)}
}

func (l *lexer) errorf(format string, args ...any) error { return syntaxError(l.line, format, args...) }

// all are the tokens of the text. The last is its end, or stands where the text cannot be read any further, which is the error.
func (l *lexer) all() (tokens []token, err error) {
	for {
		t, err := l.next()
		if err != nil {
			t = token{line: l.line}
		}
		if tokens = append(tokens, t); t.kind == endOfText {
			return tokens, err
		}
	}
}

// next is the next token.
func (l *lexer) next() (token, error) {
	if err := l.skip(); err != nil {
		return token{}, err
	}
	if len(l.rest) == 0 {
		return token{line: l.line}, nil
	}
	line := l.line
	switch c := l.rest[0]; {
	case isLetter(c):
		word := l.takeWhile(func(c byte) bool { return isLetter(c) || isDigit(c) })
		return token{kindOf(word), word, line}, nil
	case isDigit(c), c == '.' && len(l.rest) > 1 && isDigit(l.rest[1]):
		return l.number()
	case c == '"' || c == '\'':
		what, err := l.quoted(c)
		return token{text, what, line}, err
	case c == '[' && l.bracket() >= 0:
		what, err := l.long(l.bracket())
		return token{text, what, line}, err
	}
	for _, op := range []string{"...", "..", "==", "~=", "<=", ">="} {
		if bytes.HasPrefix(l.rest, []byte(op)) {
			l.rest = l.rest[len(op):]
			return token{operator, op, line}, nil
		}
	}
	if c := l.rest[0]; strings.IndexByte("+-*/%^#<>=(){}[];:,.", c) < 0 {
		return token{}, l.errorf("%q does not belong into a script", c)
	}
	op := string(l.rest[:1])
	l.rest = l.rest[1:]
	return token{operator, op, line}, nil
}

// skip passes over blanks and comments.
func (l *lexer) skip() error {
	for len(l.rest) > 0 {
		switch c := l.rest[0]; {
		case c == '\n' || c == '\r':
			l.newline()
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			l.rest = l.rest[1:]
		case bytes.HasPrefix(l.rest, []byte("--")):
			l.rest = l.rest[2:]
			if level := l.bracket(); level >= 0 {
				if _, err := l.long(level); err != nil {
					return err
				}
				continue
			}
			l.takeWhile(func(c byte) bool { return c != '\n' && c != '\r' })
		default:
			return nil
		}
	}
	return nil
}

// newline passes over the end of a line: \n, \r or both.
func (l *lexer) newline() {
	first := l.rest[0]
	l.rest = l.rest[1:]
	if len(l.rest) > 0 && (l.rest[0] == '\n' || l.rest[0] == '\r') && l.rest[0] != first {
		l.rest = l.rest[1:]
	}
	l.line++
}

func (l *lexer) takeWhile(belongs func(byte) bool) string {
	n := 0
	for n < len(l.rest) && belongs(l.rest[n]) {
		n++
	}
	taken := string(l.rest[:n])
	l.rest = l.rest[n:]
	return taken
}

// numeral has no form that versions of Lua read in different ways.
var numeral = regexp.MustCompile(`^(0[xX][0-9a-fA-F]+|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)$`)

func (l *lexer) number() (token, error) {
	line, n := l.line, 0
	for n < len(l.rest) && (isDigit(l.rest[n]) || l.rest[n] == '.') {
		n++
	}
	if n+1 < len(l.rest) && (l.rest[n] == 'e' || l.rest[n] == 'E') && (l.rest[n+1] == '+' || l.rest[n+1] == '-') {
		n += 2
	}
	for n < len(l.rest) && (isLetter(l.rest[n]) || isDigit(l.rest[n])) {
		n++
	}
	digits := string(l.rest[:n])
	if !numeral.MatchString(digits) {
		return token{}, l.errorf("%s is no number", digits)
	}
	l.rest = l.rest[n:]
	return token{number, digits, line}, nil
}

// quoted reads a string in quotes.
func (l *lexer) quoted(mark byte) (string, error) {
	var b strings.Builder
	for l.rest = l.rest[1:]; len(l.rest) > 0; {
		switch c := l.rest[0]; c {
		case mark:
			l.rest = l.rest[1:]
			return b.String(), nil
		case '\n', '\r':
			return "", l.errorf("a string does not end")
		case '\\':
			l.rest = l.rest[1:]
			if err := l.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			l.rest = l.rest[1:]
		}
	}
	return "", l.errorf("a string does not end")
}

// escape reads what follows a backslash. Letters that mean something in some versions of Lua only are refused.
func (l *lexer) escape(b *strings.Builder) error {
	if len(l.rest) == 0 {
		return l.errorf("a string does not end")
	}
	c := l.rest[0]
	if at := strings.IndexByte("abfnrtv\\\"'", c); at >= 0 {
		b.WriteByte("\a\b\f\n\r\t\v\\\"'"[at])
		l.rest = l.rest[1:]
		return nil
	}
	if c == '\n' || c == '\r' {
		b.WriteByte('\n')
		l.newline()
		return nil
	}
	if !isDigit(c) {
		return l.errorf("a string has the escape \\%s", printable(c))
	}
	code, n := 0, 0
	for n < 3 && n < len(l.rest) && isDigit(l.rest[n]) {
		code = 10*code + int(l.rest[n]-'0')
		n++
	}
	if code > 255 {
		return l.errorf("a string has the escape \\%d", code)
	}
	b.WriteByte(byte(code))
	l.rest = l.rest[n:]
	return nil
}

func printable(c byte) string { return strings.Trim(fmt.Sprintf("%q", c), "'") }

// bracket is the level of a long bracket that opens here; -1 if none does.
func (l *lexer) bracket() int {
	if len(l.rest) == 0 || l.rest[0] != '[' {
		return -1
	}
	level := 0
	for 1+level < len(l.rest) && l.rest[1+level] == '=' {
		level++
	}
	if 1+level == len(l.rest) || l.rest[1+level] != '[' {
		return -1
	}
	return level
}

// long reads a string or comment in long brackets. Lua 5.1 refuses an opening bracket of level 0 within such, or nests it, as it was built.
func (l *lexer) long(level int) (string, error) {
	l.rest = l.rest[level+2:]
	inside, after, closed := bytes.Cut(l.rest, []byte("]"+strings.Repeat("=", level)+"]"))
	switch {
	case !closed:
		return "", l.errorf("a long bracket does not end")
	case level == 0 && bytes.Contains(inside, []byte("[[")):
		return "", l.errorf("[[ within a long bracket")
	}
	first := true
	var b strings.Builder
	for l.rest = inside; len(l.rest) > 0; first = false {
		if c := l.rest[0]; c != '\n' && c != '\r' {
			b.WriteByte(c)
			l.rest = l.rest[1:]
			continue
		}
		l.newline()
		if !first {
			b.WriteByte('\n')
		}
	}
	l.rest = after
	return b.String(), nil
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func kindOf(word string) kind {
	switch word {
	case "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or", "repeat", "return",
		"then", "true", "until", "while":
		return keyword
	}
	return name
}
