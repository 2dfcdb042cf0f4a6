import java.util.Map;
import java.util.concurrent.*;

/** A request that takes its time: it waits for its turn, runs, and is over. It is answered once. */
final class Operation {
    private static final long GRACE = 1000; // ms in which an operation that its library gives up must end; then its connections are cut

    final Handle handle;
    final Map<String, Object> request;
    final Map<Object, Operation> all; // under way
    Thread thread; // that runs it
    boolean over, shut;
    volatile boolean cancelled;

    Operation(Handle handle, Map<String, Object> request, Map<Object, Operation> all) { this.handle = handle; this.request = request; this.all = all; }

    synchronized boolean begin() {
        thread = Thread.currentThread();
        return !over;
    }

    synchronized void end(Map<String, Object> fields) {
        over = true;
        if (shut) handle.cut(false);
        Thread.interrupted(); // that was not meant for the next operation
        all.remove(request.get("id"));
        fields.put("id", request.get("id"));
        Locklab.write(fields);
    }

    synchronized boolean cancel() {
        boolean underWay = !over;
        cancelled = true;
        if (underWay && thread == null) {
            end(Locklab.answer("unknown", "cancelled before its turn"));
        } else if (underWay) { // its thread answers
            boolean own = givesUp();
            Locklab.hangUp(handle.resource);
            Locklab.LATER.schedule(() -> breakOff(!own), own ? GRACE : 0, TimeUnit.MILLISECONDS);
        }
        return underWay;
    }

    boolean givesUp() {
        try {
            return handle.lock.cancel();
        } catch (Throwable failed) { // then its connections are cut
            System.err.println("cancel: " + failed);
            return false;
        }
    }

    synchronized void breakOff(boolean shut) {
        if (over) return;
        this.shut = shut;
        handle.cut(shut);
        thread.interrupt();
    }
}
