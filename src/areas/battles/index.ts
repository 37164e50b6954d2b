/** The door of battles: seats, what was scored in them, and their results. */
export { admitScores } from './admit.ts';
export { advanceBattles } from './advance.ts';
export { battleConsumer } from './consume.ts';
