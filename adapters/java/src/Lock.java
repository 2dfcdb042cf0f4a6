import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;

/** The locks of this program: Curator's InterProcessMutex as it comes, and two ways to use it. */
enum Lock {
    CURATOR("curator", "tells its user of a loss when Curator does: LOST"),
    SUSPENDED("curator-suspended", "ends its hold when Curator says SUSPENDED, as Curator's documentation advises"),
    FENCED("curator-fenced", "hands out its node's number, counted from 1, as a fence");

    final String word;
    final String about;

    Lock(String word, String about) {
        this.word = word;
        this.about = about;
    }

    static Lock named(String word) {
        for (Lock lock : values()) {
            if (lock.word.equals(word)) {
                return lock;
            }
        }
        return null;
    }

    /** Says whether a state of the connection ends a hold. */
    boolean ends(ConnectionState state) {
        return state == ConnectionState.LOST || this == SUSPENDED && state == ConnectionState.SUSPENDED;
    }

    /** An InterProcessMutex that lets the number of its node be read. */
    static final class Mutex extends InterProcessMutex {
        private static final int DIGITS = 10;

        Mutex(CuratorFramework client, String path) {
            super(client, path);
        }

        /** The number of the calling thread's node, counted from 1. */
        long number() {
            String node = getLockPath();
            return Long.parseLong(node.substring(node.length() - DIGITS)) + 1;
        }
    }
}
