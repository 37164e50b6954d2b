import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { connection } from './stream.ts';

/** A connection that is lost for less than this time is not shown, because the service closes connections now and then. */
const SHOWN_AFTER_MS = 2_500;

const isShown = signal(false);

/** Says that the connection is lost, and disappears when it is back. */
export function ConnectionState() {
  const isLost = connection.value === 'lost';
  useEffect(() => {
    if (!isLost) {
      isShown.value = false;
      return;
    }
    const timer = setTimeout(() => {
      isShown.value = true;
    }, SHOWN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isLost]);
  return (
    <div role="status" class="connection">
      {isShown.value && <p>The connection is lost. Boards and chat stand still until it is back; the page connects again by itself.</p>}
    </div>
  );
}
