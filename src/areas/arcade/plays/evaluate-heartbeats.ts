import type { App } from '#platform/app.ts';
import { maxSilenceMs, type PlaySession, readPlaySession, SESSION_TIMING, type SessionTiming } from './play-session.ts';
import { isAlive, presenceKeys } from './presence.ts';

/** A play that ended. Its session is evaluated from its start to its end. */
export interface EndedPlay {
  playId: string;
  startedAt: Date;
  /** Time at which the score was submitted, so that a delay in the queue does not count as silence of the client. */
  endedAt: Date;
}

/** ok: unbroken. held: broken, and the service may be the cause, so a moderator decides. refused: broken by the client. */
export type HeartbeatVerdict = { verdict: 'ok' } | { verdict: 'held'; reason: string } | { verdict: 'refused'; reason: string };

/** State of the API processes that hold sessions, read from Redis. */
interface ServiceState {
  /** Redis has every heartbeat from this instant on, ms since 1970. Infinity = heartbeats may be lost at any time. */
  since: number;
  alive: ReadonlySet<string>;
}

/**
 * Evaluates the sessions of plays by their heartbeats.
 * @returns one verdict per play, in the order of `plays`
 * @throws an error of Redis; the caller retries
 */
export async function evaluateHeartbeats(app: App, plays: readonly EndedPlay[], timing: SessionTiming = SESSION_TIMING): Promise<HeartbeatVerdict[]> {
  if (plays.length === 0) return [];
  const { redis } = app;
  const { prefix } = app.config.redis;
  const keys = presenceKeys(prefix);
  // Sends the commands together, without one script, because in a cluster the keys are on different nodes.
  const [since, any, records] = await Promise.all([
    redis.get(keys.since),
    redis.exists(keys.any),
    Promise.all(plays.map((play) => readPlaySession(redis, prefix, play.playId))),
  ]);
  const holders = [...new Set(records.flatMap((session) => (session ? [session.holder] : [])))];
  const areAlive = await Promise.all(holders.map((holder) => isAlive(redis, prefix, holder, timing)));
  const service: ServiceState = {
    since: since === null || any === 0 ? Infinity : Number(since),
    alive: new Set(holders.filter((_, i) => areAlive[i])),
  };
  return plays.map((play, i) => evaluateSession(play, records[i] ?? null, service, timing));
}

const seconds = (ms: number) => Math.round(ms / 1000);

function evaluateSession(play: EndedPlay, session: PlaySession | null, service: ServiceState, timing: SessionTiming): HeartbeatVerdict {
  const limit = maxSilenceMs(timing);
  const startedAt = play.startedAt.getTime();
  const endedAt = play.endedAt.getTime();
  if (!session || session.count === 0) {
    // The holder's process marks a silent client. A long silence without this mark was caused by the service.
    const unmarked = session !== null && session.left !== 'client' && endedAt - session.last > limit;
    const excused = startedAt < service.since || unmarked || (session !== null && (session.left === 'service' || !service.alive.has(session.holder)));
    return excused
      ? { verdict: 'held', reason: 'the heartbeats were lost by the service' }
      : { verdict: 'refused', reason: 'no heartbeat was received' };
  }
  if (session.clientGap > limit && session.clientGapAt + limit < endedAt) {
    return { verdict: 'refused', reason: `no heartbeat was received for ${seconds(session.clientGap)} seconds` };
  }
  const silent = endedAt - session.last;
  if (silent > limit) {
    // The client is the cause only if the holder's process is alive and marked that the client left or was silent.
    const excused = session.last < service.since || session.left !== 'client' || !service.alive.has(session.holder);
    return excused
      ? { verdict: 'held', reason: `the service lost the session ${seconds(silent)} seconds before its end` }
      : { verdict: 'refused', reason: `no heartbeat was received for the last ${seconds(silent)} seconds` };
  }
  if (session.serviceGap > limit && session.serviceGapAt + limit < endedAt) {
    return { verdict: 'held', reason: `the service lost the session for ${seconds(session.serviceGap)} seconds` };
  }
  return { verdict: 'ok' };
}
