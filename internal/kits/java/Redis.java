import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.*;
import java.net.*;
import java.nio.channels.*;

/** A connection to a Redis: just enough for simple commands. One thread uses it. After an error, such as an interrupt, the next command makes a new one. */
public final class Redis implements Closeable {
    private final URI address;
    private SocketChannel channel; // null: there has been none

    public Redis(String address) { this.address = URI.create("redis://" + address); }

    /** The reply as a text; null: nil. An error reply is an IllegalStateException. */
    public String command(Object... words) throws IOException {
        StringBuilder request = new StringBuilder("*" + words.length + "\r\n");
        for (Object word : words) request.append("$" + word.toString().getBytes(UTF_8).length + "\r\n" + word + "\r\n");
        try {
            if (channel == null || !channel.isOpen()) channel = SocketChannel.open(new InetSocketAddress(address.getHost(), address.getPort()));
            Channels.newOutputStream(channel).write(request.toString().getBytes(UTF_8));
            return reply(new DataInputStream(Channels.newInputStream(channel)));
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
        return new String(text, 0, text.length - 2, UTF_8);
    }

    @Override public void close() throws IOException {
        if (channel != null) channel.close();
    }
}
