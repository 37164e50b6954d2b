import { Readable } from 'node:stream';
import { unavailable } from '#lib/errors.ts';
import { preferredWait } from '#platform/http/prefer-header.ts';
import { jsonOrStream, reply, route } from '#platform/http/route.ts';
import { awaitEpoch } from '../epochs.ts';
import { DistributionReader } from '../import/distribution.ts';
import { type Imported, importDistribution } from '../import/import.ts';
import { MAX_UPLOAD_BYTES, readUpload } from '../import/upload.ts';
import { epochView } from '../present.ts';
import { EpochView, ImportRequest, TriggerRequest } from '../schemas.ts';
import { triggerEpoch } from '../trigger.ts';

/** How long a request waits for its epoch, ms; less where the caller prefers so. */
const TRIGGER_MS = 5_000;
const IMPORT_MS = 15_000;
const locationOf = (epoch: number) => ({ Location: `/api/rewards/epoch/${epoch}` });

export const postTrigger = route({
  method: 'post',
  path: '/rewards/trigger-epoch',
  auth: { admin: 'money' },
  summary: 'Have an epoch computed',
  description:
    'Of a day that has ended, by default the last one; normally this happens by itself. 201 when this has computed it, 200 when it was there, 202 while it is being computed (the request waits up to 5 s, less with `Prefer: wait=1`): a day closes a minute after it ends, and is computed then. An epoch that was imported is 409.',
  body: TriggerRequest,
  returns: { 200: EpochView, 201: EpochView, 202: EpochView },
  fails: [409],
  idempotent: true,
  handler: async ({ app, body, ctx, once }) => {
    const { epoch, begun, closed } = (await once(async (tx) => reply(202, await triggerEpoch(tx, body.epoch)))).body;
    const found = await awaitEpoch(app, epoch, closed ? preferredWait(ctx, TRIGGER_MS) : 0);
    if (!found) throw unavailable('the epoch was taken back meanwhile, try again');
    if (found.status === 'computing') return reply(202, epochView(found), locationOf(epoch));
    return reply(begun ? 201 : 200, epochView(found), locationOf(epoch));
  },
});

export const postImport = route({
  method: 'post',
  path: '/api/rewards/epoch/import',
  auth: 'internal',
  summary: 'Import an epoch that was computed elsewhere',
  description:
    'With an internal token, or an admin token with the scope money. As JSON up to 256 KB, or as NDJSON, plain or with Content-Encoding gzip, up to 1,000,000 rows and 256 MB unpacked: the first line ' +
    '`{ "epoch": 20777, "root": "…" }`, then one line `{ "wallet": "…", "amount": "…" }` per leaf. The leaves have the order of the rows, and give at most the pool of the rules in force. ' +
    'An import is taken whole or not at all; what is wrong is told of the first ten rows. Waits up to 15 s (`Prefer: wait=5` for less) for the tree to be built; later than that it is 202, and the work goes on. The same again is 200, another one for the same epoch 409, and so is an epoch that was computed. ' +
    'It is committed like a computed one.',
  body: jsonOrStream(ImportRequest, 'application/x-ndjson', MAX_UPLOAD_BYTES),
  returns: { 200: EpochView, 201: EpochView, 202: EpochView },
  fails: [409],
  handler: async ({ app, body, ctx }) => {
    const waitMs = preferredWait(ctx, IMPORT_MS);
    if (body instanceof Readable) {
      const upload = { encoding: ctx.get('Content-Encoding').trim(), length: ctx.request.length ?? null };
      return answer(await readUpload(app, body, upload, (read, reader) => importDistribution(app, read, (number) => reader.page(number), waitMs)));
    }
    const { distribution, ...header } = body;
    const reader = new DistributionReader((row) => `distribution[${row}]`);
    for (const [i, row] of distribution.entries()) reader.row(row, i);
    return answer(await importDistribution(app, { ...reader.finish(), header }, async (number) => reader.page(number), waitMs));
  },
});

function answer({ outcome, epoch }: Imported) {
  const status = ({ made: 201, same: 200, building: 202 } as const)[outcome];
  return reply(status, epochView(epoch), locationOf(epoch.epoch));
}
