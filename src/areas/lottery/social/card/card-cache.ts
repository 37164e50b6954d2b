import { createHash } from 'node:crypto';
import { coalesce } from '#lib/concurrency/coalesce.ts';
import { type App, perApp } from '#platform/app.ts';
import { readSharedRound } from '../rounds.ts';
import { readDecimals } from '../units.ts';
import { type Card, cardOf } from './card.ts';
import { renderCards } from './render.ts';

/** A rendered card, ready to be sent. */
interface RenderedCard {
  readonly png: Buffer;
  readonly etag: string;
  /** Whether the round has ended. The card of an ended round never changes. */
  readonly isFinal: boolean;
}

/** Maximum age of the card of a round that has not ended, seconds. */
export const FRESH_SEC = 15;
/** Maximum cached cards per process, about 300 KB each. */
const MAX_CACHED = 64;
/** Maximum different cards that wait for rendering. Further requests get status 503. */
const MAX_PENDING = 32;

/**
 * Creates a cache of rendered cards. Concurrent requests for one round share one rendering. The cache evicts the least recently requested card. Only
 * one batch is rendered at a time; cards that are requested meanwhile form the next batch.
 * @returns a function that returns the card of a round; the function throws 404 when the round does not exist, 503 when too many cards wait or the
 * decimals of a prize cannot be read
 */
export function cardCache(app: App, render: (cards: readonly Card[]) => Promise<Buffer[]> = renderCards): (round: string) => Promise<RenderedCard> {
  const cached = new Map<string, { card: RenderedCard; until: number }>();

  const rendered = coalesce<Card, ReadonlyMap<Card, Buffer>>(
    async (cards) => {
      const pictures = await render(cards);
      return new Map(cards.flatMap((card, i) => (pictures[i] ? [[card, pictures[i]] as const] : [])));
    },
    { maxPerRun: MAX_PENDING },
  );

  function store(key: string, card: RenderedCard, until: number): RenderedCard {
    cached.delete(key);
    cached.set(key, { card, until });
    const oldest = cached.keys().next();
    if (cached.size > MAX_CACHED && !oldest.done) cached.delete(oldest.value);
    return card;
  }

  const answer = coalesce<string, RenderedCard>(async ([id]) => {
    const round = await readSharedRound(app.db, id);
    const key = `${id} ${round.state}`;
    const known = cached.get(key);
    if (known && performance.now() < known.until) return store(key, known.card, known.until);
    const card = cardOf(app.config, round, await readDecimals(app));
    const png = (await rendered('', card)).get(card);
    if (!png) throw new Error(`the card of round ${id} was not rendered`);
    const isFinal = round.state === 'finalized' || round.state === 'void';
    const etag = `"${createHash('sha256').update(png).digest('base64url').slice(0, 22)}"`;
    return store(key, { png, etag, isFinal }, isFinal ? Number.POSITIVE_INFINITY : performance.now() + FRESH_SEC * 1_000);
  });
  return (round) => answer(round, round);
}

const cards = perApp((app) => cardCache(app));

/** Returns the card of a round; see `cardCache`. */
export const readCard = (app: App, round: string): Promise<RenderedCard> => app.state(cards)(round);
