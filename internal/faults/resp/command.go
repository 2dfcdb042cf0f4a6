package resp

import "strconv"

// AppendCommand appends a command as clients send it.
func AppendCommand(to []byte, args ...string) []byte {
	to = appendHeader(to, KindArray, len(args))
	for _, arg := range args {
		to = appendHeader(to, KindString, len(arg))
		to = append(append(to, arg...), "\r\n"...)
	}
	return to
}

func appendHeader(to []byte, kind Kind, n int) []byte {
	return append(strconv.AppendInt(append(to, byte(kind)), int64(n), 10), "\r\n"...)
}
