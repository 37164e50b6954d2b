import { Readable } from 'node:stream';
import { z } from 'zod';
import { unavailable } from '#lib/errors.ts';
import { ApprovalView, presentApproval } from '#platform/auth/approval-view.ts';
import { preferredWaitMs } from '#platform/http/prefer-header.ts';
import { jsonOrStream, reply, route } from '#platform/http/route.ts';
import { awaitEpoch } from '../epochs/epochs.ts';
import { triggerEpoch } from '../epochs/trigger.ts';
import { DistributionReader } from '../import/distribution.ts';
import { type ImportResult, importDistribution } from '../import/import.ts';
import { MAX_UPLOAD_BYTES, readUpload } from '../import/upload.ts';
import { epochView } from '../present.ts';
import { EpochView, ImportRequest, TriggerRequest } from '../schemas.ts';

/** Maximum time that a trigger request waits until its epoch is computed, ms. */
const TRIGGER_MS = 5_000;
/** Maximum time that an import request waits until its epoch is computed, ms. */
const IMPORT_MS = 15_000;
const locationOf = (epoch: number) => ({ Location: `/api/rewards/epoch/${epoch}` });

export const postTrigger = route({
  method: 'post',
  path: '/rewards/trigger-epoch',
  auth: { admin: 'money' },
  summary: 'Compute the epoch of an ended day',
  description:
    'Computes the latest ended day if the request names no epoch. Normally the service computes each day automatically. Returns 201 when this request created the epoch, 200 when the epoch existed, and 202 while the epoch is being computed. The request waits up to 5 s for the epoch (`Prefer: wait=1` shortens this wait to 1 s). A day closes one minute after its end, and the epoch is computed then. Fails with 409 when the epoch was imported.',
  body: TriggerRequest,
  returns: { 200: EpochView, 201: EpochView, 202: EpochView },
  fails: [409],
  idempotent: true,
  handler: async ({ app, body, ctx, once }) => {
    const { epoch, begun, closed } = (await once(async (tx) => reply(202, await triggerEpoch(tx, body.epoch)))).body;
    const found = await awaitEpoch(app, epoch, closed ? preferredWaitMs(ctx, TRIGGER_MS) : 0);
    if (!found) throw unavailable('a concurrent import of this epoch was refused, send the request again');
    if (found.status === 'computing') return reply(202, epochView(found), locationOf(epoch));
    return reply(begun ? 201 : 200, epochView(found), locationOf(epoch));
  },
});

export const postImport = route({
  method: 'post',
  path: '/api/rewards/epoch/import',
  auth: 'internal',
  load: 'upload',
  summary: 'Import an epoch that was computed elsewhere',
  description:
    'Needs an internal token, or an admin token with the scope money. The body is JSON of at most 256 KB, or NDJSON (plain or with Content-Encoding gzip) of at most 1,000,000 rows and 256 MB after decompression. ' +
    'NDJSON: the first line is `{ "epoch": 20777, "root": "…" }`, then one line `{ "wallet": "…", "amount": "…" }` per leaf. The leaves have the order of the rows. Their total must be at most the pool of the rules in force, and each amount at most the cap; an operator can confirm more with `overLimits`. ' +
    'Banned wallets, programs and their accounts are refused as wallets. Above the amount in APPROVALS the response is 202 with an approval, and the import starts when a second token approves it. ' +
    'If a row is invalid, the whole import is refused; the error names the first ten invalid rows. The request waits up to 15 s for the tree (`Prefer: wait=5` shortens this wait to 5 s); after that it returns 202. ' +
    'A repeated import returns 200. Fails with 409 when the epoch was computed from points, or imported with other rows. An imported epoch is committed like a computed one.',
  body: jsonOrStream(ImportRequest, 'application/x-ndjson', MAX_UPLOAD_BYTES),
  returns: { 200: EpochView, 201: EpochView, 202: z.union([EpochView, ApprovalView]) },
  fails: [409],
  handler: async ({ app, admin, body, ctx }) => {
    // Admin tokens and internal tokens have different names.
    const by = { name: admin, isOperator: app.config.adminTokens.some(({ name }) => name === admin) };
    const waitMs = preferredWaitMs(ctx, IMPORT_MS);
    if (body instanceof Readable) {
      const upload = { encoding: ctx.get('Content-Encoding').trim(), length: ctx.request.length ?? null };
      return answer(
        await readUpload(app, body, upload, (read, reader) => importDistribution(app, read, (number) => reader.page(number), waitMs, by)),
      );
    }
    const { distribution, ...header } = body;
    const reader = new DistributionReader((row) => `distribution[${row}]`);
    for (const [i, row] of distribution.entries()) reader.row(row, i);
    return answer(await importDistribution(app, { ...reader.finish(), header }, async (number) => reader.page(number), waitMs, by));
  },
});

function answer(result: ImportResult) {
  if (result.outcome === 'waiting') return reply(202, presentApproval(result.approval), { Location: `/admin/approvals/${result.approval.id}` });
  const { outcome, epoch } = result;
  const status = ({ created: 201, existing: 200, building: 202 } as const)[outcome];
  return reply(status, epochView(epoch), locationOf(epoch.epoch));
}
