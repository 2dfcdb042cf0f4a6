package find

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// text is a text as words in their stems.
type text struct {
	all   string // with a blank on either side of each word
	words map[string]bool
}

func newText(stems []string) text {
	t := text{" " + strings.Join(stems, " ") + " ", map[string]bool{}}
	for _, word := range stems {
		t.words[word] = true
	}
	return t
}

// has says whether a word or a phrase is in the text.
func (t text) has(phrase string) bool {
	first, rest, _ := strings.Cut(phrase, " ")
	return t.words[first] && (rest == "" || strings.Contains(t.all, " "+phrase+" "))
}

// stems are the words of a text in their stems. Chinese is written without blanks: there the words are the longest of those that are known, and what is
// between them.
func stems(s string, known []string) []string {
	fillers := fillers()
	var words []string
	for _, part := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for part != "" {
			end := strings.IndexFunc(part, func(r rune) bool { return unicode.Is(unicode.Han, r) != isHan(part) })
			if end < 0 {
				end = len(part)
			}
			if isHan(part) {
				words = append(words, split(part[:end], slices.Concat(known, fillers))...)
			} else if !slices.Contains(fillers, part[:end]) {
				words = append(words, stem(part[:end]))
			}
			part = part[end:]
		}
	}
	return slices.DeleteFunc(words, func(word string) bool { return isHan(word) && slices.Contains(fillers, word) })
}

func isHan(s string) bool {
	for _, r := range s {
		return unicode.Is(unicode.Han, r)
	}
	return false
}

// split splits a text in Chinese at the known words, the longest first.
func split(s string, known []string) []string {
	var words []string
	from := 0
	for at := 0; at < len(s); {
		longest := ""
		for _, word := range known {
			if len(word) > len(longest) && strings.HasPrefix(s[at:], word) {
				longest = word
			}
		}
		if longest == "" {
			at += len(string([]rune(s[at:])[:1]))
			continue
		}
		if from < at {
			words = append(words, s[from:at])
		}
		words = append(words, longest)
		at += len(longest)
		from = at
	}
	if from < len(s) {
		words = append(words, s[from:])
	}
	return words
}

// stem takes the usual endings off a word in English. It is the same word's stem that counts, not that it is a word: expire, expires, expired and
// expiring are expir.
func stem(word string) string {
	for _, ending := range []string{"s", "ed", "ing", "er", "or"} {
		root, cut := strings.CutSuffix(word, ending)
		if cut && len(root) >= 3 && strings.ContainsAny(root, "aeiouy") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") {
			word = root
		}
	}
	if n := len(word); n > 3 && word[n-1] == word[n-2] && !strings.ContainsAny(word[n-1:], "aeioul") {
		word = word[:n-1] // stopped, stop
	}
	if n := len(word); n > 3 {
		word = strings.TrimSuffix(word, "e")
		word = strings.TrimSuffix(word, "y")
		word = strings.TrimSuffix(word, "i")
	}
	return word
}

// fillers are words without a meaning of their own, read once: every text needs them. They are dropped everywhere, so that a phrase is found in whatever
// words it is put.
var fillers = sync.OnceValue(func() []string {
	return strings.Fields(`a an the of in on at by to for from with is are was were be been being it its this that these those there then than as so and or
		does do did has have had will would can could may might must should which who whom when where while i you he she we they them their our your my his her some
		any also just only like very if but into about because get got gets
		的 了 是 在 和 与 就 会 把 被 又 后 时 个 有 也 都 而 但 它 他 其 该 如果 这个 那个 一个 此时 这时 然后 已经 之后 之前 因为 所以 我们 他们 可以 进行 可能 发生 导致`)
})

// silent are the stems of words that matter in a phrase only.
func silent() []string {
	return []string{"not", "no", "noth", "without", "what", "how", "why", "out", "up", "over", "off", "back", "c1", "c2", "c3", "client", "1", "2", "3", "b", "c", "d", "问题", "情况", "什么", "怎么", "为什么"}
}
