import { gameBoard, type Player, readPage } from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import { daysBefore, rangeOf, tomorrow } from '#lib/ids.ts';
import { SCALE } from '#lib/normalization.ts';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { idBetween, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { earnsRewards, type Game } from '../games/definition.ts';

/** Number of wallets in the top of a board that newcomers do not enter without a decision. */
const TOP = 10;
/** Maximum age of the cached score of the last place in the top of a game, ms. */
const TOP_MAX_AGE_MS = 1_000;
/** Minimum number of possible raw scores in a game at which equal scores are improbable. */
const MIN_RANGE = 1_000;

const selectEqual = statement<{ id: string; count: number }>(
  'select_equal_scores',
  `select k.id::text as id, e.count
   from unnest($1::uuid[], $2::text[], $3::text[], $4::int[], $5::int8[], $6::uuid[]) as k(id, wallet, game_id, normalized, score, since), lateral (
     select count(*)::int as count from scores s
     where s.wallet = k.wallet and s.game_id = k.game_id and s.normalized = k.normalized and s.day >= (select app_day()) - 1
       and s.id > k.since and ${idBetween('s.id', '$7::uuid', '$8::uuid')} and s.score = k.score offset 0) e
   where e.count > 0`,
);

/** A submission with its normalized score and its game. */
export interface NormalizedSubmission {
  readonly submission: Submission;
  readonly normalized: number;
  readonly game: Game;
}

/** Returns whether a rule of the game holds repeated scores, and equal scores are improbable. */
const holdsRepeats = ({ review, normalization: { min, max } }: Game, normalized: number): boolean =>
  review.repeatedScores !== null && normalized > 0 && max - min >= MIN_RANGE;

/**
 * Counts, for each submission that a game's rule about repeated scores concerns, the scores of the wallet in the game with the same raw score that were
 * submitted within three days and count for the present or the last UTC day.
 * @returns the counts by submission id; a count of 0 is left out
 */
export async function countEqualScores(tx: Tx, submissions: readonly NormalizedSubmission[]): Promise<Map<string, number>> {
  const concerned = submissions.filter(({ game, normalized }) => holdsRepeats(game, normalized));
  const since = concerned.map(({ submission }) => daysBefore(submission.id, 3));
  const [first] = rangeOf(since);
  if (first === null) return new Map();
  const rows = await tx.query(selectEqual, [
    concerned.map(({ submission }) => submission.id),
    concerned.map(({ submission }) => submission.wallet),
    concerned.map(({ submission }) => submission.gameId),
    concerned.map(({ normalized }) => normalized),
    concerned.map(({ submission }) => submission.score),
    since,
    first,
    tomorrow(),
  ]);
  return new Map(rows.map(({ id, count }) => [id, count]));
}

const selectHeld = statement<{ wallet: string; count: number }>(
  'count_held_scores',
  `select wallet, count(*)::int as count from scores where status = 'held' and wallet = any($1::text[]) group by wallet`,
);

/** Counts the held scores of wallets, in all games. @returns the counts by wallet; a count of 0 is left out */
export async function countHeldScores(tx: Tx, wallets: readonly string[]): Promise<Map<string, number>> {
  return new Map((await tx.query(selectHeld, [wallets])).map(({ wallet, count }) => [wallet, count]));
}

const tops = perApp((app) =>
  ttlCache<string, number | null>(TOP_MAX_AGE_MS, async (gameId) => {
    const { entries } = await readPage(app, gameBoard(gameId), { span: 'all', limit: TOP, offset: 0 });
    return entries[TOP - 1]?.score ?? null;
  }),
);

/**
 * Returns the score of the tenth place on the all-time board of each game that holds scores of newcomers; null for a board with fewer wallets. The
 * scores are at most a second old.
 */
export async function readTops(app: App, games: readonly Game[]): Promise<Map<string, number | null>> {
  const reviewed = games.filter((game) => game.review.newcomerScores !== null && earnsRewards(game));
  const cache = app.state(tops);
  const entries = reviewed.map(async ({ id }) => {
    const top = await cache.get(id);
    // Reads a short board again for the next batch, so that many newcomers cannot pass in the second in which the board becomes full.
    if (top === null) cache.delete(id);
    return [id, top] as const;
  });
  return new Map(await Promise.all(entries));
}

/** A submission that passed all checks, with all that the rules compare. */
export interface ReviewedScore {
  readonly score: number;
  readonly normalized: number;
  /** Number of equal scores, as `countEqualScores` returns it. */
  readonly equalScores: number;
  /** Number of accepted scores of the wallet in the game. */
  readonly accepted: number;
  /** Result of `countOverlap`, ms. */
  readonly overlapMs: number;
  /** Score of the tenth place on the board; null when the board has fewer wallets. */
  readonly top: number | null;
  /** Whether the score would count on the public board. */
  readonly isPublic: boolean;
}

/**
 * Returns the reasons why a score is held under the rules of its game; empty for a score that no rule holds. The reasons name no threshold, because
 * the wallet reads them.
 */
export function reviewScore(game: Game, one: ReviewedScore): string[] {
  const { perfectFrom, repeatedScores, overlapSec, newcomerScores } = game.review;
  const reasons: string[] = [];
  if (perfectFrom !== null && one.normalized >= perfectFrom) reasons.push('the score is at the maximum of the game, or near it');
  if (repeatedScores !== null && holdsRepeats(game, one.normalized) && one.equalScores + 1 >= repeatedScores)
    reasons.push('the wallet submitted the same score several times within two days');
  if (overlapSec !== null && one.overlapMs > overlapSec * 1_000)
    reasons.push('the plays of the wallet together are longer than the time in which it played them');
  const isNewcomer = newcomerScores !== null && earnsRewards(game) && one.accepted < newcomerScores;
  if (isNewcomer && one.isPublic && one.top !== null && one.normalized >= Math.min(one.top, SCALE))
    reasons.push('the score is in the top ten of the game, and the wallet has few accepted scores in the game');
  return reasons;
}

/**
 * Adds a play to the overlap of a locked player: the time by which the plays of the wallet are longer than the time that passed. The plays of a
 * wallet that plays one game at a time never overlap. Time without plays reduces the overlap.
 * @param endedAt time at which the client submitted the score of the play
 */
export function countOverlap(player: Player, durationMs: number, endedAt: Date): void {
  const passedMs = player.lastScoreAt === null ? Number.POSITIVE_INFINITY : Math.max(0, endedAt.getTime() - player.lastScoreAt);
  player.overlapMs = Math.max(0, player.overlapMs + durationMs - passedMs);
  player.lastScoreAt = Math.max(player.lastScoreAt ?? 0, endedAt.getTime());
}
