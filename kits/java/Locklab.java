import java.io.*;
import java.lang.management.ManagementFactory;
import java.net.Socket;
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
        /** In the library's own way, such as a queue; or again and again. */
        public Map<String, ?> acquireWithin(Duration time) throws Exception {
            long began = System.nanoTime();
            Map<String, ?> got = acquire();
            while (got == null && System.nanoTime() - began < time.toNanos()) {
                Thread.sleep(20);
                if (handle.cancelled) throw new InterruptedException("cancelled");
                got = acquire();
            }
            return got;
        }
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
        /** From any thread: the one in which an operation of that verb is under way; null: none is. */
        protected final Thread working(String verb) { return handle.working(verb); }
    }

    public interface Maker { Lock make(Place place) throws Exception; }

    interface Task { void run() throws Exception; }

    private static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    private static final ExecutorService THREADS = Executors.newCachedThreadPool(Locklab::daemon);

    final Maker maker;
    final Set<Handle> handles = ConcurrentHashMap.newKeySet(); // those that are being closed, too
    private final Set<String> verbs = new HashSet<>(Set.of("init", "open", "acquire", "release", "work", "cancel", "close", "exit"));
    private final Map<String, Object> hello;
    private Map<String, Object> init = Map.of();

    private Locklab(Class<? extends Lock> lock, Maker maker, Map<String, ?> traits) {
        this.maker = maker;
        List<String> own = new ArrayList<>();
        Map.of("renew", "renew", "check", "check", "idle", "idle", "ping", "reconnect", "abandon", "reset").forEach((method, verb) -> {
            if (Arrays.stream(lock.getMethods()).anyMatch(m -> m.getName().equals(method) && m.getDeclaringClass() != Lock.class)) own.add(verb);
        });
        verbs.addAll(own);
        hello = new HashMap<>(Map.of("version", 2, "separate", true, "verbs", own));
        hello.putAll(traits);
    }

    /** An answer with more fields: the name and the value of each. */
    static Map<String, Object> answer(String outcome, Object... more) {
        Map<String, Object> fields = new HashMap<>(Map.of("outcome", outcome));
        for (int i = 0; i < more.length; i += 2) fields.put((String) more[i], more[i + 1]);
        return fields;
    }

    static Map<String, Object> said(boolean ok) { return answer(ok ? "ok" : "no"); }

    static Duration time(Map<String, Object> request, String field) {
        return Duration.ofNanos((long) (((Number) request.getOrDefault(field, 0)).doubleValue() * 1e6));
    }

    static void write(Map<String, ?> message) { OUT.print(Json.write(message) + "\n"); }

    static Socket connect(String address) throws IOException {
        int colon = address.lastIndexOf(':');
        Socket socket = new Socket(address.substring(address.lastIndexOf('/') + 1, colon), Integer.parseInt(address.substring(colon + 1)));
        socket.setTcpNoDelay(true);
        return socket;
    }

    static Thread daemon(Runnable run) {
        Thread thread = new Thread(run);
        thread.setDaemon(true);
        return thread;
    }

    /** Carries out what may fail when its connection, or what it waits for, ends. */
    static void background(Task task) {
        THREADS.submit(() -> { task.run(); return null; });
    }

    /** The answer to what throws nothing; otherwise that with the outcome failed. */
    static Map<String, Object> attempt(String failed, Callable<Map<String, Object>> what) {
        try {
            return what.call();
        } catch (Throwable thrown) { // an Error, too: a library may lack a class
            return answer(failed, "error", thrown.toString());
        }
    }

    /** Answers a request. Null: another thread does. */
    static void reply(Object id, Map<String, Object> answer) {
        if (answer == null) return;
        answer.put("id", id);
        write(answer);
    }

    /** The answer; null: another thread gives it. */
    private Map<String, Object> serve(Map<String, Object> request, String verb) throws Exception {
        Handle handle = handles.stream().filter(one -> one.open && one.name.equals(request.get("handle"))).findAny().orElse(null);
        return switch (verbs.contains(verb) && !request.containsKey("wait") ? verb : "") {
            case "init" -> init(request);
            case "open" -> {
                for (String field : List.of("servers", "resource")) request.putIfAbsent(field, init.get(field));
                Handle made = new Handle(this, request);
                handles.add(made);
                yield answer("ok", "keys", made.lock.keys(), "need", hello.getOrDefault("need", "all"));
            }
            case "cancel" -> said(handles.stream().anyMatch(one -> one.cancel(request.get("op"))));
            case "exit" -> said(true);
            case "idle", "reset", "reconnect" -> {
                background(() -> reply(request.get("id"), attempt("no", () -> finish(verb, handle))));
                yield null;
            }
            case "" -> answer("no", "error", "unknown verb, or way to wait: " + verb, "unsupported", true);
            default -> {
                if (handle == null) yield answer("no", "error", "this handle is not open");
                handle.start(request);
                yield null;
            }
        };
    }

    private Map<String, Object> init(Map<String, Object> request) {
        String scheme = (String) hello.getOrDefault("scheme", ""); // with which the addresses of its servers begin
        for (Object server : (List<?>) request.get("servers")) { // first: the lab asks a client that says no in version 1, too
            if (!server.toString().startsWith(scheme)) return answer("no", "error", "this lock needs servers at " + scheme + ", not at " + server);
        }
        if (!request.get("version").equals(2L)) return answer("no", "error", "this client speaks version 2 of the protocol");
        init = request;
        return answer("ok", "hello", hello);
    }

    /** Carries out what takes its time, and is no operation of a handle. */
    private Map<String, Object> finish(String verb, Handle handle) throws Exception {
        switch (verb) {
            case "idle" -> { while (!handle.lock.idle()) Thread.sleep(1); }
            case "reset" -> {
                for (Handle one : handles) one.abandon();
                handles.clear();
            }
            default -> {
                List<Future<?>> connected = new ArrayList<>();
                for (Handle one : handles) connected.add(one.reconnect());
                for (Future<?> one : connected) one.get();
            }
        }
        return said(true);
    }

    /** Tells the lab when its host did not run this process: what is late then is not the lock's fault. */
    private static void watch() throws InterruptedException {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        while (true) {
            long began = System.nanoTime(), used = system.getProcessCpuTime();
            Thread.sleep(10);
            double late = (System.nanoTime() - began - (system.getProcessCpuTime() - used)) / 1e6 - 10;
            if (late > 25) write(Map.of("late_ms", late));
        }
    }

    /** Serves until the lab ends it. traits are fields of hello: name, about, promises, renews, servers, fair …; need, which is answered to open; and
     * scheme, with which the addresses of its servers begin if they are no Redis: zookeeper:// */
    public static void serve(Class<? extends Lock> lock, Maker maker, Map<String, ?> traits) throws IOException {
        System.setOut(System.err); // standard output is the lab's
        Locklab client = new Locklab(lock, maker, traits);
        background(Locklab::watch);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> request = Json.read(line);
            reply(request.get("id"), attempt("no", () -> client.serve(request, (String) request.get("do"))));
            if ("exit".equals(request.get("do"))) break;
        }
        Runtime.getRuntime().halt(0); // whatever still waits for a reply is not waited for
    }
}
