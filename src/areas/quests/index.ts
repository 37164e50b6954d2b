/** The door of quests. */
export { questConsumer } from './consumer.ts';
export { presentQuest, QuestView } from './schemas.ts';
export { openQuests } from './wallet-quests.ts';
