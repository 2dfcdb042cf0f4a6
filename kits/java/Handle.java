import java.io.IOException;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** An open lock. Its operations run in a thread of its own, one after another. */
final class Handle {
    /** Has the resource refuse a fence that is smaller than the greatest one that it was shown, and then write, if there is something to write. */
    private static final String FENCED = "if tonumber(redis.call('GET', KEYS[1]) or 0) > tonumber(ARGV[1]) then "
            + "return redis.error_reply('STALEFENCE a greater fence has been seen') end redis.call('SET', KEYS[1], ARGV[1]) "
            + "return ARGV[2] and redis.call('SET', KEYS[2], ARGV[2])";

    private static final long PATIENCE = 3_000_000_000L; // ns in which a library must have connected again

    final String name;
    final List<Proxy> proxies = new ArrayList<>();
    final Redis resource;
    final Locklab.Lock lock;
    final ExecutorService turns = Executors.newSingleThreadExecutor(Locklab::background);
    final ReentrantLock busy = new ReentrantLock(); // while an operation uses the lock
    volatile boolean stale; // its connections were cut
    volatile long hold;
    Object fence; // of its hold
    List<Supplier<Map<String, ?>>> kept; // notices during an acquire, which come behind its answer; null: none is under way

    Handle(Locklab.Maker maker, Map<String, Object> init, Map<String, Object> request) throws Exception {
        name = (String) request.get("handle");
        resource = new Redis((String) request.getOrDefault("resource", init.get("resource")));
        List<String> addresses = new ArrayList<>();
        for (Object named : (List<?>) request.getOrDefault("servers", init.get("servers"))) {
            String server = (String) named;
            Proxy proxy = new Proxy(server);
            proxies.add(proxy);
            addresses.add(server.substring(0, server.lastIndexOf('/') + 1) + "127.0.0.1:" + proxy.listener.getLocalPort());
        }
        lock = maker.make(new Locklab.Place(addresses, (String) request.get("key"), Duration.ofNanos((long) (Json.number(request, "lease_ms") * 1e6))));
        lock.handle = this;
    }

    synchronized void notice(Supplier<Map<String, ?>> notice) {
        if (kept == null) Locklab.write(notice.get());
        else kept.add(notice);
    }

    void run(Operation operation) {
        if (!operation.begin()) return;
        String verb = (String) operation.request.get("do");
        Map<String, Object> fields;
        if (verb.equals("acquire")) synchronized (this) { kept = new ArrayList<>(); }
        try {
            busy.lockInterruptibly();
            try {
                fields = perform(operation, verb);
            } finally {
                busy.unlock();
            }
        } catch (Throwable failed) { // it may have been carried out, or not; an Error, too: a library may lack a class
            fields = Locklab.answer("unknown", failed.toString());
        }
        operation.end(fields);
        synchronized (this) {
            if (kept != null) kept.forEach(notice -> Locklab.write(notice.get()));
            kept = null;
        }
    }

    Map<String, Object> perform(Operation operation, String verb) throws Exception {
        if (stale && !verb.equals("work") && !verb.equals("close")) refresh();
        switch (verb) {
            case "acquire": return acquire(operation);
            case "release": return Locklab.said(lock.release());
            case "renew": return Locklab.said(lock.renew());
            case "check": return Locklab.said(lock.check());
            case "work": return work(operation);
        }
        try {
            lock.close();
            lock.abandon(); // forgotten, and not released: no reset finds it any more
        } finally {
            for (Proxy proxy : proxies) Locklab.hangUp(proxy.listener); // what it has connected, the lock ends itself
            turns.shutdown();
        }
        return Locklab.said(true);
    }

    Map<String, Object> acquire(Operation operation) throws Exception {
        hold = (long) Json.number(operation.request, "id");
        long within = (long) (Json.number(operation.request, "within_ms") * 1e6), began = System.nanoTime();
        boolean waits = within > 0 && Locklab.overrides(lock.getClass(), "acquireWithin");
        Map<String, ?> got = waits ? lock.acquireWithin(Duration.ofNanos(within)) : lock.acquire();
        while (got == null && !waits && System.nanoTime() - began < within) {
            Thread.sleep(20);
            if (operation.cancelled) return Locklab.answer("unknown", "cancelled");
            got = lock.acquire();
        }
        Map<String, Object> fields = Locklab.said(got != null);
        if (got != null) fields.putAll(got);
        fence = fields.getOrDefault("fence", fence);
        return fields;
    }

    Map<String, Object> work(Operation operation) {
        Map<String, Object> request = operation.request;
        Object key = request.get("key");
        if (!request.getOrDefault("workload", "counter").equals("counter")) return Locklab.unsupported("unknown workload");
        long read;
        Map<String, Object> fields = Locklab.said(true);
        try {
            if (fence != null) ask(operation, "EVAL", FENCED, 1, key + ":fence", fence);
            String found = ask(operation, "GET", key);
            fields.put("read", read = found == null ? 0 : Long.parseLong(found));
            fields.put("wrote", read + 1);
            if (fence != null) ask(operation, "EVAL", FENCED, 2, key + ":fence", key, fence, read + 1);
            else ask(operation, "SET", key, read + 1);
        } catch (IOException | IllegalStateException failed) {
            fields.putAll(Locklab.answer(String.valueOf(failed.getMessage()).startsWith("STALE") ? "no" : "unknown", failed.toString()));
        }
        return fields;
    }

    /** Asks the resource, unless the work is cancelled: that has closed the connection, or finds none before this has connected. */
    String ask(Operation operation, Object... words) throws IOException {
        resource.connect();
        if (operation.cancelled) throw new IOException("cancelled");
        return resource.ask(words);
    }

    void cut(boolean shut) {
        stale = true;
        for (Proxy proxy : proxies) proxy.cut(shut);
    }

    /** Returns when the connections work. A library may have kept dead ones, or wait for one on which nothing comes: those are cut. */
    void refresh() throws Exception {
        Future<?> cut = Locklab.LATER.schedule(() -> proxies.forEach(proxy -> proxy.cut(proxy.shut)), 1, TimeUnit.SECONDS);
        try {
            for (long began = System.nanoTime(); stale; ) {
                try {
                    lock.ping();
                    stale = false;
                } catch (Exception broken) {
                    if (System.nanoTime() - began > PATIENCE) throw broken;
                    Thread.sleep(5);
                }
            }
        } finally {
            cut.cancel(false);
        }
    }

    /** Makes new connections, unless an operation has the lock: it finds them ended itself, and the next one makes them. */
    void reconnect() throws Exception {
        stale = true;
        if (!busy.tryLock()) return;
        try {
            refresh();
        } finally {
            busy.unlock();
        }
    }

    void abandon() throws Exception {
        turns.shutdownNow();
        lock.abandon();
        Locklab.hangUp(resource);
        for (Proxy proxy : proxies) proxy.close();
    }
}
