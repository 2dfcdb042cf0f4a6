import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** The Redis that holds the data which the lock protects: as much of a client as the work needs. */
final class Resource {
    /** An error reply: the command was not carried out. */
    static final class Refused extends IOException {
        private static final long serialVersionUID = 1;

        Refused(String reply) {
            super(reply);
        }
    }

    private final InetSocketAddress address;
    private final int database;
    private final int timeoutMillis;
    private Socket socket; // null: not connected
    private InputStream in;

    Resource(String address, int database, int timeoutMillis) {
        int colon = address.lastIndexOf(':');
        this.address = new InetSocketAddress(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        this.database = database;
        this.timeoutMillis = timeoutMillis;
    }

    /** Sends a command and returns its reply: a String, a Long, or null. A command is never sent twice. */
    String command(Object... words) throws IOException {
        connect();
        try {
            return send(words);
        } catch (Refused refused) {
            throw refused;
        } catch (IOException broken) {
            hangUp();
            throw broken;
        }
    }

    void connect() throws IOException {
        synchronized (this) {
            if (socket != null) {
                return;
            }
            socket = new Socket();
        }
        try {
            socket.connect(address, timeoutMillis);
            socket.setSoTimeout(timeoutMillis);
            socket.setTcpNoDelay(true);
            in = new BufferedInputStream(socket.getInputStream());
            if (database != 0) {
                send("SELECT", database);
            }
        } catch (IOException unreachable) {
            hangUp();
            throw unreachable;
        }
    }

    /** Breaks the connection, also while another thread waits for a reply. The next command makes another one. */
    synchronized void hangUp() {
        if (socket == null) {
            return;
        }
        try {
            socket.close();
        } catch (IOException ignored) {
            // it is of no use any more
        }
        socket = null;
    }

    private String send(Object... words) throws IOException {
        ByteArrayOutputStream request = new ByteArrayOutputStream();
        request.writeBytes(bytes("*" + words.length + "\r\n"));
        for (Object word : words) {
            byte[] text = bytes(word.toString());
            request.writeBytes(bytes("$" + text.length + "\r\n"));
            request.writeBytes(text);
            request.writeBytes(bytes("\r\n"));
        }
        Socket to = socket;
        if (to == null) {
            throw new IOException("the connection was given up");
        }
        to.getOutputStream().write(request.toByteArray());
        return reply();
    }

    private String reply() throws IOException {
        String line = line();
        String rest = line.substring(1);
        switch (line.charAt(0)) {
            case '-':
                throw new Refused(rest);
            case '$':
                int length = Integer.parseInt(rest);
                if (length < 0) {
                    return null;
                }
                byte[] text = in.readNBytes(length + 2);
                if (text.length < length + 2) {
                    throw new EOFException();
                }
                return new String(text, 0, length, StandardCharsets.UTF_8);
            default: // + and :
                return rest;
        }
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new EOFException();
            }
            if (c != '\r') {
                line.append((char) c);
            }
        }
        if (line.length() == 0) {
            throw new IOException("an empty reply");
        }
        return line.toString();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
