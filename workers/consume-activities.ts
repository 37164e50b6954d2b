import type { consumeActivities as job } from '../jobs/activities.ts';
import { battleConsumer } from '../src/areas/battles/battles.ts';
import { type Consumer, consumeActivities as consume } from '../src/areas/points/points.ts';
import { questConsumer } from '../src/areas/quests/quests.ts';
import { referralConsumer } from '../src/areas/referrals/referrals.ts';
import type { Handler } from './handler.ts';

const consumers: readonly Consumer[] = [referralConsumer, questConsumer, battleConsumer];
/** Batches of one run; the next one is half a second away. */
const MOST_BATCHES = 50;

/** Consumes what is open. */
export const consumeActivities: Handler<typeof job> = async (app) => {
  for (let i = 0; i < MOST_BATCHES; i++) if (!(await consume(app, consumers))) return;
};
