package lua

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTokens(t *testing.T) {
	for source, want := range map[string]string{
		"a=1":                      "a = 1",
		"'a\\'b' \"\\065\\10\\n\"": "a'b A\n\n",
		"[[x]] [==[\ny]]]=]\n]==]": "x y]]]=]\n",
		"a --b\rc --[[ d\n]] e --[=[ ]] ]=] f --[==g\nh": "a c e f h",
		"1.5e+3 .5 0xff 3..2 x":                          "",
		"1.5e+3 .5 0xff x":                               "1.5e+3 .5 0xff x",
		"a..b ... == ~= <=":                              "a .. b ... == ~= <=",
		`"\x41"`:                                         "",
		`"a\z` + "\n b\"":                                "",
		"'a\nb'":                                         "",
		"[[ [[ ]]":                                       "",
		"--[[ no end":                                    "",
		"a::b":                                           "a : : b",
		"ä":                                              "",
		"a ~ b":                                          "",
		"\x1bLua":                                        "",
		`"\300"`:                                         "",
	} {
		l := lexer{rest: []byte(source), line: 1}
		tokens, err := l.all()
		var texts []string
		for _, next := range tokens[:len(tokens)-1] {
			texts = append(texts, next.text)
		}
		if want == "" {
			assert.Error(t, err, source)
			continue
		}
		require.NoError(t, err, source)
		assert.Equal(t, want, strings.Join(texts, " "), source)
	}
}

// What is known of the arguments of the last call: l for a literal, K for an element of KEYS, k for what contains one, S for any number, KK for any number
// of elements of KEYS, - for what is computed.
func TestWhatIsKnownOfArguments(t *testing.T) {
	for source, want := range map[string]string{
		"redis.call('GET', KEYS[1], ARGV[1])":                                             "lK-",
		"server.pcall(\"GET\", KEYS[#KEYS], [[x]], 12, -1)":                               "lKll-",
		"redis . call --[[here]] ( 'GET', KEYS [ 1 ] )":                                   "lK",
		"redis.call('GET', (KEYS[1]))":                                                    "lK",
		"redis.call('GET', KEYS[1] .. 'x')":                                               "lk",
		"redis.call('GET', 'x' .. KEYS[1] .. ARGV[1])":                                    "lk",
		"redis.call('GET', KEYS[1] .. ARGV[1] or 'x')":                                    "l-",
		"redis.call('GET', KEYS[1] or 'x')":                                               "l-",
		"redis.call('GET', ARGV[1] and KEYS[1])":                                          "l-",
		"redis.call('GET', #KEYS)":                                                        "l-",
		"redis.call('GET', #KEYS[1])":                                                     "l-",
		"redis.call('GET', KEYS[1]:sub(2))":                                               "lS",
		"redis.call('GET', KEYS[1]:sub(2), 1)":                                            "l-l",
		"redis.call('DEL', unpack(KEYS))":                                                 "lKK",
		"redis.call('DEL', table.unpack(KEYS, 2))":                                        "lKK",
		"redis.call('DEL', unpack(KEYS), 'x')":                                            "lKl",
		"redis.call('DEL', (unpack(KEYS)))":                                               "lK",
		"redis.call('DEL', unpack(ARGV))":                                                 "lS",
		"redis.call('DEL', table.concat(KEYS, ':'))":                                      "l-",
		"redis.call('DEL', ...)":                                                          "lS",
		"local key = KEYS[1] redis.call('GET', key)":                                      "lK",
		"local key, other = KEYS[1], ARGV[1] redis.call('GET', key, other)":               "lK-",
		"local key = KEYS[1] local again = key redis.call('GET', again)":                  "lK",
		"local key = KEYS[1] local again = key key = 'x' redis.call('GET', again)":        "l-",
		"local key = KEYS[1] redis.call('GET', key) key = 'x'":                            "l-",
		"local key = KEYS[1] local function f() key = 'x' end f() redis.call('GET', key)": "l-",
		"local key = KEYS[1] local function f(key) redis.call('GET', key) end":            "l-",
		"local key = KEYS[1] function key() end redis.call('GET', key)":                   "l-",
		"local key = KEYS[1] do local key = 'x' redis.call('GET', key) end":               "l-",
		"local key = KEYS[1] do local key = 'x' end redis.call('GET', key)":               "lK",
		"local key = KEYS[1] repeat local key = 'x' until redis.call('GET', key)":         "l-",
		"local key = KEYS[1] for key = 1, 2 do redis.call('GET', key) end":                "l-",
		"local key = 'x' local key = KEYS[1], key redis.call('GET', key)":                 "lK",
		"local a, key = (function() return 1, 'x' end)() redis.call('GET', key)":          "l-",
		"for _, key in ipairs(KEYS) do redis.call('GET', key) end":                        "lK",
		"for i, key in pairs(KEYS) do redis.call('GET', i) end":                           "l-",
		"for i, key in ipairs(KEYS) do key = 'x' redis.call('GET', key) end":              "l-",
		"for i, key in ipairs(ARGV) do redis.call('GET', key) end":                        "l-",
		"for i = 1, #KEYS do redis.call('GET', KEYS[i]) end":                              "lK",
		"local t = {KEYS[1]} redis.call('GET', t[1])":                                     "l-",
		"redis.call('SET', KEYS[1], redis.call('GET', KEYS[2]))":                          "lKS",
		"#!lua flags=no-writes\nreturn redis.call('GET', KEYS[1])":                        "lK",
		"redis.call('SETRANGE', KEYS[1], 1e3, 0x10, 007)":                                 "lK--l",
		"local t = {} t.x, t[1] = 1, KEYS[1] redis.call('GET', KEYS[1])":                  "lK",
	} {
		calls, err := Calls([]byte(source))
		require.NoError(t, err, source)
		require.NotEmpty(t, calls, source)
		got := ""
		for _, arg := range calls[len(calls)-1].Args {
			got += []string{"-", "l", "K", "k", "KK", "S"}[arg.Kind]
		}
		assert.Equal(t, want, got, source)
	}
}

func TestWhatCannotBeFollowed(t *testing.T) {
	for source, why := range map[string]string{
		`redis.call"FLUSHALL"`:                       "line 1: redis.call may only be called, and with parentheses",
		"redis.call[[FLUSHALL]]":                     "with parentheses",
		"redis.call{'FLUSHALL'}":                     "with parentheses",
		"local c=redis.call; return c('DEL','user')": "with parentheses",
		"pcall(redis.call, 'FLUSHALL')":              "with parentheses",
		"(redis).call('FLUSHALL')":                   "redis may only be used as redis.NAME",
		"(redis.call)('FLUSHALL')":                   "with parentheses",
		"redis['call']('FLUSHALL')":                  "redis may only be used",
		"redis:call('FLUSHALL')":                     "redis may only be used",
		"local r = redis":                            "redis may only be used",
		"redis.call(ARGV[1])":                        "must be written out",
		"redis.call('FLUSH' .. 'ALL')":               "must be written out",
		"redis.call(('FLUSHALL'))":                   "must be written out",
		"redis.call()":                               "must be written out",
		"redis.call(unpack(ARGV))":                   "must be written out",
		"redis.set_repl(redis.REPL_NONE)":            "does not let scripts use redis.set_repl",
		"redis.call = tostring":                      "with parentheses",
		"redis.sha1hex = tostring":                   "an assignment to what all scripts share",
		"string.format = tostring":                   "an assignment to what all scripts share",
		"tonumber = tostring":                        "an assignment to what all scripts share",
		"function tonumber() end":                    "all scripts share",
		"function string.format() end":               "all scripts share",
		"x = 1":                                      "x is neither",
		"\n\nreturn load('return 1')()":              "line 3: load is neither",
		"return loadstring('return 1')()":            "loadstring is neither",
		"return _G.redis":                            "_G is neither",
		"return getfenv().redis":                     "getfenv is neither",
		"setfenv(1, {})":                             "setfenv is neither",
		"return debug.getregistry()":                 "debug is neither",
		"return getmetatable('').__index":            "getmetatable is neither",
		"return setmetatable({}, {})":                "setmetatable is neither",
		"rawset(KEYS, 1, 'x')":                       "rawset is neither",
		"return require('x')":                        "require is neither",
		"return coroutine.wrap(tostring)":            "coroutine is neither",
		"return _VERSION":                            "_VERSION is neither",
		"return newproxy(true)":                      "newproxy is neither",
		"return string.dump(tostring)":               "string.dump",
		"local s = string":                           "string may only be used",
		"cjson.encode_max_depth(1)":                  "cjson.encode_max_depth",
		"do local _VERSION = KEYS[1] end redis.call('DEL', _VERSION)": "_VERSION is neither",
		"KEYS[1] = 'x'":                                        "or to KEYS",
		"local a a, KEYS[1] = 1, 'x'":                          "or to KEYS",
		"KEYS[1].x = 'x'":                                      "or to KEYS",
		"KEYS = {'x'}":                                         "KEYS may only be read",
		"local K = KEYS":                                       "KEYS may only be read",
		"local KEYS = {'x'}":                                   "a variable must not be named KEYS",
		"local function KEYS() end":                            "must not be named KEYS",
		"for _, KEYS in ipairs(ARGV) do end":                   "must not be named KEYS",
		"local function f(KEYS) end":                           "must not be named KEYS",
		"local redis = {}":                                     "must not be named redis",
		"local _ENV = {KEYS = {'x'}}":                          "must not be named _ENV",
		"table.sort(KEYS)":                                     "KEYS may only be read",
		"table.insert(KEYS, 1, 'x')":                           "KEYS may only be read",
		"table.remove(KEYS)":                                   "KEYS may only be read",
		"local f, s = ipairs(KEYS) s[1] = 'x'":                 "KEYS may only be read",
		"for i, k in (ipairs(KEYS)) do end":                    "KEYS may only be read",
		"for i, k in next, KEYS do end":                        "KEYS may only be read",
		"for i, k in f(ipairs(KEYS)) do end":                   "f is neither",
		"local ipairs = pcall for i, k in ipairs(KEYS) do end": "KEYS may only be read",
		"local unpack = pcall return unpack(KEYS)":             "KEYS may only be read",
		"return (KEYS)[1]":                                     "KEYS may only be read",
		"return #(KEYS)":                                       "KEYS may only be read",
		"return KEYS.x":                                        "KEYS may only be read",
		"return KEYS":                                          "KEYS may only be read",
		"return unpack(KEYS or {})":                            "or stands where ) is expected",
		"return {KEYS}":                                        "KEYS may only be read",
		"return 1 end redis.call('FLUSHALL') do local x = 1":   "end is out of place",
		"goto x":              "goto is neither",
		"local x <const> = 1": "< stands where",
		"return 1 // 2":       "/ stands where",
		"return " + strings.Repeat("(", 300) + "1": "more than 200 levels",
		strings.Repeat("do ", 300):                 "more than 200 levels",
		strings.Repeat("local x ", 2000):           "more than 1000 variables",
		"return " + strings.Repeat(" ", maxScript): "more than the 262144",
		"return '\x00'":                            "zero byte",
		"#!js\nreturn 1":                           "stands where",
		"if x then":                                "x is neither",
		"for":                                      "the end of the script stands where a name is expected",
		"local t = {":                              "the end of the script stands",
		"return '":                                 "does not end",
	} {
		_, err := Calls([]byte(source))
		if assert.Error(t, err, source) {
			assert.Contains(t, err.Error(), why, source)
		}
	}
}
