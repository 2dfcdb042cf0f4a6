package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// MaxMS is the longest duration, in milliseconds, that a message may carry: a little over three years.
const MaxMS = 1e11

// MinRate and MaxRate bound the rate of a client's clock. In a request, no rate (zero) stands for 1.
const (
	MinRate = 0.001
	MaxRate = 1000
)

// MS is a duration in the protocol's unit.
func MS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Duration is a number of milliseconds as a duration. The decoders make sure that it fits.
func Duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// DecodeMessage reads one line that a client wrote, with or without its line end.
func DecodeMessage(line []byte) (Message, error) { return decode[Message](line) }

// DecodeRequest reads one line that the lab wrote. An unknown verb is no error: the client answers that it is unsupported.
func DecodeRequest(line []byte) (Request, error) { return decode[Request](line) }

func decode[T interface{ check() error }](line []byte) (T, error) {
	var v, none T
	err := decodeObject(line, &v)
	if err == nil {
		err = v.check()
	}
	if err != nil {
		return none, err
	}
	return v, nil
}

func decodeObject(line []byte, into any) error {
	if !bytes.HasPrefix(bytes.TrimLeft(line, " \t\r\n"), []byte("{")) {
		return errors.New("not a JSON object")
	}
	err := json.Unmarshal(line, into)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) && mistyped.Field != "" {
		field := strings.Replace(mistyped.Field, ".Contract.", ".", 1) // the embedded struct is none of the client's business
		return fmt.Errorf("%s is %s, and must be %s", field, valueName(mistyped.Value), kindName(mistyped.Type))
	}
	return err
}

// valueName says what a field was, without the words of encoding/json: the author of a client need not know Go.
func valueName(value string) string {
	switch value {
	case "string", "number":
		return "a " + value
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	default:
		return strings.TrimPrefix(value, "number ")
	}
}

// kindName says what a field must be.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number of 64 bits"
	case reflect.Float64:
		return "a number of 64 bits"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

func (m Message) check() error {
	if m.ValidMS != nil {
		if err := within("valid_ms", *m.ValidMS, -MaxMS, MaxMS); err != nil {
			return err
		}
	}
	if err := within("late_ms", m.LateMS, 0, MaxMS); err != nil {
		return err
	}
	switch {
	case m.ID < 0:
		return fmt.Errorf("id is %d, and ids count from 1", m.ID)
	case m.ID > 0:
		return m.checkReply()
	case m.Lost != "" && m.Valid != "":
		return errors.New("a notice names either lost or valid")
	case m.LateMS > 0 && (m.Lost != "" || m.Valid != ""):
		return errors.New("a notice of lateness names no lock")
	case m.Hold < 0 || m.Hold > 0 && m.Lost == "":
		return errors.New("hold names, beside lost, the id of an acquire")
	case m.Valid != "" && m.ValidMS == nil:
		return errors.New("a notice of validity has no valid_ms")
	case m.Lost == "" && m.Valid == "" && m.LateMS == 0:
		return errors.New("neither a reply (id) nor a notice (lost, valid, late_ms)")
	}
	return nil
}

func (m Message) checkReply() error {
	if m.Lost != "" || m.Valid != "" || m.LateMS > 0 {
		return errors.New("a notice has no id")
	}
	if m.Need != "" && m.Need != All && m.Need != Majority {
		return fmt.Errorf("need is %q, and must be %s or %s", clip(m.Need), All, Majority)
	}
	if m.Fence != nil && *m.Fence <= 0 && m.Outcome == OK {
		return fmt.Errorf("fence is %d, and must be a whole number above 0; a lock without fences leaves it out", *m.Fence)
	}
	switch m.Outcome {
	case OK, No, Unknown:
		return nil
	case "":
		if m.Unsupported {
			return nil
		}
		return errors.New("a reply has no outcome")
	}
	return fmt.Errorf("outcome is %q, and must be ok, no or unknown", clip(m.Outcome))
}

func (r Request) check() error {
	if r.ID <= 0 {
		return fmt.Errorf("id is %d, and ids count from 1", r.ID)
	}
	if r.Do == "" {
		return errors.New("a request has no verb (do)")
	}
	if r.Rate != 0 && r.Rate < MinRate {
		return fmt.Errorf("rate is %g, and must be at least %g", r.Rate, MinRate)
	}
	return errors.Join(
		within("timeout_ms", r.TimeoutMS, 0, MaxMS),
		within("lease_ms", r.LeaseMS, 0, MaxMS),
		within("within_ms", r.WithinMS, 0, MaxMS),
		within("offset_ms", r.OffsetMS, -MaxMS, MaxMS),
		within("rate", r.Rate, 0, MaxRate),
	)
}

func within(field string, value, low, high float64) error {
	if value < low || value > high {
		return fmt.Errorf("%s is %g, and must be between %g and %g", field, value, low, high)
	}
	return nil
}

// clipAt bounds the client's text that an error repeats.
const clipAt = 80

func clip(text string) string {
	if len(text) <= clipAt {
		return text
	}
	return text[:clipAt] + "…"
}
