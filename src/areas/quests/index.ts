/** The public API of quests: the activity consumer and the open quests. */
export { questConsumer } from './consumer.ts';
export { presentQuest, QuestView } from './schemas.ts';
export { openQuests } from './wallet-quests.ts';
