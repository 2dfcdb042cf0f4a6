package sim

// stackRoom is what goroutines of a schedule need, about.
const stackRoom = 12 << 10

// growStack gives a goroutine the stack that it is going to need, while there is little on it. To grow it bit by bit copies it several times, with
// more and more on it. at is any index: it keeps the compiler from seeing that the room is not used.
//
//go:noinline
func growStack(at int) byte {
	var room [stackRoom]byte
	room[at] = 1
	return room[at/2]
}
