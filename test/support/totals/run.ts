import { compareBoards, compareLobbies } from './compare-boards.ts';
import { compareRewards } from './compare-rewards.ts';
import { compareWallets } from './compare-wallets.ts';
import { History, startTotalsApp } from './history.ts';

const STEPS_PER_ROUND = 50;
const LOGGED_STEPS = 40;
/** Times at which the rounds of a history begin. The days, a week, a month and a year end between them, and a day ends during two of them. */
const ROUNDS = [
  '2030-12-28T23:00:00Z',
  '2030-12-29T12:00:00Z',
  '2030-12-30T00:05:00Z',
  '2030-12-31T23:10:00Z',
  '2031-01-01T06:00:00Z',
  '2031-01-06T00:05:00Z',
] as const;

/** Compares all totals. The pages of boards that are read by SQL are cached for one second, so the clock moves first. */
async function compare(history: History): Promise<void> {
  await history.pass(1);
  await history.step('settle');
  await compareWallets(history);
  await compareBoards(history);
  await compareRewards(history);
}

/** Runs a random history and compares all totals after each part. @throws with the steps of the history when a total is wrong */
export async function runHistory(seed: number): Promise<History> {
  const t = await startTotalsApp();
  const history = new History(t, seed);
  try {
    await history.goTo(Date.parse(ROUNDS[0]));
    await history.begin();
    for (const [round, time] of ROUNDS.entries()) {
      history.log.push(`round ${round}`);
      await history.goTo(Date.parse(time));
      if (round > 0 && history.random.int(0, 2) > 0) await history.close();
      for (let i = 0; i < STEPS_PER_ROUND; i++) await history.step();
      await compare(history);
      // Loses Redis once, when it has boards and sessions; all totals must be the same without it.
      if (round !== 2) continue;
      history.log.push('reset Redis');
      await history.resetRedis();
      await compare(history);
    }
    await history.close();
    await compare(history);
    await compareLobbies(history);
    return history;
  } catch (error) {
    if (Error.isError(error)) error.message = `history ${seed}, after the steps … ${history.log.slice(-LOGGED_STEPS).join(', ')}:\n${error.message}`;
    throw error;
  } finally {
    await t.close();
  }
}
