import java.io.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;

/**
 * The protocol of Lock Lab for clients in Java (docs/protocol.md): it needs a JDK of version 17 or newer, and nothing else. Extend {@link Lock}, and call
 * {@link #serve}. A cancelled operation is interrupted, and the lab ends its connections: so it stops waiting, whatever the library does.
 */
public final class Locklab {
    /** Where a lock is to be: its servers as host:port, its key there, and for how long it is leased. */
    public record Place(List<String> servers, String key, Duration lease) {}

    public interface Maker { Lock make(Place place) throws Exception; }

    /** A lock. Whatever its methods throw means that the outcome is unknown. Those with a body are optional. */
    public abstract static class Lock {
        /** Null: another client holds it; else the fields of the answer, which may have valid_ms and fence: Map.of(). */
        public abstract Map<String, ?> acquire() throws Exception;
        /** In the library's own way, such as a queue; or again and again. */
        public Map<String, ?> acquireWithin(Duration time) throws Exception {
            long began = System.nanoTime();
            Map<String, ?> got = acquire();
            for (; got == null && System.nanoTime() - began < time.toNanos(); got = acquire()) Thread.sleep(20);
            return got;
        }
        /** False: it was not, or no longer, ours. So with renew and check. */
        public abstract boolean release() throws Exception;
        public boolean renew() throws Exception { return false; }
        public boolean check() throws Exception { return false; }
        /** Returns when the connections work. */
        public void ping() throws Exception {}
        /** Ends all that runs, and the connections, as the end of the process would. Nothing is released. */
        public void close() throws Exception {}
        /** Says whether nothing beside the lock waits for a server, nor its operation for anything but a message. */
        public boolean idle() throws Exception { return true; }
        /** From another thread: has the operation under way give up. True: it does, and cleans up, over the connections that it has. */
        public boolean cancel() { return false; }
        /** What its keys on its server are called, if not as the one that it is given. */
        public List<String> keys() { return List.of(); }

        protected volatile long hold; // the latest
        /** From any thread: it is no longer held. A loss that may be told late names its hold: what hold was during its acquire; else 0. */
        protected final void lost(String why, long hold) { notice(() -> write(Map.of("lost", opened.get("handle"), "why", "" + why, "hold", hold))); }
        /** From any thread: it is valid for so long from now. */
        protected final void valid(Duration time) {
            long until = System.nanoTime() + time.toNanos();
            notice(() -> write(Map.of("valid", opened.get("handle"), "valid_ms", (until - System.nanoTime()) / 1e6)));
        }

        // The rest is the kit's. Operations run in a thread of the lock's own, one after another.
        private volatile Map<String, Object> opened; // the request that has opened it
        private volatile boolean closing;
        private final ExecutorService turns = Executors.newSingleThreadExecutor(); // guards the turn. After its end nothing is told of the lock
        private final Set<Object> waiting = ConcurrentHashMap.newKeySet(); // the ids of operations that have no answer
        private Turn turn; // null: no operation is under way
        private volatile boolean stale; // the connections were ended, or may have been
        private Object fence; // of its hold
        private List<Runnable> kept; // notices during an acquire, which come behind its answer, guarded by waiting; null: none is under way

        private void notice(Runnable notice) {
            synchronized (waiting) { // not turns: a cancel that waits for what the caller has would wait for ever
                if (kept != null) kept.add(notice);
                else if (!turns.isShutdown()) notice.run();
            }
        }

        /** Writes the notices that were kept, and has later ones kept in a list, unless that is null. */
        private void keep(List<Runnable> later) {
            synchronized (waiting) {
                if (kept != null && !turns.isShutdown()) kept.forEach(Runnable::run);
                kept = later;
            }
        }

        private void start(Map<String, Object> request, Map<String, Object> answer, String verb) {
            closing = verb.equals("close");
            waiting.add(answer.get("id"));
            turns.execute(() -> run(request, answer, verb));
        }

        private void run(Map<String, Object> request, Map<String, Object> answer, String verb) {
            synchronized (turns) {
                if (!waiting.contains(answer.get("id"))) return; // it was cancelled before its turn
                turn = new Turn(answer.get("id"), verb, Thread.currentThread());
            }
            keep(verb.equals("acquire") ? new ArrayList<>() : null);
            outcome(answer, "unknown", () -> perform(request, answer, verb)); // it may have been carried out, or not
            synchronized (turns) {
                turn = null;
                waiting.remove(answer.get("id"));
                write(answer);
                turns.notifyAll();
            }
            keep(null);
        }

        private boolean perform(Map<String, Object> request, Map<String, Object> answer, String verb) throws Exception {
            if (!verb.equals("work") && !verb.equals("close")) refresh();
            return switch (verb) {
                case "acquire" -> {
                    hold = ((Number) request.get("id")).longValue();
                    Map<String, ?> got = acquireWithin(time(request, "within_ms"));
                    if (got != null) answer.putAll(got);
                    fence = answer.getOrDefault("fence", fence);
                    yield got != null;
                }
                case "release" -> release();
                case "renew" -> renew();
                case "check" -> check();
                case "work" -> work((String) request.get("key"), answer);
                default -> {
                    synchronized (waiting) { turns.shutdown(); }
                    close();
                    yield true;
                }
            };
        }

        private boolean work(String key, Map<String, Object> answer) throws IOException {
            try (Redis redis = new Redis((String) opened.get("resource"))) {
                if (fence != null) redis.command("EVAL", FENCED, 1, key + ":fence", fence);
                String found = redis.command("GET", key);
                long read = found == null ? 0 : Long.parseLong(found);
                answer.putAll(Map.of("read", read, "wrote", read + 1));
                if (fence != null) redis.command("EVAL", FENCED, 2, key + ":fence", key, fence, read + 1);
                else redis.command("SET", key, read + 1);
                return true;
            } catch (IllegalStateException refused) {
                if (refused.getMessage().startsWith("STALEFENCE")) return false;
                throw refused;
            }
        }

        /**
         * Says whether the operation had not ended. Its caller has turns until that is answered, so it is answered before its operation is. One that has its
         * turn is answered by its thread. The lab ends its connections when it is told so.
         */
        private boolean cancel(Object id) throws InterruptedException {
            if (turn == null || !turn.id.equals(id)) {
                if (!waiting.remove(id)) return false;
                write(Map.of("id", id, "outcome", "unknown", "error", "cancelled before its turn"));
                return true;
            }
            stale = true;
            if (!turn.verb.equals("work") && "ok".equals(outcome(new HashMap<>(), "no", this::cancel).get("outcome"))) turns.wait(GRACE);
            if (turn != null && turn.id.equals(id)) turn.thread.interrupt();
            return true;
        }

        /** Returns when the connections work. A library may have kept several dead ones. */
        private Void refresh() throws Exception {
            for (long began = System.nanoTime(); stale; ) {
                try {
                    ping();
                    stale = false;
                } catch (Exception broken) {
                    if (broken instanceof InterruptedException || System.nanoTime() - began > PATIENCE) throw broken;
                    Thread.sleep(5);
                }
            }
            return null;
        }

        /** Has new connections made in its thread, unless an operation has that: it finds them ended itself. */
        private void reconnect() throws Exception {
            stale = true;
            if (!closing && waiting.isEmpty()) turns.submit(this::refresh).get();
        }
    }

    /** An operation under way. */
    private record Turn(Object id, String verb, Thread thread) {}

    /** Has the resource refuse a fence that is smaller than the greatest one that it was shown, and then write, if there is something to write. */
    private static final String FENCED = "if tonumber(redis.call('GET', KEYS[1]) or 0) > tonumber(ARGV[1]) then return redis.error_reply('STALEFENCE') end "
            + "redis.call('SET', KEYS[1], ARGV[1]) return ARGV[2] and redis.call('SET', KEYS[2], ARGV[2])";
    private static final long PATIENCE = 3_000_000_000L; // ns in which a library must have connected again
    private static final long GRACE = 1000; // ms in which an operation that its library gives up must end; then its connections are ended
    private static final Set<String> VERBS = Set.of("init", "open", "acquire", "release", "work", "cancel", "close", "exit"); // of every client
    private static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    private static final ExecutorService THREADS = Executors.newCachedThreadPool();

    private final Maker maker;
    private final Map<String, Object> init = new HashMap<>(); // the request
    private final Map<String, Object> hello = new HashMap<>(Map.of("version", 2, "separate", true, "lab_cuts", true, "verbs", List.of()));
    private final Set<Lock> locks = ConcurrentHashMap.newKeySet(); // open ones, and those that are being closed

    private Locklab(Maker maker, Map<String, ?> traits) {
        this.maker = maker;
        hello.putAll(traits);
    }

    private static Duration time(Map<String, Object> request, String field) {
        return Duration.ofNanos((long) (((Number) request.getOrDefault(field, 0)).doubleValue() * 1e6));
    }

    private static void write(Map<String, ?> message) { OUT.print(Json.write(message) + "\n"); }

    /** The answer with what became of it: whether it was done; if something was thrown, failed. */
    private static Map<String, Object> outcome(Map<String, Object> answer, String failed, Callable<Boolean> what) {
        try {
            answer.put("outcome", what.call() ? "ok" : "no");
        } catch (Throwable thrown) { // an Error, too: a library may lack a class
            answer.putAll(Map.of("outcome", failed, "error", thrown.toString()));
        }
        return answer;
    }

    /** Serves a request, and says whether there is another one to come. */
    private boolean serve(Map<String, Object> request) {
        String verb = (String) request.get("do");
        boolean cancels = verb.equals("cancel");
        Lock lock = locks.stream().filter(one -> cancels ? one.waiting.contains(request.getOrDefault("op", ""))
                : !one.closing && one.opened.get("handle").equals(request.get("handle"))).findAny().orElse(null);
        boolean known = (VERBS.contains(verb) || ((List<?>) hello.get("verbs")).contains(verb)) && request.get("wait") == null
                && request.getOrDefault("workload", "counter").equals("counter");
        Map<String, Object> answer = new HashMap<>(known ? Map.of("id", request.get("id")) : Map.of("id", request.get("id"), "unsupported", true));
        Executor thread = Set.of("idle", "reset", "reconnect").contains(verb) ? THREADS : Runnable::run;
        if (cancels && lock != null) thread = task -> THREADS.execute(() -> { synchronized (lock.turns) { task.run(); } });
        if (known && lock != null && !Set.of("cancel", "idle", "open").contains(verb)) lock.start(request, answer, verb);
        else thread.execute(() -> write(outcome(answer, "no", () -> known && perform(request, answer, verb, lock))));
        return !"exit".equals(verb);
    }

    /** Carries out what is no operation. */
    private boolean perform(Map<String, Object> request, Map<String, Object> answer, String verb, Lock lock) throws Exception {
        switch (verb) {
            case "init" -> {
                init.putAll(request);
                answer.put("hello", hello);
                return ((Number) request.get("version")).intValue() == 2;
            }
            case "open" -> {
                locks.removeIf(one -> one.turns.isTerminated());
                init.forEach(request::putIfAbsent);
                List<String> servers = ((List<?>) request.get("servers")).stream().map(String.class::cast).toList();
                Lock made = maker.make(new Place(servers, (String) request.get("key"), time(request, "lease_ms")));
                made.opened = request;
                locks.add(made);
                answer.putAll(Map.of("keys", made.keys(), "need", hello.getOrDefault("need", "all")));
            }
            case "cancel" -> { return lock != null && lock.cancel(request.get("op")); }
            case "idle" -> { for (; !lock.idle(); Thread.sleep(1)) if (lock.turns.isShutdown()) return false; }
            case "reconnect" -> { for (Lock one : locks) one.reconnect(); }
            case "reset" -> {
                for (Lock one : locks) synchronized (one.waiting) { one.turns.shutdownNow(); }
                for (Lock one : locks) one.close();
                locks.clear();
            }
            case "exit" -> {}
            default -> throw new IllegalStateException("this handle is not open");
        }
        return true;
    }

    /** Tells the lab when its host did not run this process: what is late then is not the lock's fault. */
    private static Void watch() throws InterruptedException {
        var system = (com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean();
        while (true) {
            long began = System.nanoTime(), used = system.getProcessCpuTime();
            Thread.sleep(10);
            double late = (System.nanoTime() - began - (system.getProcessCpuTime() - used)) / 1e6 - 10;
            if (late > 25) write(Map.of("late_ms", late));
        }
    }

    /**
     * Serves until the lab ends it. traits are fields of hello: name, about, promises, renews, servers, fair …; need, which is answered to open; and verbs,
     * those of renew, check, idle, reconnect and reset that the lock knows. Without reconnect many scenarios do not apply; with reset one process serves
     * many cells.
     */
    public static void serve(Maker maker, Map<String, ?> traits) {
        System.setOut(System.err); // standard output is the lab's
        THREADS.submit(Locklab::watch);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Object error = outcome(new HashMap<>(), "unknown", () -> in.lines().map(Json::read).allMatch(new Locklab(maker, traits)::serve)).get("error");
        if (error != null) System.err.println(error);
        Runtime.getRuntime().halt(0); // whatever still waits for a reply is not waited for
    }
}
