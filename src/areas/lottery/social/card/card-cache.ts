import { createHash } from 'node:crypto';
import { coalesce } from '#lib/coalesce.ts';
import type { App } from '#platform/app.ts';
import { readShared } from '../rounds.ts';
import { readDecimals } from '../units.ts';
import { type Card, cardOf } from './card.ts';
import { renderCards } from './render.ts';

/** A card as it is sent. */
export interface RenderedCard {
  readonly png: Buffer;
  readonly etag: string;
  /** Whether the round is over: then its card never changes. */
  readonly isFinal: boolean;
}

/** How old the card of a round that goes on may be, seconds: its count of entries may change all the time. */
export const FRESH_SEC = 15;
/** Cards that a process keeps: some 300 KB each. */
const MOST_KEPT = 64;
/** Different cards that may wait to be rendered; who comes then is asked to come back. */
const MOST_WAITING = 32;

/**
 * Makes what answers for cards. Whoever asks for one shares its rendering with all who ask at the same time, and those that were asked for
 * last are kept. One thread at a time renders, and takes all that wait.
 * @returns answers with the card of a round; 404 where there is none, 503 where too many wait or its amounts cannot be read
 */
export function cardDesk(app: App, render: (cards: readonly Card[]) => Promise<Buffer[]> = renderCards): (round: string) => Promise<RenderedCard> {
  const kept = new Map<string, { card: RenderedCard; until: number }>();

  const rendered = coalesce<Card, ReadonlyMap<Card, Buffer>>(async (cards) => {
    const pictures = await render(cards);
    return new Map(cards.flatMap((card, i) => (pictures[i] ? [[card, pictures[i]] as const] : [])));
  }, MOST_WAITING);

  function keep(key: string, card: RenderedCard, until: number): RenderedCard {
    kept.delete(key);
    kept.set(key, { card, until });
    const oldest = kept.keys().next();
    if (kept.size > MOST_KEPT && !oldest.done) kept.delete(oldest.value);
    return card;
  }

  const answer = coalesce<string, RenderedCard>(async ([id]) => {
    const round = await readShared(app.db, id);
    const key = `${id} ${round.state}`;
    const known = kept.get(key);
    if (known && performance.now() < known.until) return keep(key, known.card, known.until);
    const card = cardOf(app.config, round, await readDecimals(app));
    const png = (await rendered('', card)).get(card);
    if (!png) throw new Error(`the card of round ${id} was not rendered`);
    const isFinal = round.state === 'finalized' || round.state === 'void';
    const etag = `"${createHash('sha256').update(png).digest('base64url').slice(0, 22)}"`;
    return keep(key, { png, etag, isFinal }, isFinal ? Number.POSITIVE_INFINITY : performance.now() + FRESH_SEC * 1_000);
  });
  return (round) => answer(round, round);
}

const desks = new WeakMap<App, ReturnType<typeof cardDesk>>();

/** The card of a round; see `cardDesk`. */
export function readCard(app: App, round: string): Promise<RenderedCard> {
  const desk = desks.get(app) ?? cardDesk(app);
  desks.set(app, desk);
  return desk(round);
}
