package lua

import "slices"

// reserved are names that no variable may have: a reader, or another version of Lua, would take them for what they are not.
func reserved(name string) bool {
	return slices.Contains([]string{"redis", "server", "KEYS", "_ENV", "_G"}, name)
}

// harmless says whether a script may use a function that all scripts share. By those that are missing it could reach the server, or change
// what other scripts use: load, getfenv, setmetatable, rawset, debug …
func harmless(name string) bool {
	switch name {
	case "ARGV", "assert", "error", "ipairs", "next", "pairs", "pcall", "select", "tonumber", "tostring", "type", "unpack", "xpcall":
		return true
	}
	return false
}

// members are the functions and numbers that a script may use of a library, or "" if it may not use the library.
func members(library string) string {
	switch library {
	case "redis", "server":
		return "sha1hex error_reply status_reply log setresp replicate_commands LOG_DEBUG LOG_VERBOSE LOG_NOTICE LOG_WARNING REDIS_VERSION REDIS_VERSION_NUM"
	case "string":
		return "byte char find format gmatch gsub len lower match rep reverse sub upper"
	case "table":
		return "concat getn insert maxn pack remove sort unpack"
	case "math":
		return "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min modf pi pow rad random randomseed sin sinh " +
			"sqrt tan tanh"
	case "bit":
		return "arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex"
	case "cjson":
		return "decode encode null"
	case "cmsgpack":
		return "pack unpack unpack_limit unpack_one"
	case "struct":
		return "pack size unpack"
	case "os":
		return "clock"
	}
	return ""
}
