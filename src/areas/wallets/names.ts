import { sql } from 'kysely';
import { findHandles } from '#areas/social';
import { batchCache } from '#lib/batch-cache.ts';
import { fail } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { parseName, walletOfName } from '#platform/solana/names/index.ts';
import { walletsTables } from './entities.ts';

/** Maximum age of a cached name, ms. */
const MAX_AGE_MS = 2_000;
/** Maximum cached names per process. */
const MAX_NAMES = 100_000;
/** Time for which a checked name is shown. While the RPC node is down, names are shown this long without a check. */
const SHOWN_FOR = `interval '2 days'`;
/** Time after a check until the next check. */
const CHECKED_AFTER = `interval '1 hour'`;
/** Maximum names per run of `checkNames`, and maximum concurrent checks. */
const NAMES_PER_RUN = 200;
const CONCURRENT_CHECKS = 10;

const build = queryBuilder(walletsTables);

// `offset 0` forces one index lookup per wallet instead of a scan of the table, even in a plan that PostgreSQL cached while the table was small.
const selectNames = statement<{ wallet: string; name: string }>(
  'select_wallet_names',
  `select n.* from unnest($1::text[]) as k(wallet), lateral (
     select wallet, name from wallet_names where wallet = k.wallet and checked_at > (select app_now()) - ${SHOWN_FOR} offset 0) n`,
);

async function loadNames(db: Queryable, wallets: readonly string[]): Promise<(string | null)[]> {
  const [handles, chosen] = await Promise.all([findHandles(db, wallets), db.query(selectNames, [wallets])]);
  const names = new Map(chosen.map(({ wallet, name }) => [wallet, name]));
  return wallets.map((wallet) => handles.get(wallet) ?? names.get(wallet) ?? null);
}

const nameCache = perApp((app) =>
  batchCache<string, string | null>({ keyOf: (wallet) => wallet, maxAgeMs: MAX_AGE_MS, maxValues: MAX_NAMES }, (wallets) =>
    loadNames(app.db, wallets),
  ),
);

/**
 * Returns the names with which wallets are shown, at most 2 s old: the handle of a linked account, or else the `.sol` name that the wallet chose; null
 * for a wallet without both. Reads the names that are not cached in one batch.
 */
export const readNames = (app: App, wallets: readonly string[]): Promise<(string | null)[]> => app.state(nameCache)(wallets);

/** Reads the name with which a wallet is shown, and the `.sol` name that it chose, from the database. */
export async function readOwnName(db: Queryable, wallet: string): Promise<{ name: string | null; solName: string | null }> {
  const [[name = null], chosen] = await Promise.all([
    loadNames(db, [wallet]),
    run(db, build.selectFrom('wallet_names').select('name').where('wallet', '=', wallet)),
  ]);
  return { name, solName: chosen[0]?.name ?? null };
}

/**
 * Checks that a `.sol` name resolves to a wallet, and returns the name in lower case.
 * @throws 400 when the text is not a `.sol` name; 404 when the name has no wallet; 409 when it resolves to another wallet; 503 when the RPC node does
 * not respond
 */
export async function requireOwnName(app: App, wallet: string, text: string): Promise<string> {
  const name = parseName(text);
  if (name?.suffix !== 'sol') throw fail(400, 'solName must be a .sol name, or null');
  const resolution = await walletOfName(app, name);
  if ('refused' in resolution) throw fail(404, resolution.refused);
  if (resolution.wallet !== wallet) throw fail(409, 'solName must resolve to the caller’s wallet; it resolves to another one');
  return name.text;
}

/** Stores the name that a wallet chose; null removes it. Precondition: `requireOwnName` has checked the name. */
export async function chooseName(tx: Tx, wallet: string, name: string | null): Promise<void> {
  if (name === null) {
    await run(tx, build.deleteFrom('wallet_names').where('wallet', '=', wallet));
    return;
  }
  const checkedAt = sql<string>`app_now()`;
  const insert = build.insertInto('wallet_names').values({ wallet, name, checked_at: checkedAt });
  await run(
    tx,
    insert.onConflict((conflict) => conflict.column('wallet').doUpdateSet({ name, checked_at: checkedAt })),
  );
}

const dueNames = build
  .selectFrom('wallet_names')
  .select(['wallet', 'name'])
  .where('checked_at', '<', sql<string>`(select app_now()) - ${sql.raw(CHECKED_AFTER)}`)
  .orderBy('checked_at')
  .limit(NAMES_PER_RUN);

/**
 * Checks again that chosen names resolve to their wallets, the names of the oldest checks first. Removes a name that does not. Skips the names that the
 * RPC node cannot resolve at the moment.
 */
export async function checkNames(app: App): Promise<void> {
  const due = await run(app.db, dueNames);
  const check = async ({ wallet, name: text }: { wallet: string; name: string }) => {
    const name = parseName(text);
    const resolution = name ? await walletOfName(app, name) : { refused: 'not a name' };
    const isOwn = 'wallet' in resolution && resolution.wallet === wallet;
    await app.tx(async (tx) => {
      // The condition on the name skips a row whose wallet has chosen another name in the meantime.
      if (isOwn) {
        const kept = build.updateTable('wallet_names').set({ checked_at: sql<string>`app_now()` });
        await run(tx, kept.where('wallet', '=', wallet).where('name', '=', text));
      } else await run(tx, build.deleteFrom('wallet_names').where('wallet', '=', wallet).where('name', '=', text));
    });
  };
  for (let i = 0; i < due.length; i += CONCURRENT_CHECKS) {
    const results = await Promise.allSettled(due.slice(i, i + CONCURRENT_CHECKS).map(check));
    const failed = results.filter((result) => result.status === 'rejected');
    if (failed.length > 0)
      app.log.warn({ err: failed[0]?.reason, names: failed.length }, 'names of wallets cannot be checked; a later run tries again');
    if (failed.length === results.length) return;
  }
}
