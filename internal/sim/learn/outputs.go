package learn

import (
	"encoding/binary"

	"github.com/locklab/locklab/internal/sim/process"
)

// outputs are what a lock reports in its steps, by number; 0 is nothing.
type outputs struct {
	Reported [][]process.Notice
	numbers  map[string]uint32 // by the numbers of the notices
	notices  map[process.Notice]uint64
}

func newOutputs() outputs {
	return outputs{Reported: [][]process.Notice{nil}, numbers: map[string]uint32{"": 0}, notices: map[process.Notice]uint64{}}
}

// outputNumber numbers what a lock reports in a step.
func (o *outputs) outputNumber(notices []process.Notice) uint32 {
	var text []byte
	for _, n := range notices {
		number, known := o.notices[n]
		if !known {
			number = uint64(len(o.notices))
			o.notices[n] = number
		}
		text = binary.AppendUvarint(text, number)
	}
	if number, known := o.numbers[string(text)]; known {
		return number
	}
	number := uint32(len(o.Reported))
	o.Reported = append(o.Reported, notices)
	o.numbers[string(text)] = number
	return number
}
