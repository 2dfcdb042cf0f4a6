import java.util.*;
import org.apache.curator.framework.recipes.locks.LockInternals;
import org.apache.curator.framework.state.ConnectionState;

/** What a lock's user keeps beside it: whether it is held, and which thread waits for it. */
abstract class CuratorHold extends CuratorSession {
    volatile Thread acquires; // in which an acquire is under way
    volatile boolean gaveUp; // a release has begun, and its outcome is unknown
    private ConnectionState state; // guarded by this, as the next one is; it may come before this class is initialized
    private boolean held; // the lock's user believes that it is held

    CuratorHold(Locklab.Place place) throws Exception { super(place); }

    /** Says whether a state of the connection ends the hold, and if so, notices the loss. */
    abstract boolean endsHold(ConnectionState now);

    @Override final synchronized void changed(ConnectionState now) {
        state = now;
        held = held && (gaveUp || !endsHold(now));
    }

    /** After an acquire a hold has begun; after a release it lasts, or does not. A loss is told behind the answer to an acquire. */
    final synchronized void settled(boolean begun, boolean lasts) {
        gaveUp = false;
        held = begun || held && lasts;
        changed(state);
    }

    @Override public boolean cancel() {
        Thread thread = acquires;
        if (thread != null) thread.interrupt();
        return thread != null;
    }

    /** An acquire may wait for the end of its predecessor's node, with nothing else to do. */
    @Override public boolean idle() {
        Thread thread = acquires;
        return thread == null || Arrays.stream(thread.getStackTrace()).map(StackTraceElement::getClassName)
                .dropWhile(Object.class.getName()::equals).findFirst().equals(Optional.of(LockInternals.class.getName()));
    }
}
