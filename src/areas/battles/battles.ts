/** The door of battles: seats, what was scored in them, and their results. */
export { advanceBattles } from './advance.ts';
export { battleConsumer } from './consume.ts';
