import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.KeeperException;

/** Curator's mutex as it comes. Its user learns of a loss when Curator says LOST. */
class CuratorLock extends CuratorHold {
    private final InterProcessMutex mutex;

    CuratorLock(Locklab.Place place) throws Exception {
        super(place);
        mutex = mutex(place.key());
    }

    InterProcessMutex mutex(String path) { return new InterProcessMutex(curator, path); }

    @Override public Map<String, ?> acquire() throws Exception { return acquireWithin(Duration.ZERO); }

    @Override public Map<String, ?> acquireWithin(Duration time) throws Exception {
        acquires = Thread.currentThread();
        try {
            if (!mutex.acquire((time.toNanos() + 999_999) / 1_000_000, TimeUnit.MILLISECONDS)) return null;
        } catch (KeeperException.NoNodeException refused) {
            return null;
        } finally {
            acquires = null;
        }
        settled(true, true);
        return Map.of();
    }

    @Override public boolean release() throws Exception {
        if (!mutex.isOwnedByCurrentThread() && !gaveUp) return false;
        gaveUp = true; // after a release that failed Curator goes on deleting the node in the background, forgets whose it was, and throws
        mutex.release();
        settled(false, mutex.isOwnedByCurrentThread());
        return true;
    }

    @Override boolean endsHold(ConnectionState now) {
        if (now == ConnectionState.LOST) lost("Curator says LOST", 0);
        return now == ConnectionState.LOST;
    }
}
