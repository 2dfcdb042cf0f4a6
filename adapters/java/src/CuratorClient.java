import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A client of the lab for Apache Curator's InterProcessMutex, by docs/protocol.md. */
public final class CuratorClient {
    private static final int VERSION = 2;
    private static final String SCHEME = "zookeeper://";

    private final Lock lock;
    private final Output output = new Output();
    private final Map<String, Handle> handles = new HashMap<>();
    private final List<Handle> opened = new ArrayList<>(); // the closed ones too
    private final Map<Long, Operation> operations = new HashMap<>();
    private JsonNode init; // null before init

    private CuratorClient(Lock lock) {
        this.lock = lock;
    }

    public static void main(String[] args) throws IOException {
        Lock lock = args.length == 2 && args[0].equals("-lock") ? Lock.named(args[1]) : args.length == 0 ? Lock.CURATOR : null;
        if (lock == null) {
            StringBuilder usage = new StringBuilder("curator-client: usage: client [-lock LOCK]\n");
            for (Lock one : Lock.values()) {
                usage.append("  ").append(one.word).append(": ").append(one.about).append('\n');
            }
            System.err.print(usage);
            System.exit(64);
        }
        new CuratorClient(lock).serve();
    }

    private void serve() throws IOException {
        Thread late = new Thread(this::tellWhenLate);
        late.setDaemon(true);
        late.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = Output.JSON.readTree(line);
            ObjectNode answer;
            try {
                answer = serve(request);
            } catch (Exception failed) {
                answer = Output.failed("no", failed);
            }
            if (answer != null) {
                output.write(answer.put("id", request.path("id").asLong()));
            }
            if (request.path("do").asText().equals("exit")) {
                break;
            }
        }
        Runtime.getRuntime().halt(0); // sessions are left to themselves
    }

    /** Returns the answer, or null if another thread gives it. */
    private ObjectNode serve(JsonNode request) throws Exception {
        String verb = request.path("do").asText();
        if (init == null && !verb.equals("init") && !verb.equals("exit") && !verb.equals("reset")) {
            return Output.answer("no").put("error", "init comes first");
        }
        switch (verb) {
            case "init":
                return hello(request);
            case "open":
                return open(request);
            case "acquire":
                if (request.hasNonNull("wait")) {
                    return Output.answer("no").put("unsupported", true).put("error", "Curator waits for a watch");
                }
                return start(request);
            case "release":
            case "work":
            case "close":
                return start(request);
            case "cancel":
                return cancel(request.path("op").asLong());
            case "reconnect":
                return reconnect(request.path("id").asLong());
            case "idle":
                return idle(request.path("id").asLong(), request.path("handle").asText());
            case "reset":
                reset();
                return Output.answer("ok");
            case "exit":
                return Output.answer("ok");
            default:
                return Output.answer("no").put("unsupported", true).put("error", "unknown verb " + verb);
        }
    }

    private ObjectNode hello(JsonNode request) throws IOException {
        if (request.path("version").asInt() != VERSION) {
            return Output.answer("no").put("error", "this client speaks version " + VERSION + " of the protocol");
        }
        for (JsonNode server : request.path("servers")) {
            if (!server.asText().startsWith(SCHEME)) {
                return Output.answer("no").put("error", "Curator needs a ZooKeeper (--server zookeeper), not " + server.asText());
            }
        }
        init = request;
        ObjectNode hello = Output.JSON.createObjectNode().put("version", VERSION).put("name", lock.word);
        hello.put("about", "Apache Curator's InterProcessMutex: " + lock.about);
        for (String promise : List.of("exclusion", "release-by-owner", "crash-safe", "tells-loss", "ignores-clocks", "fair", "reentrant")) {
            hello.withArray("promises").add(promise);
        }
        if (lock == Lock.SUSPENDED) {
            hello.withArray("promises").add("tells-in-time");
        }
        if (lock == Lock.FENCED) {
            hello.withArray("promises").add("fencing");
        }
        hello.withArray("verbs").add("reconnect").add("idle").add("reset");
        hello.withArray("workloads").add("counter");
        hello.put("fair", true).put("reentrant", true).put("resends", true).put("separate", true);
        ObjectNode answer = Output.answer("ok");
        answer.set("hello", hello);
        return answer;
    }

    private ObjectNode open(JsonNode request) throws Exception {
        JsonNode servers = request.hasNonNull("servers") ? request.get("servers") : init.path("servers");
        List<String> addresses = new ArrayList<>();
        for (JsonNode server : servers) {
            addresses.add(server.asText().substring(SCHEME.length()));
        }
        int timeout = (int) Math.min(Integer.MAX_VALUE, init.path("timeout_ms").asDouble(30_000));
        JsonNode at = request.hasNonNull("resource") ? request.get("resource") : init.path("resource");
        Resource resource = at.isTextual() ? new Resource(at.asText(), init.path("db").asInt(), timeout) : null;
        String name = request.path("handle").asText();
        int lease = (int) Math.ceil(request.path("lease_ms").asDouble());
        Handle handle = new Handle(name, lock, output, String.join(",", addresses), request.path("key").asText(), lease, resource);
        handles.put(name, handle);
        opened.add(handle);
        return Output.answer("ok");
    }

    private ObjectNode start(JsonNode request) {
        String name = request.path("handle").asText();
        String verb = request.path("do").asText();
        Handle handle = verb.equals("close") ? handles.remove(name) : handles.get(name);
        if (handle == null) {
            return Output.answer("no").put("error", "handle " + name + " is not open");
        }
        long id = request.path("id").asLong();
        operations.values().removeIf(Operation::isAnswered);
        Operation operation = new Operation(id, handle, verb.equals("work"), output);
        operations.put(id, operation);
        handle.start(operation, request);
        return null;
    }

    private ObjectNode cancel(long id) {
        Operation operation = operations.get(id);
        if (operation == null || operation.isAnswered()) {
            return Output.answer("no").put("error", "operation " + id + " is not under way");
        }
        operation.handle.interrupt(operation);
        return Output.answer("ok");
    }

    private interface Waiting {
        void run() throws InterruptedException;
    }

    private ObjectNode reconnect(long id) {
        List<Handle> all = new ArrayList<>(opened);
        return answerAfter(id, () -> {
            for (Handle handle : all) {
                handle.reconnect();
            }
        });
    }

    private ObjectNode idle(long id, String handle) {
        List<Operation> all = new ArrayList<>(operations.values());
        all.removeIf(operation -> operation.handle != handles.get(handle));
        return answerAfter(id, () -> {
            for (Operation operation : all) {
                while (!operation.waits()) {
                    Thread.sleep(1);
                }
            }
        });
    }

    private ObjectNode answerAfter(long id, Waiting waiting) {
        Thread waits = new Thread(() -> {
            try {
                waiting.run();
                output.write(Output.answer("ok").put("id", id));
            } catch (InterruptedException ended) {
                output.write(Output.failed("no", ended).put("id", id));
            }
        });
        waits.setDaemon(true);
        waits.start();
        return null;
    }

    /** Makes the process as good as new. */
    private void reset() throws InterruptedException {
        List<Thread> all = new ArrayList<>();
        for (Handle handle : opened) {
            Thread shuts = new Thread(() -> {
                try {
                    handle.shut();
                } catch (IOException broken) {
                    // the connection is gone, which is what was asked for
                }
            });
            shuts.start();
            all.add(shuts);
        }
        for (Thread shuts : all) {
            shuts.join();
        }
        opened.clear();
        handles.clear();
        operations.clear();
        init = null;
    }

    private static final long TICK_NANOS = 10_000_000;
    private static final long LATE_NANOS = 25_000_000;

    /** Tells the lab when its host did not run this process. Time that the process itself used is not its host's fault. */
    private void tellWhenLate() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        while (true) {
            long began = System.nanoTime();
            long used = system.getProcessCpuTime();
            try {
                Thread.sleep(TICK_NANOS / 1_000_000);
            } catch (InterruptedException ended) {
                return;
            }
            long late = System.nanoTime() - began - TICK_NANOS - (system.getProcessCpuTime() - used);
            if (late > LATE_NANOS) {
                output.write(Output.JSON.createObjectNode().put("late_ms", late / 1e6));
            }
        }
    }
}
