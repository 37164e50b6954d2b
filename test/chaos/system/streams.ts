import { type Bookmark, parseId } from '#platform/events/frame.ts';
import { comparePositions } from '#platform/events/redis-stream.ts';
import type { Message } from '#test/support/http/sse.ts';
import { recordedScoresOf, type StoredEvent } from './database.ts';
import type { Listener, StreamSegment } from './listener.ts';

/** Maximum failures to list per listener. */
const MAX_LISTED = 5;

/**
 * Checks that between two resets each listener received every event of the database exactly once and in order.
 * @param maxResets maximum number of resets per listener: the number of times the stream may have been lost
 * @returns one sentence per lost, repeated or misplaced event
 */
export function streamFailures(listeners: readonly Listener[], events: readonly StoredEvent[], maxResets: number): string[] {
  const indexes = new Map(events.map((event, i) => [event.publication, i]));
  return listeners.flatMap((listener) => {
    const found = [...listener.violations, ...orderFailures(listener)];
    if (listener.resets > maxResets) found.push(`${listener.name} got ${listener.resets} resets, expected at most ${maxResets}`);
    for (const stretch of listener.segments) found.push(...missedEvents(listener, stretch, events, indexes));
    return found.length > MAX_LISTED ? [...found.slice(0, MAX_LISTED), `${listener.name}: ${found.length - MAX_LISTED} more`] : found;
  });
}

/**
 * Checks that the ids of messages increase within one epoch of the stream. A Redis that lost its last second of writes continues at an
 * earlier position: the listener gets a reset, and messages after that position may arrive again.
 */
function orderFailures(listener: Listener): string[] {
  const found: string[] = [];
  const last = new Map<string, Bookmark>();
  const seen = new Map<string, Bookmark>();
  for (const { id, event } of listener.segments.flatMap(({ messages }) => messages)) {
    const at = parseId(id);
    if (at === null) continue;
    const before = last.get(at.epoch);
    last.set(at.epoch, at);
    if (event === 'reset') {
      for (const [other, place] of seen) if (place.epoch === at.epoch && compare(place, at) > 0) seen.delete(other);
      continue;
    }
    if (before && compare(before, at) > 0) found.push(`${listener.name} received ${id} after ${before.publication}-${before.seq}.${before.index}`);
    if (seen.has(id)) found.push(`${listener.name} received ${id} twice`);
    seen.set(id, at);
  }
  return found;
}

const compare = (a: Bookmark, b: Bookmark) => comparePositions(a, b) || Math.sign(a.index - b.index);

function missedEvents(
  listener: Listener,
  { from, to, messages }: StreamSegment,
  events: readonly StoredEvent[],
  indexes: ReadonlyMap<number, number>,
): string[] {
  const received = new Set(messages.flatMap((message) => namesOf(message)));
  const found: string[] = [];
  const begin = indexes.get(from.publication + 1);
  if (begin === undefined) return found;
  for (let i = begin; i < events.length; i++) {
    const event = events[i];
    // A publication has several messages, and the listener may have received only some of the last one.
    if (!event || event.publication >= to.publication) break;
    for (const name of expectedNames(listener.wallet, event)) {
      if (!received.has(name)) found.push(`${listener.name} did not receive ${name} between ${from.publication} and ${to.publication}, and no reset`);
    }
  }
  return found;
}

/** Returns the names of the messages that a listener must receive for an event. */
function expectedNames(wallet: string | null, event: StoredEvent): string[] {
  const { publication, type, wallet: owner } = event;
  if (type === 'score_recorded') return recordedScoresOf(event).flatMap((score) => (score.wallet === wallet ? [`score ${score.scoreId}`] : []));
  // A broadcast joins the changes of several events, and shows only the latest per wallet and game.
  if (type === 'score_update') return [];
  return owner === null || owner === wallet ? [`${type} ${publication}`] : [];
}

function namesOf({ id, event, data }: Message): string[] {
  return event === 'score_recorded' ? [`score ${data.scoreId}`] : [`${event} ${parseId(id)?.publication}`];
}
