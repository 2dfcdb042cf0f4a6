import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.*;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.*;

/** What each lock of Curator's has of its own: a session. */
abstract class CuratorSession extends Locklab.Lock {
    final CuratorFramework curator;
    private volatile Session session; // the latest

    CuratorSession(Locklab.Place place) throws Exception {
        int lease = (int) place.lease().toMillis();
        curator = CuratorFrameworkFactory.builder()
                .connectString(String.join(",", place.servers()).replace("zookeeper://", ""))
                .sessionTimeoutMs(lease)
                .connectionTimeoutMs(lease)
                .retryPolicy(new ExponentialBackoffRetry(100, 3))
                .zookeeperFactory((at, timeout, watcher, readOnly) -> session = new Session(at, timeout, watcher))
                .ensembleTracker(false) // it would learn the servers' own addresses, past the lab's
                .build();
        curator.getConnectionStateListenable().addListener((client, now) -> changed(now));
        curator.start();
        if (!curator.blockUntilConnected(30, TimeUnit.SECONDS)) {
            close();
            throw new IOException("no session within 30 s");
        }
    }

    /** Takes in a state of the connection. */
    abstract void changed(ConnectionState now);

    /** Returns when the server answers, over a new connection if the old one was broken. */
    @Override public void ping() throws Exception { curator.getZookeeperClient().getZooKeeper().exists("/", false); }

    /** The session goes on at the server until its time-out, as after the end of the process. */
    @Override public void close() throws Exception {
        if (session != null) session.abandon();
        curator.close();
    }

    /** A session that can be left to itself. */
    private static final class Session extends ZooKeeper {
        Session(String at, int timeoutMillis, Watcher watcher) throws IOException { super(at, timeoutMillis, watcher); }

        void abandon() throws IOException { cnxn.disconnect(); }
    }
}
