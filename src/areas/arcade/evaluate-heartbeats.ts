import type { App } from '#platform/app.ts';
import { type Beats, limitOf, readBeats, TIMING, type Timing } from './play-session.ts';
import { isAlive, presenceKeys } from './presence.ts';

/** A play that ended: its session is judged from its start to its end. */
export interface EndedPlay {
  playId: string;
  startedAt: Date;
  /** When the score was submitted, not when it is judged: a queue that stood still must not look like a silent client. */
  endedAt: Date;
}

/** Unbroken; broken by a fault of ours, or perhaps of ours (a moderator decides); broken by the client. */
export type HeartbeatVerdict = { verdict: 'ok' } | { verdict: 'held'; reason: string } | { verdict: 'refused'; reason: string };

/** What Redis says of the processes that hold sessions. */
interface Service {
  /** Redis knows every beat from this instant on, ms since 1970. Infinity = it knows none for certain. */
  since: number;
  alive: ReadonlySet<string>;
}

/**
 * Judges the sessions of plays by their heartbeats, in the order given.
 * @throws what Redis throws; the caller tries again
 */
export async function judgeHeartbeats(app: App, plays: readonly EndedPlay[], timing: Timing = TIMING): Promise<HeartbeatVerdict[]> {
  if (plays.length === 0) return [];
  const { redis } = app;
  const { prefix } = app.config.redis;
  const keys = presenceKeys(prefix);
  // Commands that are sent together travel together; each key may be on a node of its own.
  const [since, any, records] = await Promise.all([
    redis.get(keys.since),
    redis.exists(keys.any),
    Promise.all(plays.map((play) => readBeats(redis, prefix, play.playId))),
  ]);
  const holders = [...new Set(records.flatMap((beats) => (beats ? [beats.holder] : [])))];
  const areAlive = await Promise.all(holders.map((holder) => isAlive(redis, prefix, holder, timing)));
  const service: Service = {
    since: since === null || any === 0 ? Infinity : Number(since),
    alive: new Set(holders.filter((_, i) => areAlive[i])),
  };
  return plays.map((play, i) => judge(play, records[i] ?? null, service, timing));
}

const seconds = (ms: number) => Math.round(ms / 1000);

function judge(play: EndedPlay, beats: Beats | null, service: Service, timing: Timing): HeartbeatVerdict {
  const limit = limitOf(timing);
  const startedAt = play.startedAt.getTime();
  const endedAt = play.endedAt.getTime();
  if (!beats || beats.count === 0) {
    // A living holder writes down that a client fell silent; a long silence without that mark is ours.
    const unmarked = beats !== null && beats.left !== 'client' && endedAt - beats.last > limit;
    const excused = startedAt < service.since || unmarked || (beats !== null && (beats.left === 'service' || !service.alive.has(beats.holder)));
    return excused
      ? { verdict: 'held', reason: 'the heartbeats were lost by the service' }
      : { verdict: 'refused', reason: 'no heartbeat was received' };
  }
  if (beats.clientGap > limit && beats.clientGapAt + limit < endedAt) {
    return { verdict: 'refused', reason: `no heartbeat was received for ${seconds(beats.clientGap)} seconds` };
  }
  const silent = endedAt - beats.last;
  if (silent > limit) {
    // Where a living process saw the client leave or fall silent, it wrote that down.
    const excused = beats.last < service.since || beats.left !== 'client' || !service.alive.has(beats.holder);
    return excused
      ? { verdict: 'held', reason: `the service lost the session ${seconds(silent)} seconds before its end` }
      : { verdict: 'refused', reason: `no heartbeat was received for the last ${seconds(silent)} seconds` };
  }
  if (beats.serviceGap > limit && beats.serviceGapAt + limit < endedAt) {
    return { verdict: 'held', reason: `the service lost the session for ${seconds(beats.serviceGap)} seconds` };
  }
  return { verdict: 'ok' };
}
