import { createHash } from 'node:crypto';
import { processScores } from '#areas/arcade';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import type { SignedIn } from '../wallet.ts';
import { sql } from './boards.ts';

/** Records scores of a wallet in games without verification, in one batch. @returns their ids */
export async function recordScores(app: App, wallet: string, scores: readonly { gameId: string; score: number }[]): Promise<string[]> {
  const submissions = scores.map(({ gameId, score }) => ({
    id: newId(),
    wallet,
    gameId,
    score,
    playId: null,
    durationMs: null,
    battleId: null,
    signature: null,
    replay: null,
    idempotencyKey: null,
    bodyHash: createHash('sha256').update(`${gameId} ${score}`).digest('hex'),
    at: app.clock.now().toISOString(),
  }));
  const outcomes = await processScores(app, submissions);
  const refused = outcomes.find(({ outcome }) => outcome.status !== 200);
  if (refused) throw new Error(`a score was refused: ${JSON.stringify(refused)}`);
  return submissions.map(({ id }) => id);
}

/** Sets the mode of a wallet: beta or regular. */
export async function setBeta(player: SignedIn, enabled: boolean): Promise<void> {
  const response = await player.fetch('/api/beta/preference', { json: { enabled } });
  if (response.status !== 200) throw new Error(`the preference answered ${response.status}`);
}

/** Reads the points of a wallet in a mode from the ledger. */
export async function balanceOf(app: App, wallet: string, mode: 'regular' | 'beta'): Promise<number> {
  const [row] = await sql<{ points: number }>(app, 'select coalesce(sum(points), 0)::float8 as points from ledger where wallet = $1 and mode = $2', [
    wallet,
    mode,
  ]);
  return row?.points ?? 0;
}
