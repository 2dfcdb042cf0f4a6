import java.io.*;
import java.lang.management.ManagementFactory;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;

/**
 * The protocol of Lock Lab for clients in Java (docs/protocol.md): it needs a JDK of version 17 or newer, and nothing else. Extend {@link Lock}, and call
 * {@link #serve}. All connections to the lock's servers pass a proxy within this process: so a cancelled operation stops waiting, whatever the library does.
 */
public final class Locklab {
    /** Where a lock is to be: its servers as host:port, its key there, and for how long it is leased. */
    public record Place(List<String> servers, String key, Duration lease) {}

    /** A lock. Whatever its methods throw means that the outcome is unknown. Those with a body are optional; without ping many scenarios do not apply. */
    public abstract static class Lock {
        volatile Handle handle; // before an operation

        /** Null: another client holds it; else the fields of the answer, which may have valid_ms and fence: Map.of(). */
        public abstract Map<String, ?> acquire() throws Exception;
        /** In the library's own way, such as a queue. Without it acquire is tried again and again. */
        public Map<String, ?> acquireWithin(Duration time) throws Exception { return null; }
        /** False: it was not, or no longer, ours. So with renew and check. */
        public abstract boolean release() throws Exception;
        public boolean renew() throws Exception { return false; }
        public boolean check() throws Exception { return false; }
        /** Returns when the connections work. */
        public void ping() throws Exception {}
        public void close() throws Exception {}
        /** Ends all that runs, as the end of the process would; nothing is released. It follows close. With it one process serves many cells. */
        public void abandon() throws Exception {}
        /** Says whether nothing beside the lock waits for a server, nor its operation for anything but a message. */
        public boolean idle() throws Exception { return true; }
        /** From another thread: has the operation under way give up. True: it does, and cleans up, over the connections that it has. */
        public boolean cancel() { return false; }
        /** What its keys on its server are called, if not as the one that it is given. */
        public List<String> keys() { return List.of(); }

        /** From any thread: it is no longer held. A loss that may be told late names its hold: what hold() was during its acquire; else 0. */
        protected final void lost(String why, long hold) { handle.notice(() -> Map.of("lost", handle.name, "why", String.valueOf(why), "hold", hold)); }
        /** From any thread: it is valid for so long from now. */
        protected final void valid(Duration time) {
            long began = System.nanoTime();
            handle.notice(() -> Map.of("valid", handle.name, "valid_ms", (time.toNanos() - (System.nanoTime() - began)) / 1e6));
        }
        protected final long hold() { return handle.hold; }
    }

    public interface Maker { Lock make(Place place) throws Exception; }

    private static final OutputStream OUT = new FileOutputStream(FileDescriptor.out);
    private static final int VERSION = 2;
    static final ScheduledExecutorService LATER = Executors.newSingleThreadScheduledExecutor(Locklab::background); // not the common pool, which locks may fill

    static Map<String, Object> answer(String outcome, String error) {
        Map<String, Object> fields = new LinkedHashMap<>(Map.of("outcome", outcome));
        if (error != null) fields.put("error", error);
        return fields;
    }

    static Map<String, Object> unsupported(String why) {
        Map<String, Object> fields = answer("no", why);
        fields.put("unsupported", true);
        return fields;
    }

    static Map<String, Object> said(boolean ok) { return answer(ok ? "ok" : "no", null); }

    static synchronized void write(Map<String, ?> message) {
        try {
            OUT.write((Json.write(message) + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException gone) {
            Runtime.getRuntime().halt(0);
        }
    }

    static Socket connect(String address) throws IOException {
        int colon = address.lastIndexOf(':');
        Socket socket = new Socket(address.substring(address.lastIndexOf('/') + 1, colon), Integer.parseInt(address.substring(colon + 1)));
        socket.setTcpNoDelay(true);
        return socket;
    }

    static void hangUp(Closeable... all) {
        for (Closeable one : all) {
            try {
                if (one != null) one.close();
            } catch (IOException broken) { /* it broke by itself */ }
        }
    }

    static Thread background(Runnable run) {
        Thread thread = new Thread(run);
        thread.setDaemon(true);
        return thread;
    }

    private final Map<String, Object> hello;
    private final String scheme; // with which the addresses of its servers begin
    private final Maker maker;
    private final Map<String, Handle> handles = new ConcurrentHashMap<>();
    private final Map<Object, Operation> operations = new ConcurrentHashMap<>(); // under way, by id
    private final Set<Handle> opened = ConcurrentHashMap.newKeySet(); // those that are being closed, too
    private Map<String, Object> init = Map.of();

    private Locklab(Maker maker, Map<String, Object> hello) {
        this.maker = maker;
        this.hello = hello;
        scheme = (String) hello.getOrDefault("scheme", "");
        hello.remove("scheme");
    }

    /** The answer; null: another thread gives it. */
    private Map<String, Object> serve(Map<String, Object> request) throws Exception {
        String verb = (String) request.get("do");
        Handle handle = handles.get(request.getOrDefault("handle", ""));
        Map<String, Object> answer;
        switch (verb) {
            case "init":
                for (Object server : (List<?>) request.get("servers")) { // first: the lab asks a client that says no in version 1, too
                    if (!server.toString().startsWith(scheme)) return answer("no", "this lock needs servers at " + scheme + ", not at " + server);
                }
                if (Json.number(request, "version") != VERSION) return answer("no", "this client speaks version 2 of the protocol");
                init = request;
                (answer = said(true)).put("hello", hello);
                return answer;
            case "open":
                Handle made = new Handle(maker, init, request);
                handles.put(made.name, made);
                opened.add(made);
                (answer = said(true)).put("keys", made.lock.keys());
                answer.put("need", hello.getOrDefault("need", "all"));
                return answer;
            case "idle": case "reset": case "reconnect":
                if (!knows(verb)) break;
                background(() -> finish(request, handle)).start();
                return null;
            case "cancel":
                Operation operation = operations.get(request.get("op"));
                return operation != null && operation.cancel() ? said(true) : answer("no", "not under way");
            case "acquire": case "release": case "work": case "close": case "renew": case "check":
                if (List.of("renew", "check").contains(verb) && !knows(verb) || request.containsKey("wait")) break;
                if (handle == null) return answer("no", "this handle is not open");
                if (verb.equals("close")) handles.remove(handle.name);
                Operation begun = new Operation(handle, request, operations);
                operations.put(request.get("id"), begun);
                handle.turns.execute(() -> {
                    handle.run(begun);
                    if (handle.turns.isShutdown()) opened.remove(handle);
                });
                return null;
            case "exit":
                return said(true);
        }
        return unsupported("unknown verb, or way to wait: " + verb);
    }

    private boolean knows(String verb) { return ((List<?>) hello.get("verbs")).contains(verb); }

    /** Carries out what takes its time, and is no operation of a handle. */
    private void finish(Map<String, Object> request, Handle handle) {
        Map<String, Object> answer = said(true);
        try {
            switch ((String) request.get("do")) {
                case "idle":
                    while (!handle.lock.idle()) Thread.sleep(1);
                    break;
                case "reset":
                    for (Handle one : opened) one.abandon();
                    opened.clear();
                    handles.clear();
                    break;
                default:
                    for (Handle one : handles.values()) one.reconnect();
            }
        } catch (Throwable failed) {
            answer = answer("no", failed.toString());
        }
        answer.put("id", request.get("id"));
        write(answer);
    }

    /** Tells the lab when its host did not run this process: what is late then is not the lock's fault. */
    private static void watch() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        while (true) {
            long began = System.nanoTime(), used = system.getProcessCpuTime();
            try {
                Thread.sleep(10);
            } catch (InterruptedException ended) {
                return;
            }
            double late = (System.nanoTime() - began - (system.getProcessCpuTime() - used)) / 1e6 - 10;
            if (late > 25) write(Map.of("late_ms", late));
        }
    }

    static boolean overrides(Class<?> lock, String method) {
        return Arrays.stream(lock.getMethods()).anyMatch(m -> m.getName().equals(method) && m.getDeclaringClass() != Lock.class);
    }

    /** Serves until the lab ends it. traits are fields of hello: name, about, promises, renews, servers, fair …; need, which is answered to open; and
     * scheme, with which the addresses of its servers begin if they are no Redis: zookeeper:// */
    public static void serve(Class<? extends Lock> lock, Maker maker, Map<String, ?> traits) throws IOException {
        System.setOut(System.err); // standard output is the lab's
        Map<String, Object> hello = new LinkedHashMap<>(Map.of("version", VERSION, "separate", true));
        List<String> verbs = new ArrayList<>();
        Map.of("renew", "renew", "check", "check", "idle", "idle", "ping", "reconnect", "abandon", "reset")
                .forEach((method, verb) -> { if (overrides(lock, method)) verbs.add(verb); });
        hello.put("verbs", verbs);
        hello.putAll(traits);
        Locklab client = new Locklab(maker, hello);
        background(Locklab::watch).start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> request = Json.read(line), answer;
            try {
                answer = client.serve(request);
            } catch (Throwable failed) { // also what a library lacks, such as a class
                answer = answer("no", failed.toString());
            }
            if (answer == null) continue;
            answer.put("id", request.get("id"));
            write(answer);
            if ("exit".equals(request.get("do"))) break;
        }
        Runtime.getRuntime().halt(0); // whatever still waits for a reply is not waited for
    }
}
