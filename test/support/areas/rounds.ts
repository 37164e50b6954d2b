import { ADMIN_TOKEN } from '../app.ts';
import { FAST_SUBMISSION, type RewardsTest, startRewardsTest } from '../solana/claims.ts';
import { sql } from './boards.ts';
import { retryUntilPass } from './player.ts';

/** Environment in which the beacon round is due soon after the commitment, and in which a wallet may open many rounds. */
export const FAST_DRAWS = { ...FAST_SUBMISSION, DRAW_LEAD_SEC: '3', LEGACY_ROUNDS_UNFINISHED: '1000', LEGACY_ROUNDS_PER_WALLET: '1000' };

/** Starts an application with its own Solana cluster and fast draws. */
export function startRoundsTest(options: Parameters<typeof startRewardsTest>[0] = {}): Promise<RewardsTest> {
  return startRewardsTest({ ...options, env: { ...FAST_DRAWS, ...options.env } });
}

/** Headers of an administrator's requests. */
export const asAdmin = { Authorization: `Bearer ${ADMIN_TOKEN}` };

/** Waits until a round is in a state. @param within maximum wait, ms */
export async function untilState(t: RewardsTest, round: string, state: string, within = 30_000): Promise<void> {
  await retryUntilPass(async () => {
    const rows = await sql<{ state: string }>(t.app, 'select state from rounds where id = $1', [round]);
    if (rows[0]?.state !== state) throw new Error(`round ${round} is ${rows[0]?.state ?? 'missing'}, not ${state}`);
  }, within);
}
