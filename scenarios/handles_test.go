package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNamesOfHandles(t *testing.T) {
	for name, good := range map[string]bool{
		"C1.b": true, "C1.a": false /* C1 itself */, "C1/2": true, "C1.b/2": true, "C1.long-name_2/99": true,
		"C1/1": false, "C1/x": false, "C1/0": false, "C1/100": false, "C1/02": false, "C1/+2": false, "C1/": false, "C1.": false, "C1./2": false, "C1/2.b": false, "C1.b.c": false,
		"C1/2/3": false, "C1.2": false,
	} {
		_, err := Parse("x.lab", []byte("lease 1s\nclients C1 "+name+"\n"+name+" acquire\n"))
		assert.Equal(t, good, err == nil, "%s: %v", name, err)
	}
	_, err := Parse("x.lab", []byte("lease 1s\nclients C1 C1.a\nother-key C1.a\nC1 acquire\nC1.a acquire\n"))
	assert.NoError(t, err, "one thread may lock two keys by one lock object")
}
