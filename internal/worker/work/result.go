package work

import "github.com/locklab/locklab/history"

func done() history.Answer { return history.Answer{Outcome: history.OK} }

func refused(why string) history.Answer { return history.Answer{Outcome: history.No, Error: why} }
