import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.curator.framework.recipes.locks.LockInternals;

/** A request that takes its time. It is answered once. */
final class Operation {
    final long id;
    final Handle handle;
    private final Output output;
    private final boolean works;
    private Thread thread; // null: it does not run
    private boolean answered;

    Operation(long id, Handle handle, boolean works, Output output) {
        this.id = id;
        this.handle = handle;
        this.works = works;
        this.output = output;
    }

    boolean works() {
        return works;
    }

    /** Returns false if it was cancelled before its turn. */
    synchronized boolean begin() {
        if (!answered) {
            thread = Thread.currentThread();
        }
        return !answered;
    }

    /** Says whether it waits for the end of its predecessor's node, with nothing else to do. */
    synchronized boolean waits() {
        if (thread == null) {
            return true;
        }
        StackTraceElement[] calls = thread.getStackTrace();
        int caller = 0;
        while (caller < calls.length && calls[caller].getClassName().equals(Object.class.getName())) {
            caller++;
        }
        return caller > 0 && caller < calls.length && calls[caller].getClassName().equals(LockInternals.class.getName());
    }

    /** Keeps an interrupt from the operation that follows. */
    synchronized void end() {
        thread = null;
        Thread.interrupted();
    }

    /** Returns false if it has been answered. */
    synchronized boolean answer(ObjectNode answer) {
        if (answered) {
            return false;
        }
        answered = true;
        output.write(answer.put("id", id));
        return true;
    }

    /** Interrupts the thread; an operation that waits for its turn is answered here. */
    synchronized void interrupt() {
        if (thread != null) {
            thread.interrupt();
        } else {
            answer(Output.answer("unknown").put("error", "cancelled before its turn"));
        }
    }

    synchronized boolean isAnswered() {
        return answered;
    }
}
