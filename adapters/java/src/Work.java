import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;

/** The critical section: it reads a counter, and writes it back one higher. */
final class Work {
    private static final String STALE = "STALEFENCE";

    private static final String SHOW_FENCE =
            "if tonumber(redis.call('GET', KEYS[1]) or 0) > tonumber(ARGV[1]) then "
                    + "return redis.error_reply('" + STALE + " a greater fence has been seen') end "
                    + "return redis.call('SET', KEYS[1], ARGV[1])";

    private static final String WRITE_FENCED =
            "if tonumber(redis.call('GET', KEYS[2]) or 0) > tonumber(ARGV[2]) then "
                    + "return redis.error_reply('" + STALE + " a greater fence has been seen') end "
                    + "return redis.call('SET', KEYS[1], ARGV[1])";

    private Work() {}

    /** Adds one to the counter. A fence of zero is none. */
    static ObjectNode increment(Resource resource, String key, long fence) {
        long read;
        try {
            if (fence > 0) {
                resource.command("EVAL", SHOW_FENCE, 1, key + ":fence", fence);
            }
            String value = resource.command("GET", key);
            read = value == null ? 0 : Long.parseLong(value);
        } catch (IOException failed) {
            return Output.failed(outcome(failed), failed);
        }
        ObjectNode answer = Output.answer("ok");
        try {
            if (fence > 0) {
                resource.command("EVAL", WRITE_FENCED, 2, key, key + ":fence", read + 1, fence);
            } else {
                resource.command("SET", key, read + 1);
            }
        } catch (IOException failed) {
            answer = Output.failed(outcome(failed), failed);
        }
        return answer.put("read", read).put("wrote", read + 1);
    }

    /** The resource's refusal is a definite no; after any other error it may have written. */
    private static String outcome(IOException failed) {
        return failed instanceof Resource.Refused && failed.getMessage().startsWith(STALE) ? "no" : "unknown";
    }
}
