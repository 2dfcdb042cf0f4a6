/* The lock of article 000 v1, A3 (getset), by hand: SETNX, GET, GETSET; released by GET and DEL. The same protocol that
 * `lab explore getset` runs as Go code, for a comparison of verdicts and of time.
 *
 *   CLIENTS   how many
 *   CRASHES   how many of them may die while they hold
 *
 * A value is the number of a stamp: which client made it, at its first or its second look at the clock. Time passes only when
 * nobody else can do anything: then every stamp that is there has expired.
 */
#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#define NONE 255
#define STAMPS 16

byte value = NONE;          /* under the lock's key */
bool expired[STAMPS];       /* by everybody's clock */
byte owner = NONE;          /* who was told that it has the lock, by the value that was put there last for it */
byte holders = 0;
byte crashes = 0;
byte changes = 0;           /* a try that was refused is made again when something has changed */

proctype Client(byte me) {
	byte seen, old, first, mine, met;
	first = 2 * me;
again:
	met = changes;
	mine = first;
	atomic {
		if
		:: value == NONE -> value = mine; changes++; goto taken
		:: else
		fi
	}
	seen = value;                                         /* GET */
	if
	:: seen == NONE -> goto again                         /* released meanwhile: way (1) */
	:: seen != NONE && !expired[seen] -> goto refused
	:: else
	fi;
	mine = first + 1;
	atomic {                                              /* GETSET */
		old = value;
		/* the bug: whatever is there is replaced, also what a live owner has put there */
		assert(old == seen || old == NONE || owner == NONE);
		value = mine;
		changes++
	}
	if
	:: old == seen || old == NONE -> goto taken
	:: else -> goto refused
	fi;
refused:
	changes != met -> goto again;
taken:
	atomic {
		owner = me; holders++;
		if
		:: crashes < CRASHES -> crashes++; owner = NONE; holders--; goto dead
		:: skip
		fi
	}
	assert(holders == 1);
	atomic { owner = NONE; holders-- }                    /* the release is called */
	seen = value;                                         /* GET */
	if
	:: seen == mine -> atomic { value = NONE; changes++ } /* DEL */
	:: else
	fi;
dead:
end:
	skip
}

/* Time passes when nothing else can happen. */
proctype Time() {
	byte stamp;
end:
	do
	:: timeout && value != NONE && !expired[value] -> atomic { expired[value] = true; changes++ }
	od
}

init {
	byte n = 0;
	atomic {
		do
		:: n < CLIENTS -> run Client(n); n++
		:: else -> break
		od;
		run Time()
	}
}
