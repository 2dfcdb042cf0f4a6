import java.io.IOException;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.LockInternals;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

/** What each lock of Curator's has of its own: a session. */
abstract class CuratorSession extends Locklab.Lock {
    static final String SCHEME = "zookeeper://";
    final CuratorFramework curator;
    volatile boolean gaveUp; // a release has begun, and its outcome is unknown
    private ConnectionState state = ConnectionState.SUSPENDED; // guarded by this, as the next one is
    private boolean held; // the lock's user believes that it is held
    private volatile Session session; // the latest

    CuratorSession(Locklab.Place place) throws Exception {
        int lease = (int) place.lease().toMillis();
        curator = CuratorFrameworkFactory.builder()
                .connectString(String.join(",", place.servers()).replace(SCHEME, ""))
                .sessionTimeoutMs(lease)
                .connectionTimeoutMs(lease)
                .retryPolicy(new ExponentialBackoffRetry(100, 3))
                .zookeeperFactory((at, timeout, watcher, readOnly) -> session = new Session(at, timeout, watcher))
                .ensembleTracker(false) // it would learn the servers' own addresses, past the lab's
                .build();
        curator.getConnectionStateListenable().addListener((client, now) -> changed(now));
        curator.start();
        if (!curator.blockUntilConnected(30, TimeUnit.SECONDS)) {
            abandon();
            throw new IOException("no session within 30 s");
        }
    }

    /** Says whether a state of the connection ends the hold, and if so, notices the loss. */
    abstract boolean endsHold(ConnectionState now);

    private synchronized void changed(ConnectionState now) {
        state = now;
        held = held && (gaveUp || !endsHold(now));
    }

    /** Begins a hold. A loss is told behind the answer. */
    final synchronized void acquired() {
        gaveUp = false;
        held = true;
        changed(state);
    }

    /** Takes in a release: whether the lock is still held, by an earlier acquire. */
    final synchronized void released(boolean still) {
        gaveUp = false;
        held = held && still;
        changed(state);
    }

    @Override public Map<String, ?> acquire() throws Exception { return acquireWithin(Duration.ZERO); }

    /** Returns when the server answers, over a new connection if the old one was broken. */
    @Override public void ping() throws Exception { curator.getZookeeperClient().getZooKeeper().exists("/", false); }

    @Override public boolean cancel() {
        Thread acquires = working("acquire");
        if (acquires != null) acquires.interrupt();
        return acquires != null;
    }

    /** An acquire may wait for the end of its predecessor's node, with nothing else to do. */
    @Override public boolean idle() {
        Thread acquires = working("acquire");
        if (acquires == null) return true;
        var caller = Arrays.stream(acquires.getStackTrace()).map(StackTraceElement::getClassName).dropWhile(Object.class.getName()::equals).findFirst();
        return caller.equals(Optional.of(LockInternals.class.getName()));
    }

    /** The session goes on at the server until its time-out, as after the end of the process. */
    @Override public void abandon() throws Exception {
        if (session != null) session.abandon();
        curator.close();
    }

    /** A session that can be left to itself. */
    private static final class Session extends ZooKeeper {
        Session(String at, int timeoutMillis, Watcher watcher) throws IOException { super(at, timeoutMillis, watcher); }

        void abandon() throws IOException { cnxn.disconnect(); }
    }
}
