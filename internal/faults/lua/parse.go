package lua

import "slices"

const (
	maxDepth  = 200 // of blocks and expressions in one another, as in Lua itself
	maxLocals = 1000
)

// parser reads a script once, from the beginning to the end. After the first error there are no more tokens.
type parser struct {
	tokens []token // those to come; the last is the end of the text
	cut    error   // why the text ends there; nil: it is read to its end
	err    error
	depth  int
	locals []*variable // those in scope
	calls  []call
}

func (p *parser) failf(format string, args ...any) { p.failAt(p.peek(0), format, args...) }

func (p *parser) failAt(t token, format string, args ...any) {
	if p.err == nil {
		p.err = syntaxError(t.line, format, args...)
	}
	p.tokens = p.tokens[len(p.tokens)-1:]
}

// peek is the token that many places ahead.
func (p *parser) peek(places int) token {
	last := len(p.tokens) - 1
	if places >= last && p.err == nil {
		p.err = p.cut
	}
	return p.tokens[min(places, last)]
}

func (p *parser) take() token {
	t := p.peek(0)
	p.tokens = p.tokens[min(1, len(p.tokens)-1):]
	return t
}

// sees says whether these words and signs are next.
func (p *parser) sees(words ...string) bool {
	for i, word := range words {
		if t := p.peek(i); t.kind == text || t.kind == endOfText || t.text != word {
			return false
		}
	}
	return true
}

// accept takes a word or sign if it is next.
func (p *parser) accept(word string) bool {
	if !p.sees(word) {
		return false
	}
	p.take()
	return true
}

func (p *parser) expect(word string) {
	if !p.accept(word) {
		p.failf("%s stands where %s is expected", p.peek(0), word)
	}
}

func (p *parser) name() string {
	if t := p.peek(0); t.kind != name {
		p.failf("%s stands where a name is expected", t)
	}
	return p.take().text
}

// deeper reads what is one level deeper.
func (p *parser) deeper(read func()) {
	if p.depth++; p.depth > maxDepth {
		p.failf("more than %d levels", maxDepth)
	}
	read()
	p.depth--
}

// scope reads what has variables of its own.
func (p *parser) scope(read func()) {
	p.deeper(func() {
		outer := len(p.locals)
		read()
		p.locals = p.locals[:outer]
	})
}

func (p *parser) declare(variables ...*variable) {
	for _, v := range variables {
		if reserved(v.name) {
			p.failf("a variable must not be named %s", v.name)
		}
	}
	if p.locals = append(p.locals, variables...); len(p.locals) > maxLocals {
		p.failf("more than %d variables", maxLocals)
	}
}

// local is the variable of a name; nil if it is none of the script's.
func (p *parser) local(name string) *variable {
	for i := len(p.locals) - 1; i >= 0; i-- {
		if p.locals[i].name == name {
			return p.locals[i]
		}
	}
	return nil
}

// block reads statements up to what cannot begin one.
func (p *parser) block() {
	for p.peek(0).kind != endOfText && !slices.ContainsFunc([]string{"end", "else", "elseif", "until"}, func(word string) bool { return p.sees(word) }) {
		p.deeper(p.statement)
	}
}

// body reads a block with variables of its own, up to a word.
func (p *parser) body(end string) {
	p.scope(p.block)
	p.expect(end)
}

func (p *parser) statement() {
	switch {
	case p.accept(";"), p.accept("break"):
	case p.accept("do"):
		p.body("end")
	case p.accept("while"):
		p.expr()
		p.expect("do")
		p.body("end")
	case p.accept("repeat"):
		p.scope(func() { // until sees the variables of the block
			p.block()
			p.expect("until")
			p.expr()
		})
	case p.accept("if"):
		p.ifs()
	case p.accept("for"):
		p.scope(p.loop)
	case p.accept("function"):
		p.function()
	case p.accept("local"):
		p.declaration()
	case p.accept("return"):
		if p.endsReturn() {
			p.accept(";")
			return
		}
		p.list()
		p.accept(";")
	default:
		p.callOrAssign()
	}
}

func (p *parser) endsReturn() bool {
	return p.peek(0).kind == endOfText || slices.ContainsFunc([]string{"end", "else", "elseif", "until", ";"}, func(word string) bool { return p.sees(word) })
}

func (p *parser) ifs() {
	p.expr()
	p.expect("then")
	p.scope(p.block)
	switch {
	case p.accept("elseif"):
		p.deeper(p.ifs)
	case p.accept("else"):
		p.body("end")
	default:
		p.expect("end")
	}
}

// loop reads a for loop. The second variable of a loop over KEYS is an element of KEYS.
func (p *parser) loop() {
	names := p.names()
	variables := plain(names...)
	switch {
	case len(names) == 1 && p.accept("="):
		p.list()
	case p.overKeys():
		for range 5 { // in ipairs ( KEYS )
			p.take()
		}
		if len(variables) > 1 {
			variables[1].key = true
		}
	default:
		p.expect("in")
		p.list()
	}
	p.expect("do")
	p.scope(func() {
		p.declare(variables...)
		p.block()
	})
	p.expect("end")
}

func (p *parser) overKeys() bool {
	by := p.peek(1).text
	return (by == "ipairs" || by == "pairs") && p.local(by) == nil && p.sees("in", by, "(", "KEYS", ")", "do")
}

func (p *parser) names() []string {
	names := []string{p.name()}
	for p.accept(",") {
		names = append(names, p.name())
	}
	return names
}

// plain are variables of which nothing is known.
func plain(names ...string) []*variable {
	variables := make([]*variable, len(names))
	for i, name := range names {
		variables[i] = &variable{name: name}
	}
	return variables
}

// function reads a function that is assigned to a variable, or into a table.
func (p *parser) function() {
	first := p.name()
	v := p.local(first)
	if v == nil {
		p.failf("%s would be a function that all scripts share; write local function", first)
		return
	}
	v.assigned = v.assigned || !p.sees(".") && !p.sees(":")
	for p.accept(".") {
		p.name()
	}
	if p.accept(":") {
		p.name()
		p.parameters("self")
		return
	}
	p.parameters()
}

// parameters reads a function from its parameters on.
func (p *parser) parameters(names ...string) {
	p.expect("(")
	for !p.sees(")") {
		if p.accept("...") {
			break
		}
		names = append(names, p.name())
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	p.scope(func() {
		p.declare(plain(names...)...)
		p.block()
	})
	p.expect("end")
}

func (p *parser) declaration() {
	if p.accept("function") {
		p.declare(plain(p.name())...)
		p.parameters()
		return
	}
	names := p.names()
	variables := plain(names...)
	if p.accept("=") {
		values := p.list()
		for i := range min(len(names), len(values)) {
			variables[i] = variableOf(names[i], values[i])
		}
	}
	p.declare(variables...)
}

func (p *parser) callOrAssign() {
	target := p.suffixed()
	if target.called && !p.sees("=") && !p.sees(",") {
		return
	}
	for {
		if target.global {
			p.failf("an assignment to what all scripts share, or to KEYS")
		}
		if target.of != nil {
			target.of.assigned = true
		}
		if !p.accept(",") {
			break
		}
		target = p.suffixed()
	}
	p.expect("=")
	p.list()
}
