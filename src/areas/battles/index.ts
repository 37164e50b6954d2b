/** The public API of battles: the check of submissions, the end of battles, and the consumer of activities. */
export { admitScores } from './admit.ts';
export { advanceBattles } from './advance.ts';
export { battleConsumer } from './consumer.ts';
