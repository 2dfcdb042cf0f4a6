package explore

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// plainly makes what a lock stores easier to read: without quotes, and with moments as the story counts them.
func plainly(text string) string {
	text = strings.NewReplacer(`\"`, "", `"`, "", ",", " ", "{", "", "}", "").Replace(text)
	return moments().ReplaceAllStringFunc(text, func(digits string) string {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return digits
		}
		at := time.UnixMilli(n)
		if len(digits) == len("1577836800") {
			at = time.Unix(n, 0)
		}
		moment := at.Sub(base) + start
		if moment < -time.Hour || moment > time.Hour {
			return digits
		}
		return clock(moment)
	})
}

// moments finds what may be a time in seconds or milliseconds.
func moments() *regexp.Regexp { return regexp.MustCompile(`\b\d{10}(\d{3})?\b`) }
