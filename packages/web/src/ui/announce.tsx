import { signal } from '@preact/signals';

const MIN_GAP_MS = 4_000;

const said = signal('');
let waiting: string | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Tells screen readers a sentence. Of many sentences in a short time only the last one is told, at most one in four seconds. */
export function announce(text: string): void {
  waiting = text;
  if (timer !== undefined) return;
  timer = setTimeout(function tell() {
    if (waiting === null) {
      timer = undefined;
      return;
    }
    said.value = waiting;
    waiting = null;
    timer = setTimeout(tell, MIN_GAP_MS);
  }, 150);
}

/** The live region of `announce`. It is on the page once. */
export function Announcer() {
  return (
    <p class="unseen" role="status" aria-live="polite">
      {said}
    </p>
  );
}
