import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.OutputStream;

/** Standard output: answers and notices, each on a line of its own. */
final class Output {
    static final ObjectMapper JSON = new ObjectMapper();

    private final OutputStream out = new FileOutputStream(FileDescriptor.out);

    /** Writes one message. Without its reader the process has nothing left to do. */
    synchronized void write(ObjectNode message) {
        try {
            byte[] text = JSON.writeValueAsBytes(message);
            byte[] line = java.util.Arrays.copyOf(text, text.length + 1);
            line[text.length] = '\n';
            out.write(line);
        } catch (IOException gone) {
            Runtime.getRuntime().halt(0);
        }
    }

    static ObjectNode answer(String outcome) {
        return JSON.createObjectNode().put("outcome", outcome);
    }

    static ObjectNode failed(String outcome, Throwable why) {
        return answer(outcome).put("error", String.valueOf(why));
    }
}
