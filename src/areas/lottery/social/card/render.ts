import { Worker } from 'node:worker_threads';
import { unavailable } from '#lib/errors.ts';
import type { Card } from './card.ts';

/** A card takes some 50 ms; beyond this something is wrong. */
const WITHIN_MS = 30_000;

/**
 * Renders cards in a thread of its own, which ends with them: measuring, drawing and packing a picture would keep requests waiting.
 * @returns a PNG per card
 * @throws 503 when it takes too long
 */
export function renderCards(cards: readonly Card[]): Promise<Buffer[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer[]>();
  const pictures: Buffer[] = [];
  const thread = new Worker(new URL('./thread.ts', import.meta.url), { workerData: cards });
  const late = setTimeout(() => {
    reject(unavailable('the card takes too long, try again'));
    void thread.terminate();
  }, WITHIN_MS);
  thread.on('message', (png: Uint8Array) => pictures.push(Buffer.from(png.buffer, png.byteOffset, png.byteLength)));
  thread.once('error', reject);
  thread.once('exit', () => {
    clearTimeout(late);
    if (pictures.length === cards.length) resolve(pictures);
    else reject(new Error(`${pictures.length} of ${cards.length} cards were rendered`));
  });
  return promise;
}
