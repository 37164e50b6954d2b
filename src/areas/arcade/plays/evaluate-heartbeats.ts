import type { App } from '#platform/app.ts';
import { maxSilenceMs, type PlaySession, readPlaySession, SESSION_TIMING, type SessionTiming } from './play-session.ts';
import { isAlive, presenceKeys } from './presence.ts';

/** A play that ended. The evaluation covers the session from the start to the end of the play. */
export interface EndedPlay {
  playId: string;
  startedAt: Date;
  /**
   * Time at which the client submitted the score. With the time of the evaluation instead, the delay in the job queue would count as silence of the
   * client.
   */
  endedAt: Date;
}

/**
 * Verdict on a session. `ok`: the client was never silent for too long. `refused`: the client was silent for too long. `held`: the service may have
 * caused a silence that was too long, so a moderator decides.
 */
export type HeartbeatVerdict = { verdict: 'ok' } | { verdict: 'held'; reason: string } | { verdict: 'refused'; reason: string };

/** State of the API processes that hold the sockets of sessions, read from Redis. */
interface ServiceState {
  /**
   * Redis has every heartbeat since this time, ms since 1970. Infinity when Redis may have lost any heartbeat, so that no silence counts against a
   * client.
   */
  since: number;
  alive: ReadonlySet<string>;
}

/**
 * Evaluates the sessions of plays by their heartbeats.
 * @returns one verdict per play, in the order of `plays`
 * @throws the error of a failed Redis command; the caller retries
 */
export async function evaluateHeartbeats(app: App, plays: readonly EndedPlay[], timing: SessionTiming = SESSION_TIMING): Promise<HeartbeatVerdict[]> {
  if (plays.length === 0) return [];
  const { redis } = app;
  const { prefix } = app.config.redis;
  const keys = presenceKeys(prefix);
  // Sends separate commands instead of one Lua script, because in a Redis cluster a script can access keys of only one node, and these keys are on
  // different nodes.
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
    // When a client is silent for too long, the process that holds the socket sets `left` to 'client'. So if `left` has another value, the service
    // caused the silence.
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
    // The client caused the silence if three conditions are true: Redis has every heartbeat since the last sign of life, the process that holds the
    // socket is alive, and this process recorded that the client left.
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
