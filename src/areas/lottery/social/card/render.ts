import { unavailable } from '#lib/errors.ts';
import { openThread } from '#platform/threads/worker-thread.ts';
import type { Card } from './card.ts';
import type { CardRenderer } from './thread.ts';

/** Maximum time for one batch of cards, ms. One card takes about 50 ms. */
const TIMEOUT_MS = 30_000;

/**
 * Renders cards in a worker thread, so that the process can answer other requests meanwhile. The worker thread ends after the batch.
 * @returns one PNG per card
 * @throws 503 when rendering exceeds the timeout
 */
export async function renderCards(cards: readonly Card[]): Promise<Buffer[]> {
  const { remote, close } = openThread<CardRenderer>(new URL('./thread.ts', import.meta.url));
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(unavailable('rendering the card takes too long; try again')), TIMEOUT_MS);
  try {
    const pictures = await Promise.race([timedOut, Promise.all(cards.map((card) => remote.render(card)))]);
    return pictures.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));
  } finally {
    clearTimeout(timer);
    await close();
  }
}
