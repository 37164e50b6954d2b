/** The public API of quests: the activity consumer, and the quests that can be completed at present. */
export { questConsumer } from './consumer.ts';
export { presentQuest, QuestView } from './schemas.ts';
export { openQuests } from './wallet-quests.ts';
