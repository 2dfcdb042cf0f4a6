import java.time.Duration;
import org.apache.curator.framework.state.ConnectionState;

/** The mutex of a user who ends a hold at SUSPENDED. That is no loss yet: it ends what is known to be valid. */
final class CuratorSuspended extends CuratorLock {
    CuratorSuspended(Locklab.Place place) throws Exception { super(place); }

    @Override boolean endsHold(ConnectionState now) {
        if (now != ConnectionState.SUSPENDED) return super.endsHold(now);
        valid(Duration.ZERO);
        return true;
    }
}
