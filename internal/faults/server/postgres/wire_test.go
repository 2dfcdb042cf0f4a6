package postgres

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPgAnswer(t *testing.T) {
	row := pgMessage(pgRow, []byte("\x00\x02\x00\x00\x00\x01a\xff\xff\xff\xff"))
	ready := pgMessage(pgReady, []byte("I"))
	read := func(messages ...[]byte) ([][]string, error) {
		return pgAnswer(bufio.NewReader(bytes.NewReader(bytes.Join(messages, nil))))
	}
	rows, err := read(pgMessage(pgAuthentication, make([]byte, 4)), row, row, ready)
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"a", ""}, {"a", ""}}, rows)
	_, err = read(pgMessage(pgError, []byte("SERROR\x00Mno such table\x00\x00")), ready)
	require.EqualError(t, err, "PostgreSQL: no such table")
	_, err = read(pgMessage(pgRow, []byte("\xff\xff")), ready)
	require.ErrorIs(t, err, errPgRow)
	_, err = read(pgMessage(pgAuthentication, []byte("\x00\x00\x00\x03")))
	require.EqualError(t, err, "PostgreSQL asks for a password")
}

// FuzzPgAnswer: no answer of a PostgreSQL makes its reader panic, and rows have no more than was sent.
func FuzzPgAnswer(f *testing.F) {
	f.Add(bytes.Join([][]byte{pgMessage(pgAuthentication, make([]byte, 4)), pgMessage(pgReady, []byte("I"))}, nil))
	f.Add(bytes.Join([][]byte{pgMessage(pgRow, []byte("\x00\x02\x00\x00\x00\x01a\xff\xff\xff\xff")), pgMessage(pgReady, nil)}, nil))
	f.Add(pgMessage(pgError, []byte("SERROR\x00Mno such table\x00\x00")))
	f.Fuzz(func(t *testing.T, sent []byte) {
		rows, err := pgAnswer(bufio.NewReader(bytes.NewReader(sent)))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		columns := 0
		for _, row := range rows {
			columns += len(row)
		}
		require.LessOrEqual(t, 4*columns, len(sent))
	})
}
