import java.io.*;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A connection to a Redis: just enough for simple commands. One thread uses it. After an error the next command makes a new connection. */
public final class Redis implements Closeable {
    private final String address;
    private Socket socket = new Socket(); // not connected

    public Redis(String address) { this.address = address; }

    /** The reply as a text; null: nil. An error reply is an IllegalStateException. */
    public String command(Object... words) throws IOException {
        if (!socket.isConnected() || socket.isClosed()) socket = Locklab.connect(address);
        StringBuilder request = new StringBuilder("*" + words.length + "\r\n");
        for (Object word : words) request.append("$" + word.toString().getBytes(StandardCharsets.UTF_8).length + "\r\n" + word + "\r\n");
        try {
            socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.UTF_8));
            return reply(new DataInputStream(socket.getInputStream()));
        } catch (IOException broken) {
            close();
            throw broken;
        }
    }

    private static String reply(DataInputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (byte c = in.readByte(); c != '\n'; c = in.readByte()) line.append((char) c);
        String rest = line.substring(1).stripTrailing();
        if (line.charAt(0) == '-') throw new IllegalStateException(rest);
        if (line.charAt(0) != '$') return rest;
        if (rest.equals("-1")) return null;
        byte[] text = new byte[Integer.parseInt(rest) + 2];
        in.readFully(text);
        return new String(text, 0, text.length - 2, StandardCharsets.UTF_8);
    }

    @Override public void close() throws IOException { socket.close(); }
}
