import { z } from 'zod';
import { archivedHeader, listLedgerEntries, readLedgerEntry, readPlayerMode } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { ApprovalView, presentApproval } from '#platform/auth/approval-view.ts';
import { needsApproval, requestApproval } from '#platform/auth/approvals.ts';
import { reply, route } from '#platform/http/route.ts';
import type { GrantAction } from '../approvals/actions.ts';
import { adjustPoints, revokeEntry } from './adjust.ts';
import { AdjustmentPath, AdjustmentRequest, LedgerEntryView, LedgerPath, LedgerQuery, presentEntry, RevokeRequest } from './schemas.ts';

export const postPoints = route({
  method: 'post',
  path: '/admin/wallets/{wallet}/points',
  // Requires the scope `money`, because points can earn rewards.
  auth: { admin: 'money' },
  summary: 'Give points to a wallet or take points from it',
  description:
    'Appends a ledger entry of the source adjustment. The points count on the global board, for all time and for the current periods. With `rewards: true`, the epoch of the current day counts them as well. ' +
    'A wallet whose total is not above 0 is on no board. 404: the wallet has never signed in. 409: a banned wallet can only lose points. ' +
    'Above the amount in APPROVALS, which counts the points that the token gave on the same day, the response is 202 with an approval, and a second token must approve it.',
  params: AdjustmentPath,
  body: AdjustmentRequest,
  returns: { 201: LedgerEntryView, 202: ApprovalView },
  fails: [404, 409],
  idempotent: true,
  handler: async ({ app, params, body: { reason, ...body }, admin, once }) =>
    await once(async (tx) => {
      const action = { kind: 'grant', amount: BigInt(body.points), by: admin } as const;
      if (await needsApproval(app, tx, action)) {
        const payload: GrantAction = { wallet: params.wallet, reason, ...body };
        const summary = `${body.points} points for ${params.wallet}: ${reason}`;
        const approval = await requestApproval(tx, { ...action, summary, payload });
        return reply(202, presentApproval(approval), { Location: `/admin/approvals/${approval.id}` });
      }
      return reply(201, presentEntry(await adjustPoints(tx, params.wallet, body, { by: admin, note: reason })));
    }),
});

const getWalletLedger = route({
  method: 'get',
  path: '/admin/wallets/{wallet}/ledger',
  auth: { admin: 'moderation' },
  summary: 'List the ledger entries of a wallet',
  description: 'Newest first, both modes. 404: the wallet has never signed in.',
  params: AdjustmentPath,
  query: LedgerQuery,
  returns: { 200: z.array(LedgerEntryView) },
  archived: true,
  fails: [404],
  handler: async ({ app, params, query: { limit, offset, source } }) => {
    if ((await readPlayerMode(app.db, params.wallet)) === null) throw fail(404, 'the wallet has never signed in');
    const page = listLedgerEntries(app.db, { ...params, source }, limit, offset);
    const [{ entries, total }, archived] = await Promise.all([page, archivedHeader(app.db)]);
    return reply(200, entries.map(presentEntry), { 'X-Total-Count': String(total), ...archived });
  },
});

const getEntry = route({
  method: 'get',
  path: '/admin/ledger/{id}',
  auth: { admin: 'moderation' },
  summary: 'Read a ledger entry',
  params: LedgerPath,
  returns: { 200: LedgerEntryView },
  fails: [404],
  handler: async ({ app, params }) => reply(200, presentEntry(await readLedgerEntry(app.db, params.id))),
});

const postRevoke = route({
  method: 'post',
  path: '/admin/ledger/{id}/revoke',
  auth: { admin: 'money' },
  summary: 'Take back the points of a ledger entry',
  description:
    'Appends an entry with the opposite points on the current day, once per entry; both entries name each other. A revoked completion of a quest stays, with 0 points. For a conversion of beta points, ' +
    'both of its entries are compensated, and the beta points can be converted again. 409: the entry is revoked already, it is itself a compensation, or its points come from a score: void the score instead.',
  params: LedgerPath,
  body: RevokeRequest,
  returns: { 201: LedgerEntryView },
  fails: [404, 409],
  idempotent: true,
  handler: async ({ params, body, admin, once }) =>
    await once(async (tx) => reply(201, presentEntry(await revokeEntry(tx, params.id, { by: admin, note: body.reason })))),
});

/** Endpoints that list ledger entries, give and take points, and revoke entries. */
export const ledgerRoutes = [postPoints, getWalletLedger, getEntry, postRevoke];
