package hostile

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

// writes writes to standard output.
func writes(text string) func(*scene) error {
	return func(s *scene) error {
		_, err := io.WriteString(s.stdout, text)
		return err
	}
}

func writesEndlessly(text string) func(*scene) error {
	return func(s *scene) error {
		repeat(s.stdout, text, 1<<40)
		return nil
	}
}

func largeAnswer(s *scene) error {
	fmt.Fprintf(s.stdout, `{"id":%d,"outcome":"ok","error":"`, s.request.ID)
	repeat(s.stdout, "x", 100<<20)
	fmt.Fprintln(s.stdout, `"}`)
	return nil
}

// answer answers a request with ok.
func (s *scene) answer(id int64) error {
	_, err := fmt.Fprintf(s.stdout, `{"id":%d,"outcome":"ok"}`+"\n", id)
	return err
}

func answers(id int64) func(*scene) error {
	return func(s *scene) error { return s.answer(id) }
}

func answersNext(s *scene) error { return s.answer(s.request.ID + 1) }

func answersTwice(s *scene) error {
	if err := s.answer(s.request.ID); err != nil {
		return err
	}
	return s.answer(s.request.ID)
}

func closesStdout(s *scene) error {
	if err := s.stdout.Close(); err != nil {
		return err
	}
	return livesOn(s)
}

// closesStdin has the present request served, so that the lab sends another.
func closesStdin(s *scene) error {
	if err := s.stdin.Close(); err != nil {
		return err
	}
	if err := s.goOn(); err != nil {
		return err
	}
	return livesOn(s)
}

func floodsStderr(*scene) error {
	repeat(os.Stderr, "0123456789abcde\n", 8<<20/16)
	return nil
}

// leavesDescendantInGroup starts a process that sleeps for a day and keeps the pipes.
func leavesDescendantInGroup(s *scene) error {
	sleeper := exec.Command("sleep", "86400")
	sleeper.Stdin, sleeper.Stdout, sleeper.Stderr = s.stdin, s.stdout, os.Stderr
	return sleeper.Start()
}
