import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Mode } from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import type { Game } from '../games/definition.ts';
import type { HeartbeatVerdict } from '../plays/evaluate-heartbeats.ts';
import type { ReplayEvidence } from '../replays/evidence.ts';

/** A row of the table `plays`. */
export interface Play {
  id: string;
  wallet: string;
  gameId: string;
  /** Mode in which the wallet played when it started the play. */
  mode: Mode;
  startedAt: Date;
  /** Time at which the wallet had started as many newer plays as its game allows at once; null for a live play. */
  endedAt: Date | null;
}

/**
 * Verdict on a submission. `accepted`: valid. `held`: doubtful, so a moderator decides. `refused`: invalid. `durationMs`: the duration of the play;
 * null without a play. `isReplay`: the replay is the reason of the refusal.
 */
type ScoreVerdict =
  | { verdict: 'accepted' | 'held'; reasons: string[]; durationMs: number | null }
  | { verdict: 'refused'; error: string; isReplay?: true };

/** The facts about a play that decide whether its score is valid. */
interface PlayEvidence {
  /** The row of the play; undefined when there is none. */
  play: Play | undefined;
  /** The verdict on the session of the play; undefined when the game does not verify by heartbeat. */
  heartbeats: HeartbeatVerdict | undefined;
  /** The result of the replay of the play; undefined when the submission has no replay, or the play has no seed. */
  replay: ReplayEvidence | undefined;
}

/** Tolerance for clock differences and request delays, ms. */
const TOLERANCE_MS = 2_000;

const refused = (error: string): ScoreVerdict => ({ verdict: 'refused', error });

/**
 * Evaluates a submission without side effects.
 * @param evidence what is known of the play that `playId` names
 * @param endedAt time at which the client submitted the score
 */
export function evaluateSubmission(game: Game, submission: Submission, evidence: PlayEvidence, endedAt: Date): ScoreVerdict {
  const { play } = evidence;
  const { min, max } = game.normalization;
  if (submission.score < min || submission.score > max) return refused(`score must be an integer from ${min} to ${max} in this game`);
  if (game.secret !== null && !isSigned(game.secret, submission)) {
    return refused('signature must be the hex HMAC-SHA256 of v1:{playId}:{wallet}:{score}:{durationMs} under the game’s secret');
  }
  if (submission.playId === null)
    return game.verification === 'none' ? { verdict: 'accepted', reasons: [], durationMs: null } : refused('playId is required in this game');
  if (!play || play.wallet !== submission.wallet || play.gameId !== game.id) return refused('playId must name a play that you started in this game');
  return evaluatePlay(game, submission, play, evidence, endedAt);
}

function evaluatePlay(game: Game, submission: Submission, play: Play, { heartbeats, replay }: PlayEvidence, endedAt: Date): ScoreVerdict {
  const elapsedMs = endedAt.getTime() - play.startedAt.getTime();
  const { minDurationMs, maxDurationMs, scorePerSec } = game.caps;
  if (play.endedAt !== null && endedAt > play.endedAt)
    return refused('playId must name a live play: the wallet started another play of the game after this one, which ended it');
  if (elapsedMs > maxDurationMs + TOLERANCE_MS)
    return refused(`playId must name a play that began at most ${Math.round(maxDurationMs / 1000)} seconds ago`);
  if (elapsedMs < minDurationMs) return refused('playId must name a play that lasted longer: no play of this game ends so soon');
  const durationMs = submission.durationMs ?? elapsedMs;
  if (durationMs > elapsedMs + TOLERANCE_MS) return refused('durationMs must not be longer than the play');
  if (durationMs < minDurationMs) return refused('durationMs must be longer: no play of this game ends so soon');
  if (heartbeats?.verdict === 'refused') return refused(`playId must name a play with an unbroken session: ${heartbeats.reason}`);

  const reasons: string[] = [];
  if (game.verification === 'replay') {
    if (submission.replay === null) return refused('replay is required in this game');
    if (!replay) return refused('playId must name a play with a seed, start a new play');
    const error = findReplayError(submission.score, replay, elapsedMs);
    if (error !== null) return { verdict: 'refused', error, isReplay: true };
    if ('held' in replay) reasons.push(replay.held);
  }
  if (heartbeats?.verdict === 'held') reasons.push(heartbeats.reason);
  const perSec = submission.score / Math.max(durationMs / 1000, 1);
  if (scorePerSec !== undefined && perSec > scorePerSec) reasons.push('the score per second of the play is above the limit of the game');
  return { verdict: reasons.length > 0 ? 'held' : 'accepted', reasons, durationMs };
}

/** Compares a score with its replay. The ticks of the replay must fit into the time since the start of the play. @returns null when both fit */
function findReplayError(score: number, replay: ReplayEvidence, elapsedMs: number): string | null {
  if ('held' in replay) return null;
  if ('refused' in replay) return replay.refused;
  if ((replay.ticks * 1000) / replay.ticksPerSecond > elapsedMs + TOLERANCE_MS)
    return 'replay must not have more ticks than fit into the time of the play';
  return replay.score === score ? null : 'score must be the score of the replay';
}

function isSigned(secret: string, s: Submission): boolean {
  if (s.signature === null || s.durationMs === null) return false;
  const text = `v1:${s.playId ?? ''}:${s.wallet}:${s.score}:${s.durationMs}`;
  const expected = createHmac('sha256', secret).update(text).digest();
  const given = Buffer.from(s.signature, 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
