import java.util.*;

/** The lock under test. Edit this file; the others are the protocol. */
public final class Client extends Locklab.Lock {
    private static final String RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

    private final Locklab.Place place;
    private final Redis redis;
    private String token = "";

    Client(Locklab.Place place) {
        this.place = place;
        redis = new Redis(place.servers().get(0)); // or Jedis, Lettuce, Redisson, at this address
    }

    @Override public Map<String, ?> acquire() throws Exception {
        String drawn = UUID.randomUUID().toString();
        if (redis.command("SET", place.key(), drawn, "NX", "PX", place.lease().toMillis()) == null) return null;
        token = drawn;
        return Map.of();
    }

    @Override public boolean release() throws Exception { return redis.command("EVAL", RELEASE, 1, place.key(), token).equals("1"); }

    @Override public boolean check() throws Exception { return token.equals(redis.command("GET", place.key())); }

    @Override public void ping() throws Exception { redis.command("PING"); }

    @Override public void close() throws Exception { redis.close(); }

    public static void main(String[] args) {
        Locklab.serve(Client::new, Map.of("name", "mylock", "about", "SET NX PX with a token", "verbs", List.of("check", "reconnect"),
                "promises", List.of("exclusion", "release-by-owner", "crash-safe", "ignores-clocks")));
    }
}
