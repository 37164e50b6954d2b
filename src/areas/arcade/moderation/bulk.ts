import type { z } from 'zod';
import { lockPlayers, openDay } from '#areas/points';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { toHttpError } from '#platform/http/errors.ts';
import { findGame } from '../games/registry.ts';
import { type Decision, decideScore, report, voidScore, write } from '../scores/decide.ts';
import { lockScores } from '../scores/moderation.ts';
import { countUndecided, findScores, type ListedScore } from './lists.ts';
import { type Decisions, type DecisionsRequest, MAX_DECISIONS, type ScoreFilter } from './schemas.ts';

/** Maximum scores that one transaction rejects. */
const CHUNK_SIZE = 100;
/** Author of the decisions that a ban causes. */
export const BAN = 'ban';

type Skipped = z.input<typeof Decisions>['skipped'];

/**
 * Decides up to `MAX_DECISIONS` scores. Each transaction is complete in itself, so a request that was interrupted is sent again: it decides the scores
 * that are left, and lists the others as skipped.
 */
export async function decideScores(app: App, { ids, filter, decision, reason }: DecisionsRequest, by: string): Promise<z.input<typeof Decisions>> {
  const matching: ScoreFilter | null = filter ? { ...filter, status: decision === 'void' ? 'accepted' : 'held' } : null;
  const found = await findScores(app.db, matching ?? ids ?? [], MAX_DECISIONS);
  const known = new Set(found.map(({ id }) => id));
  const unknown = (ids ?? []).filter((id) => !known.has(id)).map((scoreId) => ({ scoreId, error: 'no such score' }));
  const skipped = decision === 'reject' ? await rejectAll(app, found, { by, reason }) : await decideEach(app, found, decision, { by, reason });
  const left = matching ? await countUndecided(app.db, matching) : 0;
  return { decided: found.length - skipped.length, skipped: [...unknown, ...skipped], left };
}

/** Rejects held scores, one transaction per chunk. @returns the scores that are not held */
async function rejectAll(app: App, scores: readonly ListedScore[], decision: Decision): Promise<Skipped> {
  const skipped: Skipped = [];
  for (let from = 0; from < scores.length; from += CHUNK_SIZE) {
    const chunk = scores.slice(from, from + CHUNK_SIZE);
    skipped.push(...(await app.tx((tx) => rejectHeld(tx, chunk, decision))));
  }
  return skipped;
}

/**
 * Rejects the scores that are held; for a ban, only of wallets that are still banned.
 * @returns the other scores, with the reason why they were not rejected
 */
export async function rejectHeld(tx: Tx, scores: readonly ListedScore[], decision: Decision): Promise<Skipped> {
  const open = await openDay(tx);
  const players = await lockPlayers(
    tx,
    scores.map(({ wallet }) => wallet),
  );
  const locked = await lockScores(
    tx,
    scores.map(({ id }) => id),
  );
  const held = locked.filter(({ status, wallet }) => status === 'held' && (decision.by !== BAN || players.get(wallet)?.banned));
  if (held.length > 0) {
    await write(
      tx,
      open,
      decision,
      held.map((score) => ({ ...score, status: 'rejected' as const })),
    );
  }
  for (const score of held) report(tx, score, 'rejected', 0, decision.reason);
  return locked.filter(({ status }) => status !== 'held').map(({ id, status }) => ({ scoreId: id, error: `the score is ${status}, not held` }));
}

/** Accepts or voids scores, one transaction per score. @returns the scores that could not be decided */
async function decideEach(app: App, scores: readonly ListedScore[], verdict: 'accept' | 'void', decision: Decision): Promise<Skipped> {
  const skipped: Skipped = [];
  for (const { id, gameId } of scores) {
    try {
      const game = await findGame(app, gameId);
      if (!game) skipped.push({ scoreId: id, error: 'no such game' });
      else if (verdict === 'accept') await decideScore(app, game, id, verdict, decision);
      else await voidScore(app, id, decision);
    } catch (error) {
      const { status, message } = toHttpError(error);
      if (status >= 500) throw error;
      skipped.push({ scoreId: id, error: message });
    }
  }
  return skipped;
}
