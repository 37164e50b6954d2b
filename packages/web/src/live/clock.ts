import { signal } from '@preact/signals';
import { settings } from '../settings.ts';

/** Difference between the clock of the service and that of this device, ms. It comes from the `Date` header, so it is exact to a second. */
let offsetMs = settings.clockOffsetMs;

/** Time of the service, ms since 1970, once a second. */
export const now = signal(Date.now() + offsetMs);

/** Learns the time of the service from a response. */
export function learnTime(headers: Headers): void {
  const served = Date.parse(headers.get('Date') ?? '');
  if (Number.isNaN(served)) return;
  const offset = served + 500 - Date.now();
  // Small differences are the delay of the network.
  offsetMs = settings.clockOffsetMs + (Math.abs(offset) < 2_000 ? 0 : offset);
  now.value = Date.now() + offsetMs;
}

setInterval(() => {
  if (!document.hidden) now.value = Date.now() + offsetMs;
}, 1_000);
document.addEventListener('visibilitychange', () => {
  now.value = Date.now() + offsetMs;
});
