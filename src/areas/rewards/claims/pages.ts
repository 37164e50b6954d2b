import { fail } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { CLAIMS_PER_PAGE, pageOf } from '#platform/solana/distributor/index.ts';

// Selects only claims that changed in the last 3 seconds. So a claim that does not land blocks the other claims of its bitmap page for at most 3
// seconds.
const selectOpener = statement<{ id: string }>(
  'select_page_opener',
  `select id::text from claims where epoch = $1 and index between $2 and $3 and id <> $4
     and state in ('submitted', 'confirmed') and changed_at > (select app_now()) - interval '3 seconds' limit 1`,
);
const lockPages = statement('lock_pages_of_epoch', 'select 1 from epoch_accounts where epoch = $1 for update');

interface OnPage {
  readonly id: string;
  readonly epoch: number;
  readonly index: number;
}

/** Returns whether another claim is creating the same bitmap page. Only that claim pays the rent of the page, so this claim must wait. */
async function isBeingOpened(db: Queryable, { id, epoch, index }: OnPage): Promise<boolean> {
  const first = pageOf(index) * CLAIMS_PER_PAGE;
  return (await db.query(selectOpener, [epoch, first, first + CLAIMS_PER_PAGE - 1, id])).length > 0;
}

/**
 * Time for which a claim that this process composes holds a missing bitmap page, ms. A composed claim is usually committed within this time; then
 * `isBeingOpened` finds it.
 */
const HOLD_MS = 1_000;

/** The claims that hold a missing bitmap page in this process, by epoch and page. */
const holders = perApp(() => new Map<string, { readonly id: string; readonly until: number }>());

/**
 * Reserves a missing bitmap page for a claim that is being composed. Another claim can reserve the page `HOLD_MS` later. If several claims of a batch created the
 * same page, the batch would be rolled back, and each of its claims would be committed alone.
 * @returns whether the claim may create the page
 */
export async function reservePage(app: App, claim: OnPage): Promise<boolean> {
  const held = app.state(holders);
  const now = performance.now();
  for (const [page, { until }] of held) if (until <= now) held.delete(page);
  const page = `${claim.epoch} ${pageOf(claim.index)}`;
  if ((held.get(page) ?? claim).id !== claim.id) return false;
  held.set(page, { id: claim.id, until: now + HOLD_MS });
  return !(await isBeingOpened(app.db, claim));
}

/**
 * Checks that no other claim is creating the bitmap page. Must be called before the claim is sent. A lock on the row of the epoch makes the claims of
 * the epoch run this check one after another.
 * @throws 409 when another claim is creating the page
 */
export async function recordPageOpening(tx: Tx, claim: OnPage): Promise<void> {
  await tx.query(lockPages, [claim.epoch]);
  if (await isBeingOpened(tx, claim)) throw fail(409, 'another claim is creating the bitmap page');
}
