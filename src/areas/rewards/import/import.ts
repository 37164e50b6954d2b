import { computeEpoch } from '#jobs/epochs.ts';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { readRules } from '../config.ts';
import { awaitEpoch, beginEpochs, type Epoch, readEpoch, runningDay } from '../epochs.ts';
import { type Distribution, type DistributionPage, MAX_OFFENDING } from './distribution.ts';
import { findStanding, insertImportRows, readImport } from './rows.ts';

/** How an import went: made now, there already, or still being built. */
export interface Imported {
  outcome: 'made' | 'same' | 'building';
  epoch: Epoch;
}

/** @throws 400 naming the first ten rows that are wrong, or the rule that the whole of it breaks */
function refuseUnsound({ header, rows, offences, offending }: Distribution): NonNullable<Distribution['header']> {
  if (offending > 0) {
    const others = offending - offences.length;
    const more = others === 0 ? '' : `; and ${offending >= MAX_OFFENDING ? 'many' : others} more`;
    throw fail(400, `distribution must be sound: ${offences.join('; ')}${more}`);
  }
  if (header === null) throw fail(400, 'the body must begin with a line that holds the epoch');
  if (rows === 0) throw fail(400, 'distribution must hold at least one row');
  return header;
}

/**
 * Makes an epoch of a distribution that was computed elsewhere. The leaves are its rows, in the order given.
 * Waits for it to be built; later than that the work goes on without its request.
 * @param page hands over the rows
 * @throws 400 it is not sound, gives more than the pool, is of a day that has not ended, or has another root than it says;
 * 409 the epoch exists and is another one
 */
export async function importDistribution(
  app: App,
  asked: Distribution,
  page: (number: number) => Promise<DistributionPage>,
  waitMs: number,
): Promise<Imported> {
  const { epoch, root } = refuseUnsound(asked);
  if (epoch >= (await runningDay(app.db))) throw fail(400, 'epoch must be a day that has ended');
  const id = await app.tx(async (tx) => {
    const stored = await readRules(tx);
    const { pool } = stored.rules;
    if (asked.total > BigInt(pool)) throw fail(400, `distribution must give at most the pool, ${pool}: it gives ${asked.total}`);
    // Under these very rules: a smaller pool may be in force by now.
    if ((await beginEpochs(tx, [epoch], 'import', stored)).length === 0) return null;
    return await begin(tx, epoch, asked, root, page);
  });
  const standing = id ?? (await sameAs(app, epoch, asked)).id;
  const built = await awaitEpoch(app, epoch, waitMs);
  const refusal = await readImport(app.db, standing);
  if (refusal?.state === 'refused') throw fail(400, refusal.reason ?? 'distribution was refused');
  if (!built) throw fail(409, `epoch ${epoch} was refused meanwhile, send it again`);
  if (built.status === 'computing') return { outcome: 'building', epoch: built };
  if (root !== undefined && built.root !== root.toLowerCase()) throw fail(400, `root must be that of the distribution, which is ${built.root}`);
  return { outcome: id === null ? 'same' : 'made', epoch: built };
}

async function begin(
  tx: Tx,
  epoch: number,
  { hash, rows, pages }: Distribution,
  root: string | undefined,
  page: (number: number) => Promise<DistributionPage>,
): Promise<string> {
  const id = newId();
  await insertImportRows(tx, { id, epoch, hash, root: root === undefined ? null : Buffer.from(root, 'hex'), rows }, pages, page);
  tx.enqueue(computeEpoch, { epoch });
  return id;
}

/** The import that an epoch is made of, when it is this one. @throws 409 when it is another, or the epoch was computed */
async function sameAs(app: App, epoch: number, { hash }: Distribution): Promise<{ id: string }> {
  const known = await readEpoch(app.db, epoch);
  if (known?.source === 'computed') throw fail(409, `epoch ${epoch} was computed from points already`);
  const standing = await findStanding(app.db, epoch);
  if (standing?.hash !== Buffer.from(hash).toString('hex')) throw fail(409, `epoch ${epoch} was imported already, with another distribution`);
  return standing;
}
