import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

/** An open lock, with a session and a connection to the resource of its own. Its operations run in one thread, whose lock it is. */
final class Handle {
    private final String name;
    private final Lock lock;
    private final Output output;
    private final CuratorFramework curator;
    private final Lock.Mutex mutex;
    private final Resource resource; // null: the lab has named none
    private final ExecutorService thread = Executors.newSingleThreadExecutor(task -> {
        Thread one = new Thread(task);
        one.setDaemon(true);
        return one;
    });

    private volatile Session session; // the latest
    private int holds;   // belongs to the thread
    private boolean gaveUp; // belongs to the thread: the outcome of its latest release is unknown
    private long fence;  // of its hold
    private boolean held; // guarded by this: its user believes that it holds the lock
    private ConnectionState state = ConnectionState.SUSPENDED; // guarded by this

    Handle(String name, Lock lock, Output output, String servers, String key, int leaseMillis, Resource resource) throws Exception {
        this.name = name;
        this.lock = lock;
        this.output = output;
        this.resource = resource;
        curator = CuratorFrameworkFactory.builder()
                .connectString(servers)
                .sessionTimeoutMs(leaseMillis)
                .connectionTimeoutMs(leaseMillis)
                .retryPolicy(new ExponentialBackoffRetry(100, 3))
                .zookeeperFactory((at, timeout, watcher, readOnly) -> session = new Session(at, timeout, watcher))
                .ensembleTracker(false) // it would learn the servers' own addresses, past the lab's
                .build();
        curator.getConnectionStateListenable().addListener((client, now) -> changed(now));
        curator.start();
        try {
            if (!curator.blockUntilConnected(30, TimeUnit.SECONDS)) {
                throw new IOException("no session within 30 s");
            }
            if (resource != null) {
                resource.connect();
            }
        } catch (Exception failed) {
            shut();
            throw failed;
        }
        mutex = new Lock.Mutex(curator, key);
    }

    /** Takes in a state of the connection. What it means for the hold is told at once. */
    private synchronized void changed(ConnectionState now) {
        state = now;
        tellLoss();
    }

    /** SUSPENDED is no loss yet: it ends what is known to be valid. */
    private synchronized void tellLoss() {
        if (!held || !lock.ends(state)) {
            return;
        }
        held = false;
        if (state == ConnectionState.LOST) {
            output.write(Output.JSON.createObjectNode().put("lost", name).put("why", "Curator says LOST"));
        } else {
            output.write(Output.JSON.createObjectNode().put("valid", name).put("valid_ms", 0));
        }
    }

    /** Runs an operation after those that were asked before. */
    void start(Operation operation, JsonNode request) {
        thread.execute(() -> {
            if (operation.begin()) {
                perform(operation, request);
                operation.end();
            }
        });
    }

    private void perform(Operation operation, JsonNode request) {
        switch (request.path("do").asText()) {
            case "acquire":
                acquire(operation, request.path("within_ms").asDouble());
                return;
            case "release":
                operation.answer(release());
                return;
            case "work":
                operation.answer(work(request));
                return;
            default: // close: the session goes on, as it does when a thread ends
                operation.answer(Output.answer("ok"));
                thread.shutdown();
        }
    }

    private void acquire(Operation operation, double withinMillis) {
        ObjectNode answer;
        boolean acquired = false;
        try {
            acquired = mutex.acquire((long) Math.ceil(withinMillis), TimeUnit.MILLISECONDS);
            answer = Output.answer(acquired ? "ok" : "no");
            if (acquired) {
                holds++;
                gaveUp = false;
                if (lock == Lock.FENCED) {
                    fence = mutex.number();
                    answer.put("fence", fence);
                }
            }
        } catch (KeeperException.NoNodeException refused) {
            answer = Output.failed("no", refused);
        } catch (Exception failed) {
            answer = Output.failed("unknown", failed);
        }
        synchronized (this) { // a loss is told behind the answer
            if (!operation.answer(answer) || !acquired) {
                return;
            }
            held = true;
            tellLoss();
        }
    }

    private ObjectNode release() {
        synchronized (this) {
            held = held && holds > 1;
        }
        holds = Math.max(0, holds - 1);
        try {
            mutex.release();
            return Output.answer("ok");
        } catch (IllegalMonitorStateException notOurs) {
            // After a release that failed Curator goes on deleting the node in the background, and forgets whose it was.
            return Output.failed(gaveUp ? "unknown" : "no", notOurs);
        } catch (Exception failed) {
            gaveUp = true;
            return Output.failed("unknown", failed);
        }
    }

    private ObjectNode work(JsonNode request) {
        String workload = request.path("workload").asText("counter");
        if (resource == null) {
            return Output.answer("no").put("error", "init named no resource");
        }
        if (!workload.equals("counter")) {
            return Output.answer("no").put("unsupported", true).put("error", "unknown workload " + workload);
        }
        return Work.increment(resource, request.path("key").asText(), lock == Lock.FENCED ? fence : 0);
    }

    /** Ends the wait of the operation under way, which then answers. */
    void interrupt(Operation operation) {
        if (resource != null && operation.works()) {
            resource.hangUp();
        }
        operation.interrupt();
    }

    /** Returns when the server answers, over a new connection if the old one was broken. */
    void reconnect() throws InterruptedException {
        while (true) {
            try {
                curator.getZookeeperClient().getZooKeeper().exists("/", false);
                return;
            } catch (InterruptedException ended) {
                throw ended;
            } catch (Exception notYet) {
                Thread.sleep(5);
            }
        }
    }

    /** Ends the connections. The session goes on at the server until its time-out, as after the end of the process. */
    void shut() throws IOException {
        thread.shutdownNow();
        if (resource != null) {
            resource.hangUp();
        }
        session.abandon();
        curator.close();
    }

    /** A session that can be left to itself. */
    private static final class Session extends ZooKeeper {
        Session(String at, int timeoutMillis, Watcher watcher) throws IOException {
            super(at, timeoutMillis, watcher);
        }

        void abandon() throws IOException {
            cnxn.disconnect();
        }
    }
}
