package redis

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

// dialect are scripts that gopher-lua reads otherwise than Lua 5.1, or would if nothing was done about it, and what a Redis answers.
var dialect = map[string]string{
	`return 1e15 .. ""`:                                      `"1e+15"`,
	`return 12345678901234 .. "!"`:                           `"12345678901234!"`,
	`return "at " .. 1577836800000123`:                       `"at 1.5778368000001e+15"`,
	`return tostring(10 / 3)`:                                `"3.3333333333333"`,
	`return string.format("%d %s %%s", 7.5, 1e15)`:           `"7 1e+15 %s"`,
	`return 1 / 0 .. "," .. -1 / 0`:                          `"inf,-inf"`,
	`local function two() return 1, 2 end return two() .. 3`: `"13"`,
	`local function none() end return none() .. "x"`:         `(error) ERR`,
	`return nil .. "x"`:                                      `(error) ERR`,
	`return tonumber("1e3")`:                                 `1000`,
	`return tonumber("1e")`:                                  `nil`,
	`return tonumber("1e2", 16)`:                             `482`,
	`return table.concat({1e15, "a", 0.1}, ",")`:             `"1e+15,a,0.1"`,
	`return string.sub(1577836800000123, 1, 4)`:              `"1.57"`,
	`return string.len(1e15)`:                                `5`,
	`return string.format("%s", nil)`:                        `(error) ERR`,
	`KEYS = {} return 1`:                                     `(error) ERR`,
	`redis = nil return 1`:                                   `(error) ERR`,
	`redis.call = nil return 1`:                              `(error) ERR`,
	`string.rep = nil return 1`:                              `(error) ERR`,
	`math.floor = nil return 1`:                              `(error) ERR`,
	`setmetatable(_G, nil) x = 1 return 1`:                   `(error) ERR`,
	`local s = "" for w in string.gmatch("a,b", "[^,]") do s = s .. w end return s`: `"ab"`,
	`return string.rep("ab", 2)`:                             `"abab"`,
	`local l = {} table.insert(l, _G.KEYS == KEYS) return l`: `[1]`,
	`x = 1 return 1`:                                         `(error) ERR`,
	`function f() end return 1`:                              `(error) ERR`,
	`_G.x = 1 return 1`:                                      `(error) ERR`,
	`redis.x = 1 return 1`:                                   `(error) ERR`,
	`string.x = 1 return 1`:                                  `(error) ERR`,
	`rawset(_G, "x", 1) return 1`:                            `(error) ERR`,
	`rawset(redis, "x", 1) return 1`:                         `(error) ERR`,
	`rawset(string, "x", 1) return 1`:                        `(error) ERR`,
	`return rawset({1}, 1, "y")`:                             `["y"]`,
	`table.insert(_G, "x") return 1`:                         `(error) ERR`,
	`table.insert(_G, 1, "x") return 1`:                      `(error) ERR`,
	`table.insert(redis, "x") return 1`:                      `(error) ERR`,
	`table.insert(math, "x") return 1`:                       `(error) ERR`,
	`table.insert(string, "x") return 1`:                     `(error) ERR`,
	`table.insert(table, "x") return 1`:                      `(error) ERR`,
	`table.insert(getmetatable(""), "x") return 1`:           `(error) ERR`,
	`local l = {1} table.insert(l, 2) return l`:              `[1 2]`,
	`local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end return deep(1000)`: `1000`,
	`local l = {} rawset(l, 1, "y") return l`:                                                         `["y"]`,
	`getmetatable("").__index.x = 1 return 1`:                                                         `(error) ERR`,
	`return tostring(getmetatable("").__metatable)`:                                                   `"nil"`,
	`getmetatable("").__metatable = nil return 1`:                                                     `(error) ERR`,
	`getmetatable("").__index = nil return 1`:                                                         `(error) ERR`,
	`return ("ab"):upper()`:                                                                           `"AB"`,
	`local x x = 1 return x`:                                                                          `1`,
	`ARGV[1] = "y" return ARGV[1]`:                                                                    `"y"`,
	`goto on ::on:: return 1`:                                                                         `(error) ERR`,
}

func TestScriptsAreReadAsByARedis(t *testing.T) {
	t.Parallel()
	mine := &model{}
	mine.reset()
	for source, want := range dialect {
		assert.Equal(t, want, mine.do(1, []string{"EVAL", source, "0", "x"}), source)
		assert.Empty(t, mine.server.Unknown(), source)
	}
	theirs := realRedis(t)
	for source, want := range dialect {
		require.Equal(t, want, theirs.do(1, []string{"EVAL", source, "0", "x"}), source)
	}
}

// What a script sets and where it breaks off is nothing to the next one.
func TestScriptsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	mine := &model{}
	mine.reset()
	sources := []string{
		`KEYS.mine = "k" ARGV[2] = "v" local up = {} for i = 1, 40 do up[i] = function() return i end end return up[40]()`,
		`local open = 1 local f = function() open = open + 1 error("broken off") end f()`,
		`return pcall(function() error("caught") end)`,
		`return redis.call("GET")`,
		`local function deep(n) if n > 0 then return 1 + deep(n - 1) end return 0 end return deep(1e6)`,
	}
	for _, source := range sources[:needs.Count(t, "scripts", 4, len(sources))] {
		mine.do(1, []string{"EVAL", source, "1", "key", "a"})
		assert.Equal(t, `["key" nil "x" nil]`, mine.do(1, []string{"EVAL", `return {KEYS[1], KEYS.mine or false, ARGV[1], ARGV[2] or false}`, "1", "key", "x"}), source)
		assert.Equal(t, `[1 2]`, mine.do(1, []string{"EVAL", `local n = 0 local f = function() n = n + 1 return n end return {f(), f()}`, "0"}), source)
	}
}

// What a Redis has, and the model has not, is named.
func TestWhatScriptsMayNotAskFor(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{"#!lua\nreturn 1": "#!", "return cjson.encode({1})": "cjson", "return math.random()": "math.random", "return loadstring('x = 1')()": "loadstring"} {
		for _, args := range [][]string{{"EVAL", source, "0"}, {"SCRIPT", "LOAD", source}} {
			mine := &model{}
			mine.reset()
			mine.do(1, args)
			if args[0] == "EVAL" || want == "#!" {
				assert.Contains(t, mine.server.Unknown(), want, fmt.Sprint(args))
			}
		}
	}
}
