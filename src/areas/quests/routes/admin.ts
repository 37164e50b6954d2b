import { expectedVersions, versionTag } from '#areas/arcade';
import { reply, route } from '#platform/http/route.ts';
import { NewQuest, QuestPatch } from '../definition.ts';
import { changeQuest, checkGames, createQuest, deleteQuest, readQuest, readVersions } from '../rows.ts';
import {
  CompleteQuest,
  presentDetail,
  presentFactors,
  presentForOperators,
  QuestAdminView,
  QuestCompleted,
  QuestDetail,
  QuestPath,
} from '../schemas.ts';
import { completeManually, readHolding } from '../wallet-quests.ts';

const CONTENT = { admin: 'content' } as const;

const postQuest = route({
  method: 'post',
  path: '/quests',
  auth: CONTENT,
  summary: 'Create a quest',
  description: 'Activities on the whole UTC day of the start count. 409: the id was used before, or there are 200 quests already.',
  body: NewQuest,
  returns: { 201: QuestAdminView },
  fails: [409],
  idempotent: true,
  handler: async ({ app, body, admin, once }) => {
    await checkGames(app, body.definition);
    return await once(async (tx) => reply(201, presentForOperators(await createQuest(tx, body.id, body.definition, admin))));
  },
});

const getQuest = route({
  method: 'get',
  path: '/quests/{id}',
  auth: CONTENT,
  summary: 'Read a quest with its versions and completions',
  params: QuestPath,
  returns: { 200: QuestDetail },
  fails: [404],
  handler: async ({ app, params }) => {
    const quest = await readQuest(app.db, params.id);
    return reply(200, presentDetail(quest, await readVersions(app.db, quest.id)), { ETag: versionTag(quest.version) });
  },
});

const patchQuest = route({
  method: 'patch',
  path: '/quests/{id}',
  auth: CONTENT,
  summary: 'Change a quest',
  description:
    'Creates a new version. Completions and earned points stay. A patch that changes nothing keeps the version. With If-Match, the quest changes only if it has that version.',
  params: QuestPath,
  body: QuestPatch,
  returns: { 200: QuestAdminView },
  fails: [404, 412],
  handler: async ({ app, params, body, admin, ctx }) => {
    if (body.requirement) await checkGames(app, { requirement: body.requirement });
    const quest = await app.tx((tx) => changeQuest(tx, params.id, body, expectedVersions(ctx), admin));
    return reply(200, presentForOperators(quest), { ETag: versionTag(quest.version) });
  },
});

const removeQuest = route({
  method: 'delete',
  path: '/quests/{id}',
  auth: CONTENT,
  summary: 'Delete a quest',
  description: 'The quest disappears from all lists and cannot be completed. Earned points stay.',
  params: QuestPath,
  returns: { 204: null },
  fails: [404],
  handler: async ({ app, params }) => {
    await app.tx((tx) => deleteQuest(tx, params.id));
    return reply(204, null);
  },
});

const postCompletion = route({
  method: 'post',
  path: '/admin/quests/{id}/complete',
  auth: CONTENT,
  summary: 'Complete a quest for a wallet',
  description:
    'Completes the quest without checking its requirement, even when it is not active. The multiplier applies. 409: completed in this window already, or the wallet is banned.',
  params: QuestPath,
  body: CompleteQuest,
  returns: { 200: QuestCompleted },
  fails: [404, 409],
  idempotent: true,
  handler: async ({ app, params, body, admin, once }) => {
    const holdings = await readHolding(app, body.wallet);
    return await once(async (tx) => {
      const quest = await readQuest(tx, params.id);
      const { award, at } = await completeManually(tx, quest, body.wallet, admin, holdings);
      return reply(200, {
        questId: quest.id,
        wallet: body.wallet,
        window: award.windowKey,
        pointsAwarded: award.points,
        factors: presentFactors(award.factors),
        completedAt: at.toISOString(),
        by: admin,
      });
    });
  },
});

export const adminRoutes = [postQuest, getQuest, patchQuest, removeQuest, postCompletion];
