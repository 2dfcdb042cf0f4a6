import java.io.*;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A connection to a Redis: just enough for simple commands. One thread uses it; another may close it. The next command makes a new connection. */
public final class Redis implements Closeable {
    private final String address;
    private volatile Socket socket;
    private InputStream in;

    public Redis(String address) {
        this.address = address;
    }

    /** The reply as a text; null: nil. An error reply is an IllegalStateException. */
    public String command(Object... words) throws IOException {
        connect();
        return ask(words);
    }

    void connect() throws IOException {
        if (socket != null && !socket.isClosed()) return;
        Socket made = Locklab.connect(address);
        in = new BufferedInputStream(made.getInputStream());
        socket = made;
    }

    /** Sends a command over the connection that there is. */
    String ask(Object... words) throws IOException {
        try {
            ByteArrayOutputStream request = new ByteArrayOutputStream();
            request.writeBytes(("*" + words.length + "\r\n").getBytes());
            for (Object word : words) {
                byte[] text = word.toString().getBytes(StandardCharsets.UTF_8);
                request.writeBytes(("$" + text.length + "\r\n").getBytes());
                request.writeBytes(text);
                request.writeBytes("\r\n".getBytes());
            }
            socket.getOutputStream().write(request.toByteArray());
            return reply();
        } catch (IOException broken) {
            close();
            throw broken;
        }
    }

    private String reply() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) throw new EOFException("connection lost");
            if (c != '\r') line.append((char) c);
        }
        String rest = line.substring(1);
        if (line.charAt(0) == '-') throw new IllegalStateException(rest);
        if (line.charAt(0) != '$') return rest;
        if (rest.equals("-1")) return null;
        byte[] text = in.readNBytes(Integer.parseInt(rest) + 2);
        if (text.length < Integer.parseInt(rest) + 2) throw new EOFException("connection lost");
        return new String(text, 0, text.length - 2, StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        Locklab.hangUp(socket);
    }
}
