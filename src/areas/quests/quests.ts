/** The door of quests. */
export { questConsumer } from './consumer.ts';
