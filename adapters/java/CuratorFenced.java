import java.time.Duration;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/** The mutex of a user who takes the number of its node for a fence. */
final class CuratorFenced extends CuratorLock {
    private Numbered numbered;

    CuratorFenced(Locklab.Place place) throws Exception { super(place); }

    @Override InterProcessMutex mutex(String path) { return numbered = new Numbered(curator, path); }

    @Override public Map<String, ?> acquireWithin(Duration time) throws Exception {
        return super.acquireWithin(time) == null ? null : Map.of("fence", numbered.number());
    }

    private static final class Numbered extends InterProcessMutex {
        private static final int DIGITS = 10;

        Numbered(CuratorFramework client, String path) { super(client, path); }

        /** The number of the calling thread's node, counted from 1. */
        long number() {
            String node = getLockPath();
            return Long.parseLong(node.substring(node.length() - DIGITS)) + 1;
        }
    }
}
