import { setTimeout as sleep } from 'node:timers/promises';
import { runPlanner } from '#areas/payouts';
import type { planPayouts as job } from '#jobs/payouts.ts';
import type { Handler } from './handler.ts';

/** How long one run goes on before it makes room for the next, ms: a bell that rings meanwhile is not heard. */
const RUN_MS = 1_800;

/** Frees lanes whose batch is over, and puts what is owed into new batches, for as long as something is on its way. */
export const planPayouts: Handler<typeof job> = async (app) => {
  const end = performance.now() + RUN_MS;
  while (await runPlanner(app)) {
    if (performance.now() > end) return;
    await sleep(app.config.chain.landing.pollMs);
  }
};
