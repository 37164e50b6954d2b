import { setTimeout as sleep } from 'node:timers/promises';
import type { Streamer } from './servers.ts';
import { mark } from './subscribers.ts';

/** Numbered events, sent at a steady rate. */
export class SentEvents {
  #seq = 0;

  /** The number of the last event. */
  get seq(): number {
    return this.#seq;
  }

  /** Sends `perSec` events per second for some seconds. Events that are overdue are sent together. */
  async send(publish: Streamer['publish'], perSec: number, seconds: number): Promise<void> {
    const began = performance.now();
    for (let sent = 0; sent < seconds * perSec; ) {
      const due = Math.min(seconds * perSec, 1 + Math.floor(((performance.now() - began) * perSec) / 1_000));
      if (due > sent) await publish(Array.from({ length: due - sent }, () => mark(++this.#seq)));
      else await sleep(Math.max(0, (1_000 * due) / perSec - (performance.now() - began)));
      sent = due;
    }
  }
}
