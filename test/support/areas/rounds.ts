import { ADMIN_TOKEN } from '../app.ts';
import { FAST_LANDING, type RewardsTest, startRewardsTest } from '../solana/claims.ts';
import { sql } from './boards.ts';
import { eventually } from './player.ts';

/** The beacon's round comes soon after a commitment. */
export const FAST_DRAWS = { ...FAST_LANDING, DRAW_LEAD_SEC: '3', DRAW_MARGIN_SEC: '1' };

/** An application and a cluster of its own, with draws as fast as seconds allow. */
export function startRoundsTest(options: Parameters<typeof startRewardsTest>[0] = {}): Promise<RewardsTest> {
  return startRewardsTest({ ...options, env: { ...FAST_DRAWS, ...options.env } });
}

/** What an administrator's requests carry. */
export const asAdmin = { Authorization: `Bearer ${ADMIN_TOKEN}` };

/** Waits until a round is in a state. */
export async function untilState(t: RewardsTest, round: string, state: string, within = 30_000): Promise<void> {
  await eventually(async () => {
    const rows = await sql<{ state: string }>(t.app, 'select state from rounds where id = $1', [round]);
    if (rows[0]?.state !== state) throw new Error(`round ${round} is ${rows[0]?.state ?? 'not there'}, not ${state}`);
  }, within);
}
