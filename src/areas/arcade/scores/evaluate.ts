import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Mode } from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import type { Game } from '../games/definition.ts';
import type { HeartbeatVerdict } from '../plays/evaluate-heartbeats.ts';

/** A row of the table `plays`. */
export interface Play {
  id: string;
  wallet: string;
  gameId: string;
  /** Mode in which the wallet played when it started the play. */
  mode: Mode;
  startedAt: Date;
}

/** Verdict on a submission. `accepted`: valid. `held`: doubtful, so a moderator decides. `refused`: invalid. */
type ScoreVerdict = { verdict: 'accepted' } | { verdict: 'held'; reasons: string[] } | { verdict: 'refused'; error: string };

/** Tolerance for clock differences and request delays, ms. */
const TOLERANCE_MS = 2_000;

const refused = (error: string): ScoreVerdict => ({ verdict: 'refused', error });

/**
 * Evaluates a submission without side effects.
 * @param play the row of the play that `playId` names; undefined when there is none
 * @param heartbeats the verdict on the session of this play; undefined when the game does not verify by heartbeat
 * @param endedAt time at which the client submitted the score
 */
export function evaluateSubmission(
  game: Game,
  submission: Submission,
  play: Play | undefined,
  heartbeats: HeartbeatVerdict | undefined,
  endedAt: Date,
): ScoreVerdict {
  const { min, max } = game.normalization;
  if (submission.score < min || submission.score > max) return refused(`score must be an integer from ${min} to ${max} in this game`);
  if (game.secret !== null && !isSigned(game.secret, submission)) {
    return refused('signature must be the hex HMAC-SHA256 of v1:{playId}:{wallet}:{score}:{durationMs} under the game’s secret');
  }
  if (submission.playId === null) return game.verification === 'none' ? { verdict: 'accepted' } : refused('playId is required in this game');
  if (!play || play.wallet !== submission.wallet || play.gameId !== game.id) return refused('playId must name a play that you started in this game');
  return evaluatePlay(game, submission, play, heartbeats, endedAt);
}

function evaluatePlay(game: Game, submission: Submission, play: Play, heartbeats: HeartbeatVerdict | undefined, endedAt: Date): ScoreVerdict {
  const elapsedMs = endedAt.getTime() - play.startedAt.getTime();
  const { minDurationMs, maxDurationMs, scorePerSec } = game.caps;
  if (elapsedMs > maxDurationMs + TOLERANCE_MS)
    return refused(`playId must name a play that began at most ${Math.round(maxDurationMs / 1000)} seconds ago`);
  if (elapsedMs < minDurationMs) return refused(`playId must name a play that lasted at least ${minDurationMs} ms`);
  const durationMs = submission.durationMs ?? elapsedMs;
  if (durationMs > elapsedMs + TOLERANCE_MS) return refused('durationMs must not be longer than the play');
  if (durationMs < minDurationMs) return refused(`durationMs must be at least ${minDurationMs} in this game`);
  if (heartbeats?.verdict === 'refused') return refused(`playId must name a play with an unbroken session: ${heartbeats.reason}`);

  const reasons: string[] = [];
  if (heartbeats?.verdict === 'held') reasons.push(heartbeats.reason);
  const perSec = submission.score / Math.max(durationMs / 1000, 1);
  if (scorePerSec !== undefined && perSec > scorePerSec)
    reasons.push(`the score is ${Math.round(perSec)} per second, above the limit of ${scorePerSec}`);
  return reasons.length > 0 ? { verdict: 'held', reasons } : { verdict: 'accepted' };
}

function isSigned(secret: string, s: Submission): boolean {
  if (s.signature === null || s.durationMs === null) return false;
  const text = `v1:${s.playId ?? ''}:${s.wallet}:${s.score}:${s.durationMs}`;
  const expected = createHmac('sha256', secret).update(text).digest();
  const given = Buffer.from(s.signature, 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
