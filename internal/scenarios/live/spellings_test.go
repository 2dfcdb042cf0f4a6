//go:build linux || darwin

package live_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// speller writes scripts that try to reach foreign keys, and scripts that do not. The same seed writes the same script.
type speller struct {
	*rand.Rand
	own, foreign string // a key of the client's, and one of others
}

func (s speller) pick(from ...string) string { return from[s.IntN(len(from))] }

func (s speller) chance(percent int) bool { return s.IntN(100) < percent }

// script is a script, with what goes into KEYS and ARGV.
func (s speller) script() (source string, keys, argv []string) {
	keys, argv = []string{s.own, s.own + ":b"}[:1+s.IntN(2)], []string{s.foreign, "DEL", "1", "FLUSHALL"}
	switch s.IntN(12) {
	case 0:
		source = s.within()
	case 1, 2:
		source = s.prelude() + s.within()
	case 3, 4:
		source = s.mutated(s.within() + s.pick(" ", "\n", ";", " do ") + s.pick(s.within(), s.attack()))
	case 5:
		source = s.mutated(s.attack())
	case 6:
		source = s.pick("local key=KEYS[1] repeat local key=", "local n repeat local key=", "repeat ") + s.key() + " " + s.attack() + " until " + s.attack() + " or true"
		if s.chance(70) {
			source = "local key=KEYS[1] repeat local key=ARGV[1] until redis.call(" + s.pick("'GET'", "'DEL'", "'SET'") + "," + s.pick("key", s.key()) + ",1) or true"
		}
	case 7, 8:
		source = s.prelude() + s.attack()
	default:
		source = s.attack()
	}
	return s.blanks(source), keys, argv
}

// within is a script as locks send it.
func (s speller) within() string {
	return s.pick(
		`if redis.call("GET", KEYS[1]) == ARGV[3] then return redis.call("DEL", KEYS[1]) end return 0`,
		`local key = KEYS[1] local value = redis.call('get', key) if value == ARGV[1] then redis.call('pexpire', key, ARGV[3]) end`,
		`for i, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "PX", 60000) end return #KEYS`,
		`local n = 0 for _, key in pairs(KEYS) do n = n + redis.pcall('del', key) end return n`,
		`local args = {} for i = 0, 2 do table.insert(args, i) table.insert(args, 'm' .. i) end redis.call('del', KEYS[1]) redis.call('zadd', KEYS[1], unpack(args))`,
		`redis.call('mset', KEYS[1], ARGV[1], KEYS[#KEYS], ARGV[2]) return redis.call('mget', unpack(KEYS))`,
		`local function wake() redis.call("PUBLISH", KEYS[1] .. ":" .. ARGV[1], "0") end wake() return redis.call("PTTL", KEYS[1])`,
		`local t = redis.call('TIME') return redis.call('set', KEYS[1], t[1] .. t[2], 'px', 60000)`,
		`redis.call('del', KEYS[1]) redis.call('rpush', KEYS[1], ARGV[1]) for _, e in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do local key = e end`,
		`local key, value = KEYS[1], ARGV[1] do local key = value end return redis.call('set', key, value)`,
		`local ok, e = pcall(function() return redis.call('incr', KEYS[1]) end) return redis.error_reply('E ' .. tostring(e))`,
		`local a = KEYS[1] local b = a local c = {b} return redis.call('setrange', b, 10, c[1])`,
		`redis.log(redis.LOG_DEBUG, cjson.encode({KEYS[1]})) return redis.sha1hex(KEYS[1])`,
	)
}

// prelude is what could make harmless words mean something else.
func (s speller) prelude() string {
	f := s.word(s.foreign)
	return s.pick("KEYS[1]="+f+" ", "KEYS={"+f+"} ", "local KEYS={"+f+"} ", "local K=KEYS K[1]="+f+" ", "table.insert(KEYS,1,"+f+") ", "rawset(KEYS,1,"+f+") ",
		"KEYS[#KEYS+1]="+f+" ", "setmetatable(KEYS,{__index=function() return "+f+" end}) ", "local _,k=ipairs(KEYS) k[1]="+f+" ", "table.sort(KEYS) ",
		"local function ipairs() return next,{"+f+"} end ", "local unpack=function() return "+f+" end ", "local function KEYS() end ",
		"(function(K) K[1]="+f+" end)(KEYS) ", "for _,K in pairs({KEYS}) do K[1]="+f+" end ", "local t={K=KEYS} t.K[1]="+f+" ", "table.remove(KEYS) ",
		"local r=redis ", "local c=redis.call ", "local redis={call=redis.call} ", "redis.call=redis.pcall ", "string.lower=redis.call ", "tonumber=redis.call ",
		"local _ENV={KEYS={"+f+"},redis=redis} ", "setfenv(1,{redis=redis,KEYS={"+f+"}}) ", "goto x ::x:: ", "local key=KEYS[1] key="+f+" ",
		"local key=KEYS[1] local function set() key="+f+" end set() ", "local key,other=(function() return 1,"+f+" end)() ", "KEYS[1],KEYS[2]="+f+","+f+" ",
		"local key=KEYS[1] local key="+f+" ", "local key=KEYS[1] function key() end ", "getmetatable('').__index=redis ", "_G.KEYS={"+f+"} ",
		"local key=KEYS[1] for _,v in ipairs({"+f+"}) do key=v end ", "#!lua\n", "#!lua flags=allow-cross-slot-keys\n", "end KEYS={"+f+"} do ",
		"debug.setmetatable(KEYS,{__index=function() return "+f+" end}) ", "table.foreach(KEYS,function(i) KEYS[i]="+f+" end) ", "loadstring('KEYS[1]=...')("+f+") ")
}

// attack calls a command on a foreign key, or on all keys.
func (s speller) attack() string {
	f := s.key()
	commands := [][]string{
		{"DEL", f}, {"GET", f}, {"SET", f, "'x'"}, {"UNLINK", "KEYS[1]", f}, {"FLUSHALL"}, {"FLUSHDB"}, {"KEYS", "'*'"}, {"SCAN", "0"}, {"RANDOMKEY"},
		{"RENAME", f, "KEYS[1]"}, {"RENAME", "KEYS[1]", f}, {"COPY", f, "KEYS[1]", "'REPLACE'"}, {"COPY", "KEYS[1]", f, "'REPLACE'"}, {"SWAPDB", "0", "1"},
		{"SORT", "KEYS[1]", "'BY'", "'nosort'", "'GET'", f}, {"MSET", "KEYS[1]", "1", f, "1"}, {"MGET", "KEYS[1]", f}, {"SUNIONSTORE", "KEYS[1]", f},
		{"BITOP", "'NOT'", "KEYS[1]", f}, {"BITOP", "'NOT'", f, "KEYS[1]"}, {"ZUNIONSTORE", "KEYS[1]", "1", f}, {"ZUNIONSTORE", f, "1", "KEYS[1]"},
		{"XREAD", "'STREAMS'", f, "0"}, {"OBJECT", "'ENCODING'", f}, {"MEMORY", "'USAGE'", f}, {"DUMP", f}, {"PUBLISH", f, "'x'"}, {"SELECT", "1"},
		{"MOVE", f, "1"}, {"PERSIST", f}, {"EXPIRE", f, "1"}, {"GETRANGE", f, "0", "-1"}, {"GETDEL", f}, {"APPEND", f, "'x'"}, {"HGETALL", f}, {"LRANGE", f, "0", "-1"},
		{"SMEMBERS", f}, {"ZRANGE", f, "0", "-1"}, {"RPOPLPUSH", f, "KEYS[1]"}, {"SMOVE", f, "KEYS[1]", "'x'"}, {"GEORADIUS", "KEYS[1]", "0", "0", "1", "'m'", "'STORE'", f},
		{"LMPOP", "1", f, "'LEFT'"}, {"LMPOP", "ARGV[3]", f, "'LEFT'"}, {"BLPOP", f, "KEYS[1]", "0"}, {"SINTERCARD", "2", "KEYS[1]", f}, {"EXISTS", f}, {"TYPE", f},
		{"DEL", "unpack({" + f + "})"}, {"DEL", "unpack(ARGV)"}, {"DEL", "KEYS[1]", "(function() return " + f + " end)()"}, {"DEL", "key"}, {"GET", "key"},
		{"SETRANGE", f, "1", "'x'"}, {"SETBIT", f, "1", "1"}, {"GETSET", f, "'x'"}, {"ZRANGESTORE", "KEYS[1]", f, "0", "-1"}, {"TOUCH", "KEYS[1]", f}, {"LPUSH", f, "'x'"},
	}
	args := commands[s.IntN(len(commands))]
	command, rest := s.word(args[0]), strings.Join(args[1:], "~,~")
	all := command
	if rest != "" {
		all += "~,~" + rest
	}
	text := strings.NewReplacer("~", " ", "'", `\'`, "\n", " ").Replace(all)
	return s.pick(
		s.call()+"~(~"+all+"~)", s.call()+"~(~"+all+"~)", "return~"+s.call()+"~(~"+all+"~)", "local r0 = "+s.call()+"~(~"+all+"~) return r0",
		"return redis.call("+all+")", "return redis.pcall("+all+")", "local x = {redis.call("+all+")} return x[1]", "return (redis.call("+all+"))",
		"return redis.call"+command, "return redis.call[["+args[0]+"]]", "redis.call{"+all+"}", "return redis.call(unpack({"+all+"}))",
		"local a={"+all+"} return "+s.call()+"(unpack(a))", "return pcall(redis.call,"+all+")", "local ok,r0=pcall(redis.call,"+all+") return r0",
		"return select(2,xpcall(function() return "+s.call()+"("+all+") end,tostring))", "return (function(...) return redis.call(...) end)("+all+")",
		"local function c(...) return redis.call(...) end return c("+all+")", "local function c(n,...) return redis.call(n,...) end return c("+all+")",
		"return loadstring('return redis.call("+text+")')()", "return load(function() return nil end)", "return loadstring(string.dump(function() return 1 end))()",
		"return coroutine.wrap(redis.call)("+all+")", "for k,v in pairs(redis) do if k=='call' then return v("+all+") end end",
		"table.foreach(redis,function(k,v) if k=='call' then v("+all+") end end)", "return setmetatable({},{__index=redis}).call("+all+")",
		"local m=setmetatable({},{__call=function(_,...) return redis.call(...) end}) return m("+all+")", "return setmetatable({},{__concat=redis.call}) .. 'x'",
		"for _,key in ipairs({"+f+"}) do "+s.call()+"("+all+") end", "for i,key in ipairs(KEYS) do key="+f+" redis.call("+all+") end",
		"local key=KEYS[1] local function g(key) return redis.call("+all+") end return g("+f+")",
		"do local key=KEYS[1] end return redis.call("+all+")", "do local _VERSION=KEYS[1] end return redis.call('GET',_VERSION)", "return redis.call(ARGV[2],ARGV[1])",
		"return redis.call(ARGV[4])", "return redis.call(string.upper('del'),ARGV[1])", "return redis.call(#KEYS>0 and 'DEL' or 'GET',"+f+")",
		"return redis.call('EVAL',[[return redis.call('FLUSHALL')]],0)", "return redis.call('EVAL',[[return redis.call('GET',KEYS[1])]],1,"+f+")",
		"return redis.call('SCRIPT','FLUSH')", "return redis.call('FUNCTION','LOAD','x')", "redis.register_function('f',redis.call)",
		"return redis.call('GET',KEYS[1]..'')", "return redis.call('GET',(KEYS[1]:gsub('.+',ARGV[1])))", "return redis.call('GET',KEYS[1]:gsub('.+',ARGV[1]))",
		"-- \rreturn redis.call("+all+")", "--[[ ]] return redis.call("+all+") --[==[ ]]", "--[==[ ]] ]==] return redis.call("+all+")",
		"return [[ ]] .. redis.call("+all+")", "return '\\\\' .. redis.call("+all+") .. '\\''", "return 1 end function g() return redis.call("+all+")",
		"end redis.call("+all+") do", "return redis.call('SORT',KEYS[1],'BY','nosort','GET','*')", "return _G.cjson.encode(redis.call("+all+"))",
	)
}

// call is a way to name redis.call.
func (s speller) call() string {
	return s.pick("redis.call", "redis.pcall", "redis~.~call", "redis['call']", `redis["\99all"]`, "redis[~[[call]]~]", "(redis).call", "(redis.call)", "((redis)['call'])",
		"_G.redis.call", "_G['re'..'dis'].call", "_G['redis']['pcall']", "getfenv().redis.call", "getfenv(0)['redis'].call", "rawget(redis,'call')", "({redis.call})[1]",
		"select(1,redis.call)", "c", "r.call", "r['call']", "(redis or 0).call", "(c or redis.call)", "server.call", "tonumber", "string.lower", "redis.sha1hex",
		"debug.getregistry()[2].redis.call", "getmetatable('').__index.call", "('').call", "(function() return redis.call end)()", "require('redis').call", "redis:call")
}

// key is a way to name a foreign key.
func (s speller) key() string {
	f := s.word(s.foreign)
	return s.pick(f, f, f, "ARGV[1]", "ARGV[~1~]", "unpack(ARGV)", "("+f+")", "KEYS[1] and "+f, "KEYS[9] or "+f, "(KEYS[1]:sub(1,0)).."+f, "KEYS[9]", "key", "KEYS[1]",
		"({"+f+"})[1]", "select(1,"+f+")", "tostring("+f+")", "string.format('%s',"+f+")", "(KEYS[1]:gsub('^.*$',"+f+"))", "#KEYS and "+f, "not nil and "+f, "...",
		"table.concat({"+f+"})", "unpack(KEYS,9,9) or "+f, "k", "K[1]", "_VERSION")
}

// word is a way to write a string.
func (s speller) word(text string) string {
	at := s.IntN(len(text))
	escaped := ""
	for _, c := range []byte(text) {
		escaped += fmt.Sprintf(`\%03d`, c)
	}
	if s.chance(50) {
		return "'" + text + "'"
	}
	return s.pick("'"+text+"'", `"`+text+`"`, "[["+text+"]]", "[==["+text+"]==]", "[[\n"+text+"]]", "'"+escaped+"'",
		fmt.Sprintf(`"%s\%d%s"`, text[:at], text[at], text[at+1:]), "'"+text[:at]+"'~..~'"+text[at:]+"'", "('"+text+"')", `"`+strings.ToLower(text)+`"`,
		"string.reverse('"+reversed(text)+"')", "'"+text[:at]+"\\\n'", fmt.Sprintf(`'%s\x%02x%s'`, text[:at], text[at], text[at+1:]))
}

func reversed(text string) string {
	b := []byte(text)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

var tokens = regexp.MustCompile(`[A-Za-z_]+|[0-9]+|'[^']*'|"[^"]*"|\.\.|==|\s+|.`)

// mutated replaces, removes, repeats and swaps tokens. None of them begins a loop that might never end.
func (s speller) mutated(source string) string {
	parts := tokens.FindAllString(source, -1)
	for range 1 + s.IntN(3) {
		i, j := s.IntN(len(parts)), s.IntN(len(parts))
		switch s.IntN(6) {
		case 0:
			parts[i], parts[j] = parts[j], parts[i]
		case 1:
			parts[i] = ""
		case 2:
			parts[i] += parts[j]
		default:
			parts[i] = s.pick(s.key(), s.call(), s.word(s.foreign), "KEYS", "ARGV", "redis", "call", "key", "..", "or", "and", ",", "(", ")", "{", "}", "[", "]", "=", ".",
				"local", "function", "end", "do", "in", "ipairs", "unpack", "'DEL'", "'COPY'", "1", "2", "not", "#", ":", "\n", "return", "_", "value", "...", "--")
		}
	}
	return strings.Join(parts, "")
}

// blanks fills the places between tokens.
func (s speller) blanks(source string) string {
	var b strings.Builder
	for _, c := range source {
		if c == '~' {
			b.WriteString(s.pick("", "", " ", "\n", "\t", "\r", "\v", "--x\n", "--[[x]]", "--[==[ ]] ]==]", "--[[\n]] ", "--\r"))
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}
