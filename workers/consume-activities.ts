import { battleConsumer } from '#areas/battles';
import { type Consumer, consumeActivities as consume } from '#areas/points';
import { questConsumer } from '#areas/quests';
import { referralConsumer } from '#areas/referrals';
import type { consumeActivities as job } from '#jobs/activities.ts';
import type { Handler } from './handler.ts';

const consumers: readonly Consumer[] = [referralConsumer, questConsumer, battleConsumer];
/** Batches of one run; the next one is half a second away. */
const MOST_BATCHES = 50;

/** Consumes what is open. */
export const consumeActivities: Handler<typeof job> = async (app) => {
  for (let i = 0; i < MOST_BATCHES; i++) if (!(await consume(app, consumers))) return;
};
