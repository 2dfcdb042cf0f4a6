import java.io.*;
import java.net.*;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;

/** Passes connections on to one server, and can cut all of them. */
final class Proxy implements Closeable {
    final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    final Set<Socket> open = ConcurrentHashMap.newKeySet();
    volatile boolean shut;

    Proxy(String target) throws IOException { Locklab.background(() -> accept(target)).start(); }

    void accept(String target) {
        try {
            while (true) {
                Socket near = listener.accept();
                Locklab.background(() -> pass(near, target)).start();
            }
        } catch (IOException closed) { /* with the process */ }
    }

    void pass(Socket near, String target) {
        try (near; Socket far = Locklab.connect(target)) {
            near.setTcpNoDelay(true);
            open.addAll(List.of(near, far));
            if (shut) return;
            Locklab.background(() -> pump(near, far)).start();
            pump(far, near);
        } catch (IOException unreachable) { /* the library notices */ }
    }

    void pump(Socket source, Socket sink) {
        try {
            source.getInputStream().transferTo(sink.getOutputStream());
        } catch (IOException broken) { /* so is the other way */ }
        Locklab.hangUp(source, sink);
        open.removeAll(List.of(source, sink));
    }

    /** Ends all connections. Until it is called with false, new ones end at once. */
    void cut(boolean shut) {
        this.shut = shut;
        Locklab.hangUp(open.toArray(new Socket[0]));
    }

    @Override
    public void close() {
        Locklab.hangUp(listener);
        cut(true);
    }
}
