import java.io.IOException;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.LockInternals;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

/** A client of the lab for Apache Curator's InterProcessMutex, on the lab's kit for Java. Each lock has a session of its own. */
public final class CuratorClient extends Locklab.Lock {
    private static final String SCHEME = "zookeeper://";
    private static final Map<String, String> LOCKS = new LinkedHashMap<>();

    static {
        LOCKS.put("curator", "tells its user of a loss when Curator does: LOST");
        LOCKS.put("curator-suspended", "ends its hold when Curator says SUSPENDED, as Curator's documentation advises");
        LOCKS.put("curator-fenced", "hands out its node's number, counted from 1, as a fence");
    }

    private final String name;
    private final CuratorFramework curator;
    private final Mutex mutex;
    private volatile Session session; // the latest
    private volatile Thread acquires; // the thread in whose acquire this is
    private boolean gaveUp; // the outcome of its latest release is unknown
    private int holds;
    private boolean held; // guarded by this: its user believes that it holds the lock
    private ConnectionState state = ConnectionState.SUSPENDED; // guarded by this

    private CuratorClient(String name, Locklab.Place place) throws Exception {
        this.name = name;
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
        mutex = new Mutex(curator, place.key());
        if (!curator.blockUntilConnected(30, TimeUnit.SECONDS)) {
            abandon();
            throw new IOException("no session within 30 s");
        }
    }

    @Override public Map<String, ?> acquire() throws Exception { return acquireWithin(Duration.ZERO); }

    @Override
    public Map<String, ?> acquireWithin(Duration time) throws Exception {
        acquires = Thread.currentThread();
        try {
            if (!mutex.acquire((time.toNanos() + 999_999) / 1_000_000, TimeUnit.MILLISECONDS)) return null;
        } catch (KeeperException.NoNodeException refused) {
            return null;
        } finally {
            acquires = null;
        }
        holds++;
        gaveUp = false;
        Map<String, ?> fields = name.equals("curator-fenced") ? Map.of("fence", mutex.number()) : Map.of();
        synchronized (this) {
            held = true;
            tellLoss(); // behind the answer
        }
        return fields;
    }

    @Override
    public boolean release() throws Exception {
        holds = Math.max(0, holds - 1);
        synchronized (this) {
            held = held && holds > 0;
        }
        try {
            mutex.release();
            return true;
        } catch (IllegalMonitorStateException notOurs) {
            // After a release that failed Curator goes on deleting the node in the background, and forgets whose it was.
            if (gaveUp) throw notOurs;
            return false;
        } catch (Exception failed) {
            gaveUp = true;
            throw failed;
        }
    }

    /** Takes in a state of the connection. What it means for the hold is told at once. */
    private synchronized void changed(ConnectionState now) {
        state = now;
        tellLoss();
    }

    /** SUSPENDED is no loss yet: it ends what is known to be valid. */
    private void tellLoss() {
        boolean suspended = name.equals("curator-suspended") && state == ConnectionState.SUSPENDED;
        if (!held || !suspended && state != ConnectionState.LOST) return;
        held = false;
        if (suspended) valid(Duration.ZERO);
        else lost("Curator says LOST", 0);
    }

    /** Returns when the server answers, over a new connection if the old one was broken. */
    @Override public void ping() throws Exception { curator.getZookeeperClient().getZooKeeper().exists("/", false); }

    @Override
    public boolean cancel() {
        Thread thread = acquires;
        if (thread != null) thread.interrupt();
        return thread != null;
    }

    /** An acquire may wait for the end of its predecessor's node, with nothing else to do. */
    @Override
    public boolean idle() {
        Thread thread = acquires;
        if (thread == null) return true;
        StackTraceElement[] calls = thread.getStackTrace();
        int caller = 0;
        while (caller < calls.length && calls[caller].getClassName().equals(Object.class.getName())) caller++;
        return caller > 0 && caller < calls.length && calls[caller].getClassName().equals(LockInternals.class.getName());
    }

    /** The session goes on at the server until its time-out, as after the end of the process. */
    @Override
    public void abandon() throws Exception {
        if (session != null) session.abandon();
        curator.close();
    }

    /** A mutex that lets the number of its node be read. */
    private static final class Mutex extends InterProcessMutex {
        private static final int DIGITS = 10;

        Mutex(CuratorFramework client, String path) { super(client, path); }

        /** The number of the calling thread's node, counted from 1. */
        long number() {
            String node = getLockPath();
            return Long.parseLong(node.substring(node.length() - DIGITS)) + 1;
        }
    }

    /** A session that can be left to itself. */
    private static final class Session extends ZooKeeper {
        Session(String at, int timeoutMillis, Watcher watcher) throws IOException { super(at, timeoutMillis, watcher); }

        void abandon() throws IOException { cnxn.disconnect(); }
    }

    public static void main(String[] args) throws IOException {
        String name = args.length == 2 && args[0].equals("-lock") ? args[1] : args.length == 0 ? "curator" : "";
        if (!LOCKS.containsKey(name)) {
            System.err.println("curator-client: usage: client [-lock LOCK]");
            LOCKS.forEach((lock, about) -> System.err.println("  " + lock + ": " + about));
            System.exit(64);
        }
        List<String> promises = new ArrayList<>(List.of("exclusion", "release-by-owner", "crash-safe", "tells-loss", "ignores-clocks", "fair", "reentrant"));
        if (name.equals("curator-suspended")) promises.add("tells-in-time");
        if (name.equals("curator-fenced")) promises.add("fencing");
        Locklab.serve(CuratorClient.class, place -> new CuratorClient(name, place), Map.of("name", name, "about", "Apache Curator's InterProcessMutex: "
                + LOCKS.get(name), "promises", promises, "fair", true, "reentrant", true, "resends", true, "scheme", SCHEME));
    }
}
