/** The public API of battles: the check of scores that name battles, the end of battles, and the activity consumer. */
export { admitScores } from './admit.ts';
export { advanceBattles, DUE_BATTLES } from './advance.ts';
export { battleConsumer } from './consumer.ts';
export { listActiveBattles } from './list-active.ts';
export { BattleView } from './schemas.ts';
