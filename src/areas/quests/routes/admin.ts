import { expectedVersions, versionTag } from '#areas/arcade';
import { unavailable } from '#lib/errors.ts';
import { ApprovalView, presentApproval } from '#platform/auth/approval-view.ts';
import { reply, route } from '#platform/http/route.ts';
import { announceQuests } from '../announce.ts';
import { NewQuest, QuestPatch } from '../definition.ts';
import { checkGates } from '../gates.ts';
import { changeQuest, checkGames, createQuest, deleteQuest, questState, readCompletionCounts, readQuest, readQuests, readVersions } from '../rows.ts';
import {
  CompleteQuest,
  presentDetail,
  presentFactors,
  presentForOperators,
  QuestAdminView,
  QuestCompleted,
  QuestDetail,
  QuestList,
  QuestListQuery,
  QuestPath,
} from '../schemas.ts';
import { completeManually, readHolding } from '../wallet-quests.ts';
import { requestCompletionApproval } from './approved-completion.ts';

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
    checkGates(app, body.definition);
    return await once(async (tx) => {
      const quest = await createQuest(tx, body.id, body.definition, admin);
      await announceQuests(tx, [quest.id]);
      return reply(201, presentForOperators(quest));
    });
  },
});

const getQuests = route({
  method: 'get',
  path: '/admin/quests',
  auth: CONTENT,
  summary: 'List all quests with their states and completions',
  description:
    'Includes inactive, scheduled and ended quests, without deleted ones. Oldest first. A quest is scheduled when its `window.startsAt` is in the future.',
  query: QuestListQuery,
  returns: { 200: QuestList },
  fails: [],
  handler: async ({ app, query: { limit, offset, state } }) => {
    const now = app.clock.now().getTime();
    const quests = (await readQuests(app.db)).filter((quest) => state === undefined || questState(quest, now) === state);
    const page = quests.slice(offset, offset + limit);
    const counts = await readCompletionCounts(
      app.db,
      page.map(({ id }) => id),
    );
    const listed = page.map((quest) => {
      const { completions = 0, points = 0 } = counts.get(quest.id) ?? {};
      return { ...presentForOperators(quest), state: questState(quest, now), completions, pointsAwarded: points };
    });
    return reply(200, listed, { 'X-Total-Count': String(quests.length) });
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
    checkGates(app, body);
    const quest = await app.tx(async (tx) => {
      const changed = await changeQuest(tx, params.id, body, expectedVersions(ctx), admin);
      await announceQuests(tx, [changed.id]);
      return changed;
    });
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
    await app.tx(async (tx) => {
      await deleteQuest(tx, params.id);
      await announceQuests(tx, [params.id]);
    });
    return reply(204, null);
  },
});

export const postCompletion = route({
  method: 'post',
  path: '/admin/quests/{id}/complete',
  auth: CONTENT,
  summary: 'Complete a quest for a wallet',
  description:
    'Completes the quest without checking its requirement and its gates, even when it is not active. The multiplier applies. 503: the token balance of the wallet cannot be read from the chain at the moment. 404: there is no such quest, or the wallet has never signed in. 409: completed in this window already, or the wallet is banned. `POST /admin/ledger/{id}/revoke` takes the points back. ' +
    'Above the amount in APPROVALS, which counts the points that the token gave on the same day, and the highest multiplier of the quest, the response is 202 with an approval, and a second token must approve it.',
  params: QuestPath,
  body: CompleteQuest,
  returns: { 200: QuestCompleted, 202: ApprovalView },
  fails: [404, 409, 503],
  idempotent: true,
  handler: async ({ app, params, body, admin, once }) => {
    const holdings = await readHolding(app, body.wallet);
    if (!holdings) throw unavailable('the token balance of the wallet, which decides about a bonus, cannot be read at the moment, try again', 5);
    return await once(async (tx) => {
      const quest = await readQuest(tx, params.id);
      const approval = await requestCompletionApproval(app, tx, { quest, wallet: body.wallet, holdings, by: admin });
      if (approval) return reply(202, presentApproval(approval), { Location: `/admin/approvals/${approval.id}` });
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

export const adminRoutes = [postQuest, getQuests, getQuest, patchQuest, removeQuest, postCompletion];
