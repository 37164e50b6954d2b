/** The door of quests. */
export { questConsumer } from './consumer.ts';
export { openQuests } from './own.ts';
export { presentQuest, QuestView } from './schema.ts';
