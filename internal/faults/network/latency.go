package network

import "github.com/Shopify/toxiproxy/v2/toxics"

// queued is how many chunks a delayed stream of one connection takes in, of up to 32 KiB each, before it is read no further. The 1024 of toxiproxy
// would let one connection have the lab keep 64 MiB.
const queued = 16

// latency is toxiproxy's toxic of that name with a shorter queue.
type latency struct{ toxics.LatencyToxic }

func (*latency) GetBufferSize() int { return queued }
