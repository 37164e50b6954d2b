import { reconcilePayouts } from '#jobs/payouts.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import { contradictionScope, EVERYTHING, resume, selectContradictions } from '#platform/solana/submission/index.ts';
import { differingKeys } from './keys.ts';
import { acceptKeys, type ChainRecord, lockRecord, selectRecord } from './rows.ts';
import { AcceptKeysRequest, ChainRecordView, ResumeKindRequest } from './schemas.ts';

const changedOf = ({ keys, otherKeys }: ChainRecord) => (keys === null || otherKeys === null ? [] : differingKeys(keys, otherKeys));

async function readView(app: App) {
  const record = (await app.db.query(selectRecord))[0];
  if (!record) throw new Error('the table chain_record is empty');
  const { stop, doubt, afterHeight, keys, otherKeys } = record;
  const contradictions = await app.db.query(selectContradictions);
  return { stop, doubt, afterHeight, keys, otherKeys, changed: changedOf(record), contradictions };
}

export const getChain = route({
  method: 'get',
  path: '/admin/chain',
  auth: { admin: 'money' },
  summary: 'Recorded keys, and why signing is stopped',
  returns: { 200: ChainRecordView },
  fails: [],
  handler: async ({ app }) => reply(200, await readView(app)),
});

export const postAcceptKeys = route({
  method: 'post',
  path: '/admin/chain/accept-keys',
  auth: { admin: 'money' },
  summary: 'Accept the keys of the workers after a restore',
  description:
    'When the database was restored and the workers have other keys or mints than it records, nothing is signed. This request records the new ones, so that signing continues. ' +
    'Use it only when nothing was signed with a third set of keys since the backup. The request must name all keys that differ, otherwise it fails with 409. Without a stop it changes nothing.',
  body: AcceptKeysRequest,
  returns: { 200: ChainRecordView },
  fails: [409],
  handler: async ({ app, admin, body }) => {
    await app.tx(async (tx) => {
      const record = (await tx.query(lockRecord))[0];
      if (!record || record.stop === null) return;
      const changed = changedOf(record);
      if (changed.toSorted().join() !== [...new Set(body.changed)].sort().join()) throw fail(409, `changed must list: ${changed.join(', ')}`);
      await tx.query(acceptKeys, [admin]);
      await resume(tx, EVERYTHING);
      tx.enqueue(reconcilePayouts, {});
    });
    return reply(200, await readView(app));
  },
});

export const postResumeKind = route({
  method: 'post',
  path: '/admin/chain/resume',
  auth: { admin: 'money' },
  summary: 'Resume a transaction kind after the RPC providers contradicted each other',
  description:
    'Use it after the provider that was wrong was replaced. Transactions whose result the providers still state differently stay open, and pause the kind again. A kind that is not paused stays unchanged.',
  body: ResumeKindRequest,
  returns: { 200: ChainRecordView },
  fails: [],
  handler: async ({ app, body }) => {
    await app.tx((tx) => resume(tx, contradictionScope(body.kind)));
    return reply(200, await readView(app));
  },
});

export const restoreRoutes = [getChain, postAcceptKeys, postResumeKind];
