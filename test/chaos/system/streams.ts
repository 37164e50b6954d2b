import { type Bookmark, parseId } from '#platform/events/frame.ts';
import { comparePositions } from '#platform/events/redis-stream.ts';
import type { Message } from '#test/support/http/sse.ts';
import type { Told } from './database.ts';
import type { Listener, Stretch } from './listener.ts';

/** How much is said of one listener. */
const MOST = 5;

/**
 * What listeners should have been told and were not, what they were told twice or out of order: between two resets every event
 * that the record has is told once, in the order of its number.
 * @param mostResets how often the stream may have been lost
 */
export function streamFailures(listeners: readonly Listener[], events: readonly Told[], mostResets: number): string[] {
  const places = new Map(events.map((event, i) => [event.publication, i]));
  return listeners.flatMap((listener) => {
    const found = [...listener.complaints, ...disorder(listener)];
    if (listener.resets > mostResets)
      found.push(`${listener.name} was told of ${listener.resets} resets, and the stream was lost ${mostResets} times at most`);
    for (const stretch of listener.stretches) found.push(...gaps(listener, stretch, events, places));
    return found.length > MOST ? [...found.slice(0, MOST), `${listener.name}: ${found.length - MOST} more`] : found;
  });
}

/**
 * Ids only grow while the feed is the same: nothing comes twice, and nothing late. A Redis that lost its last second has a feed that ends
 * earlier; a reset says so, and what comes after its place is told again.
 */
function disorder(listener: Listener): string[] {
  const found: string[] = [];
  const last = new Map<string, Bookmark>();
  const seen = new Map<string, Bookmark>();
  for (const { id, event } of listener.stretches.flatMap(({ messages }) => messages)) {
    const at = parseId(id);
    if (at === null) continue;
    const before = last.get(at.epoch);
    last.set(at.epoch, at);
    if (event === 'reset') {
      for (const [other, place] of seen) if (place.epoch === at.epoch && compare(place, at) > 0) seen.delete(other);
      continue;
    }
    if (before && compare(before, at) > 0) found.push(`${listener.name} was told ${id} after ${before.publication}-${before.seq}.${before.index}`);
    if (seen.has(id)) found.push(`${listener.name} was told ${id} twice`);
    seen.set(id, at);
  }
  return found;
}

const compare = (a: Bookmark, b: Bookmark) => comparePositions(a, b) || Math.sign(a.index - b.index);

function gaps(listener: Listener, { from, to, messages }: Stretch, events: readonly Told[], places: ReadonlyMap<number, number>): string[] {
  const heard = new Set(messages.flatMap((message) => namesOf(message)));
  const found: string[] = [];
  const begin = places.get(from.publication + 1);
  if (begin === undefined) return found;
  for (let i = begin; i < events.length; i++) {
    const event = events[i];
    // Of the last number not all may have come.
    if (!event || event.publication >= to.publication) break;
    for (const name of expected(listener.wallet, event)) {
      if (!heard.has(name))
        found.push(`${listener.name} was not told of ${name}, between ${from.publication} and ${to.publication}, and not of a reset`);
    }
  }
  return found;
}

/** What a reader is to be told of an event. */
function expected(wallet: string | null, { publication, type, wallet: owner, payload }: Told): string[] {
  if (type === 'score_update') return (payload.updates ?? []).filter((update) => update.wallet === wallet).map(({ scoreId }) => `score ${scoreId}`);
  return owner === null || owner === wallet ? [`${type} ${publication}`] : [];
}

function namesOf({ id, event, data }: Message): string[] {
  if (event !== 'score_update') return [`${event} ${parseId(id)?.publication}`];
  const updates = Array.isArray(data.updates) ? data.updates : [];
  return updates.flatMap((update: { scoreId?: string }) => (update.scoreId === undefined ? [] : [`score ${update.scoreId}`]));
}
