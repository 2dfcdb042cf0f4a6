import java.util.*;

/** A client of the lab for Apache Curator's InterProcessMutex, on the lab's kit for Java: the lock as it comes, or one of two variations. */
public final class CuratorClient {
    private record Variation(String about, Locklab.Maker maker, String... promises) {}

    private static final Map<String, Variation> LOCKS = new TreeMap<>(Map.of(
            "curator", new Variation("tells its user of a loss when Curator does: LOST", CuratorLock::new),
            "curator-suspended", new Variation("ends its hold when Curator says SUSPENDED, as Curator's documentation advises", CuratorSuspended::new, "tells-in-time"),
            "curator-fenced", new Variation("hands out its node's number, counted from 1, as a fence", CuratorFenced::new, "fencing")));

    public static void main(String[] args) {
        String name = args.length == 2 && args[0].equals("-lock") ? args[1] : args.length == 0 ? "curator" : "";
        Variation lock = LOCKS.get(name);
        if (lock == null) {
            System.err.println("curator-client: usage: client [-lock LOCK]");
            LOCKS.forEach((known, variation) -> System.err.println("  " + known + ": " + variation.about));
            System.exit(64);
        }
        List<String> promises = new ArrayList<>(List.of("exclusion", "release-by-owner", "crash-safe", "tells-loss", "ignores-clocks", "fair", "reentrant"));
        promises.addAll(List.of(lock.promises));
        Locklab.serve(lock.maker, Map.of("name", name, "about", "Apache Curator's InterProcessMutex: " + lock.about, "promises", promises,
                "verbs", List.of("idle", "reconnect", "reset"), "fair", true, "reentrant", true, "resends", true, "server_kind", "zookeeper"));
    }
}
