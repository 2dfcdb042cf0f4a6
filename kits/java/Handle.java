import java.io.IOException;
import java.net.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Supplier;

/** An open lock. Its operations run in a thread of its own, one after another. Its connections pass proxies, which can cut all of them. */
final class Handle {
    /** Has the resource refuse a fence that is smaller than the greatest one that it was shown, and then write, if there is something to write. */
    private static final String FENCED = "if tonumber(redis.call('GET', KEYS[1]) or 0) > tonumber(ARGV[1]) then "
            + "return redis.error_reply('STALEFENCE a greater fence has been seen') end redis.call('SET', KEYS[1], ARGV[1]) "
            + "return ARGV[2] and redis.call('SET', KEYS[2], ARGV[2])";
    private static final long PATIENCE = 3_000_000_000L; // ns in which a library must have connected again
    private static final long GRACE = 1000; // ms in which an operation that its library gives up must end; then its connections are cut

    final String name;
    final Locklab.Lock lock;
    volatile boolean open = true; // no close has been asked for
    volatile boolean cancelled; // the operation under way
    volatile long hold; // the id of the latest acquire
    final Set<Object> operations = ConcurrentHashMap.newKeySet(); // the ids of those that are not answered
    private final Locklab client;
    private final String resource;
    private final ExecutorService turns = Executors.newSingleThreadExecutor(Locklab::daemon);
    private final List<ServerSocket> proxies = new ArrayList<>();
    private final Map<Socket, Boolean> connections = new ConcurrentHashMap<>(); // true: to the resource
    private volatile boolean stale; // the connections were cut
    private volatile boolean shut; // new ones end at once
    private Object fence; // of its hold
    private Object under; // the id of the operation under way, guarded by this, as the next two are
    private String verb;
    private Thread thread;
    private List<Supplier<Map<String, ?>>> kept; // notices during an acquire, which come behind its answer, guarded by operations; null: none is under way

    Handle(Locklab client, Map<String, Object> request) throws Exception {
        this.client = client;
        name = (String) request.get("handle");
        List<String> servers = new ArrayList<>();
        for (Object server : (List<?>) request.get("servers")) servers.add(through((String) server, false));
        resource = through((String) request.get("resource"), true);
        lock = client.maker.make(new Locklab.Place(servers, (String) request.get("key"), Locklab.time(request, "lease_ms")));
        lock.handle = this;
    }

    /** The address of a proxy to a server. */
    private String through(String server, boolean works) throws IOException {
        ServerSocket proxy = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        proxies.add(proxy);
        Locklab.background(() -> {
            while (true) { // until it is closed
                Socket near = proxy.accept();
                Locklab.background(() -> pass(near, server, works));
            }
        });
        return server.substring(0, server.lastIndexOf('/') + 1) + "127.0.0.1:" + proxy.getLocalPort();
    }

    private void pass(Socket near, String server, boolean works) throws IOException {
        connections.put(near, works);
        try (near; Socket far = Locklab.connect(server)) {
            near.setTcpNoDelay(true);
            if (shut) return;
            Locklab.background(() -> pump(near, far));
            pump(far, near);
        } finally {
            connections.remove(near);
        }
    }

    private static void pump(Socket source, Socket sink) throws IOException {
        try (source; sink) {
            source.getInputStream().transferTo(sink.getOutputStream());
        }
    }

    /** Ends the connections to the servers, and that to the resource if work is to end. Until it is called with shut false, new ones end at once. */
    private void cut(boolean shut, boolean work) throws IOException {
        this.shut = shut;
        stale = true;
        for (var near : connections.entrySet()) if (work || !near.getValue()) near.getKey().close();
    }

    void notice(Supplier<Map<String, ?>> notice) {
        synchronized (operations) { // not this: a cancel that waits for what the caller has would wait for ever
            if (kept == null) Locklab.write(notice.get());
            else kept.add(notice);
        }
    }

    /** Writes the notices that were kept, and has later ones kept in a list, unless that is null. */
    private void keep(List<Supplier<Map<String, ?>>> later) {
        synchronized (operations) {
            if (kept != null) kept.forEach(notice -> Locklab.write(notice.get()));
            kept = later;
        }
    }

    void start(Map<String, Object> request) {
        open = !request.get("do").equals("close");
        operations.add(request.get("id"));
        turns.submit(() -> run(request, request.get("id"), (String) request.get("do")));
    }

    private Void run(Map<String, Object> request, Object id, String verb) throws IOException {
        synchronized (this) {
            if (!operations.contains(id)) return null; // it was cancelled before its turn
            under = id;
            this.verb = verb;
            thread = Thread.currentThread();
        }
        keep(verb.equals("acquire") ? new ArrayList<>() : null);
        Map<String, Object> answer = Locklab.attempt("unknown", () -> perform(request, verb)); // it may have been carried out, or not
        synchronized (this) {
            end(id, answer);
            under = null;
            cancelled = false;
            if (shut) cut(false, true);
        }
        keep(null);
        return null;
    }

    private void end(Object id, Map<String, Object> answer) {
        operations.remove(id);
        Locklab.reply(id, answer);
    }

    private Map<String, Object> perform(Map<String, Object> request, String verb) throws Exception {
        if (!verb.equals("work") && !verb.equals("close")) refresh();
        return switch (verb) {
            case "acquire" -> acquire(request);
            case "release" -> Locklab.said(lock.release());
            case "renew" -> Locklab.said(lock.renew());
            case "check" -> Locklab.said(lock.check());
            case "work" -> work((String) request.get("key"), request.getOrDefault("workload", "counter"));
            default -> close();
        };
    }

    private Map<String, Object> acquire(Map<String, Object> request) throws Exception {
        hold = (Long) request.get("id");
        var within = Locklab.time(request, "within_ms");
        Map<String, ?> got = within.isZero() ? lock.acquire() : lock.acquireWithin(within);
        Map<String, Object> fields = Locklab.said(got != null);
        if (got != null) fields.putAll(got);
        fence = fields.getOrDefault("fence", fence);
        return fields;
    }

    private Map<String, Object> work(String key, Object workload) throws IOException {
        if (!workload.equals("counter")) return Locklab.answer("no", "error", "unknown workload", "unsupported", true);
        Map<String, Object> fields = Locklab.said(true);
        try (Redis redis = new Redis(resource)) {
            if (fence != null) redis.command("EVAL", FENCED, 1, key + ":fence", fence);
            String found = redis.command("GET", key);
            long read = found == null ? 0 : Long.parseLong(found);
            fields.putAll(Map.of("read", read, "wrote", read + 1));
            if (fence != null) redis.command("EVAL", FENCED, 2, key + ":fence", key, fence, read + 1);
            else redis.command("SET", key, read + 1);
        } catch (IOException | IllegalStateException failed) {
            fields.putAll(Locklab.answer(failed.toString().contains("STALEFENCE") ? "no" : "unknown", "error", failed.toString()));
        }
        return fields;
    }

    private Map<String, Object> close() throws Exception {
        try {
            lock.close();
            lock.abandon(); // forgotten, and not released: no reset finds it any more
        } finally {
            for (ServerSocket proxy : proxies) proxy.close(); // what it has connected, the lock ends itself
            turns.shutdown();
            client.handles.remove(this);
        }
        return Locklab.said(true);
    }

    /** Says whether the operation had not ended. One that has its turn is answered by its thread. */
    synchronized boolean cancel(Object id) {
        if (!operations.contains(id)) return false;
        if (id.equals(under)) {
            cancelled = true;
            boolean own = !verb.equals("work") && Locklab.attempt("no", () -> Locklab.said(lock.cancel())).get("outcome").equals("ok");
            Locklab.background(() -> breakOff(id, own));
        } else {
            end(id, Locklab.answer("unknown", "error", "cancelled before its turn"));
        }
        return true;
    }

    synchronized Thread working(String verb) { return under != null && verb.equals(this.verb) ? thread : null; }

    private void breakOff(Object id, boolean own) throws Exception {
        if (own) Thread.sleep(GRACE);
        synchronized (this) {
            if (!id.equals(under)) return;
            cut(!own, true);
            thread.interrupt();
        }
    }

    /** Returns when the connections work. A library may have kept several dead ones. */
    private void refresh() throws Exception {
        for (long began = System.nanoTime(); stale; ) {
            try {
                lock.ping();
                stale = false;
            } catch (Exception broken) {
                if (System.nanoTime() - began > PATIENCE) throw broken;
                Thread.sleep(5);
            }
        }
    }

    /** Ends the connections to the servers. New ones are made in its thread, unless an operation has that: it finds them ended itself, and the next one makes them. */
    synchronized Future<?> reconnect() throws IOException {
        cut(shut, false);
        if (!operations.isEmpty()) return CompletableFuture.completedFuture(null);
        return turns.submit(() -> { refresh(); return null; });
    }

    void abandon() throws Exception {
        turns.shutdownNow();
        lock.abandon();
        for (ServerSocket proxy : proxies) proxy.close();
        cut(true, true);
    }
}
