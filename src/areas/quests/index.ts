/** The public API of quests: the activity consumer, the quests that can be completed at present, and the revocation of completions. */

export { ANNOUNCED_QUESTS, announceDueQuests, QUESTS } from './announce.ts';
export { completeQuests, DUE_QUEST_CHECKS } from './checks.ts';
export { revokeCompletion } from './completions/void.ts';
export { questConsumer } from './consumer.ts';
export { completeApproved } from './routes/approved-completion.ts';
export { presentQuest, QuestView } from './schemas.ts';
export { sweepQuests } from './sweeps.ts';
export { openQuests } from './wallet-quests.ts';
