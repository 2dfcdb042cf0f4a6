package lua

import (
	"slices"
	"strings"
)

func (p *parser) list() []value {
	values := []value{p.expr()}
	for p.accept(",") {
		values = append(values, p.expr())
	}
	return values
}

// expr reads an expression. Only the result of .. is followed: it contains its operands.
func (p *parser) expr() (v value) {
	p.deeper(func() { v = p.operand() })
	contains, joined := v, true
	single := true
	for p.operator() {
		single = false
		joined = joined && p.sees("..")
		p.take()
		p.deeper(func() { v = p.operand() })
		if contains.Kind != Key {
			contains = v
		}
	}
	switch {
	case single:
		return v
	case joined && contains.Kind == Key:
		return value{Arg: Arg{Kind: HasKey}, of: contains.of}
	}
	return value{}
}

func (p *parser) operator() bool {
	return slices.ContainsFunc(strings.Fields("+ - * / % ^ .. == ~= < > <= >= and or"), func(sign string) bool { return p.sees(sign) })
}

func (p *parser) operand() value {
	switch t := p.peek(0); {
	case p.sees("#", "KEYS") && p.onlyName(2):
		p.take()
		p.take()
	case p.accept("not"), p.accept("-"), p.accept("#"):
		p.deeper(func() { p.operand() })
	case p.accept("nil"), p.accept("true"), p.accept("false"):
	case p.accept("..."):
		return value{Arg: Arg{Kind: Spread}}
	case p.accept("function"):
		p.parameters()
	case p.sees("{"):
		p.table()
	case t.kind == number:
		p.take()
		return value{Arg: integer(t.text)}
	case t.kind == text:
		p.take()
		return value{Arg: Arg{Literal, t.text}}
	default:
		return p.suffixed()
	}
	return value{}
}

// integer is a number as a command gets it, if that is certain.
func integer(digits string) Arg {
	if len(digits) > 15 || strings.Trim(digits, "0123456789") != "" {
		return Arg{}
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		digits = "0"
	}
	return Arg{Literal, digits}
}

// onlyName says whether the name before that place stands alone: it is not called, nor is something of it read.
func (p *parser) onlyName(place int) bool {
	t := p.peek(place)
	return t.kind != text && !(t.kind == operator && strings.Contains("([{.:", t.text))
}

func (p *parser) table() {
	p.expect("{")
	for !p.sees("}") {
		switch {
		case p.accept("["):
			p.expr()
			p.expect("]")
			p.expect("=")
		case p.peek(0).kind == name && p.peek(1).kind == operator && p.peek(1).text == "=":
			p.take()
			p.take()
		}
		p.expr()
		if !p.accept(",") && !p.accept(";") {
			break
		}
	}
	p.expect("}")
}

// suffixed reads a variable or an expression in parentheses, with what is called or read of it.
func (p *parser) suffixed() value {
	v := p.primary()
	for {
		t := p.peek(0)
		switch {
		case p.accept("."):
			p.name()
			v = value{global: v.global}
		case p.accept("["):
			p.expr()
			p.expect("]")
			v = value{global: v.global}
		case p.accept(":"):
			p.name()
			p.arguments()
			v = called(v.global)
		case p.sees("("), p.sees("{"), t.kind == text:
			p.arguments()
			v = called(v.global)
		default:
			return v
		}
	}
}

func called(global bool) value { return value{Arg: Arg{Kind: Spread}, called: true, global: global} }

func (p *parser) arguments() {
	switch {
	case p.sees("{"):
		p.deeper(p.table)
	case p.peek(0).kind == text:
		p.take()
	default:
		p.between()
	}
}

// between reads a list in parentheses.
func (p *parser) between() (values []value) {
	p.expect("(")
	if !p.sees(")") {
		values = p.list()
	}
	p.expect(")")
	return values
}

func (p *parser) primary() value {
	if p.accept("(") {
		v := p.expr()
		p.expect(")")
		switch {
		case v.Kind == Key, v.Kind == HasKey:
			return value{Arg: v.Arg, of: v.of, global: true}
		case v.Kind == Keys:
			return value{Arg: Arg{Kind: Key}, global: true}
		}
		return value{global: v.global}
	}
	if v := p.local(p.peek(0).text); p.peek(0).kind == name && v != nil {
		p.take()
		if v.key {
			return value{Arg: Arg{Kind: Key}, of: v}
		}
		return value{of: v}
	}
	return p.global()
}

// global reads a name that is no variable of the script.
func (p *parser) global() value {
	t := p.peek(0)
	switch word := p.name(); {
	case word == "redis", word == "server":
		return p.server(t)
	case word == "KEYS":
		if !p.accept("[") {
			p.failAt(t, "KEYS may only be read, as KEYS[…], #KEYS, unpack(KEYS), table.concat(KEYS) or for … in ipairs(KEYS)")
		}
		p.expr()
		p.expect("]")
		return value{Arg: Arg{Kind: Key}, global: true}
	case word == "unpack" && p.sees("(", "KEYS") && p.onlyName(2):
		return p.reads(Keys)
	case harmless(word):
	case members(word) != "":
		member := p.member(t)
		switch onKeys := word == "table" && p.sees("(", "KEYS") && p.onlyName(2); {
		case onKeys && member == "unpack":
			return p.reads(Keys)
		case onKeys && member == "concat":
			return p.reads(Computed)
		}
	default:
		p.failAt(t, "%s is neither a variable of the script nor what the lab lets scripts use", word)
	}
	return value{global: true}
}

// reads reads a call on KEYS that does not change it.
func (p *parser) reads(result Kind) value {
	p.expect("(")
	p.expect("KEYS")
	for p.accept(",") {
		p.expr()
	}
	p.expect(")")
	return value{Arg: Arg{Kind: result}, called: true, global: true}
}

// member reads what a script may use of a library.
func (p *parser) member(library token) string {
	if !p.accept(".") {
		p.failAt(library, "%s may only be used as %s.NAME", library, library)
		return ""
	}
	member := p.name()
	if !slices.Contains(strings.Fields(members(library.text)), member) {
		p.failAt(library, "the lab does not let scripts use %s.%s", library, member)
	}
	return member
}

// server reads what follows redis: a call of a command, or a harmless member.
func (p *parser) server(library token) value {
	if !p.sees(".", "call") && !p.sees(".", "pcall") {
		p.member(library)
		return value{global: true}
	}
	p.take()
	how := p.take()
	if !p.sees("(") {
		p.failAt(library, "%s.%s may only be called, and with parentheses: %s.%s('NAME', …)", library, how, library, how)
		return value{}
	}
	args := p.between()
	if len(args) == 0 || args[0].Kind != Literal {
		p.failAt(library, "the command of %s.%s must be written out: %s.%s('NAME', …)", library, how, library, how)
	}
	p.calls = append(p.calls, call{library.line, args})
	return called(true)
}
