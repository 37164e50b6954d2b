/** The public API of quests: the activity consumer, the quests that can be completed at present, and the revocation of completions. */
export { announceDueQuests } from './announce.ts';
export { completeQuests } from './checks.ts';
export { questConsumer } from './consumer.ts';
export { revokeCompletion } from './revoke.ts';
export { presentQuest, QuestView } from './schemas.ts';
export { sweepQuests } from './sweeps.ts';
export { openQuests } from './wallet-quests.ts';
